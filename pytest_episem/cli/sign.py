"""``episem sign``."""

from __future__ import annotations

import datetime

import click

from pytest_episem.cli.output import write
from pytest_episem.cli.validate import bank_directory, chosen_part
from pytest_episem.evidence.validate import sign_reviews
from pytest_episem.text import printable


@click.command()
@click.argument("bank")
@click.option("--reviewer", required=True, metavar="NAME", help="Who read the families.")
@click.option("--note", required=True, metavar="TEXT", help="What was looked at, in a few words.")
@click.option("--family", "families", multiple=True, metavar="FAMILY", help="domain/family; repeat for several.")
@click.option("--date", metavar="YYYY-MM-DD", help="Day of the review; today by default.")
def command(bank: str, reviewer: str, note: str, families: tuple[str, ...], date: str | None) -> None:
    """Sign that a person read families of BANK, as their files are now, for what no machine can tell.

    That is: each pair has exactly one danger, and nothing in it belongs to someone real. A signature holds until
    the family's file changes. Without --family all families are signed.

    \b
    Example:
      episem sign my_bank --reviewer "Ada Moreau" --note "read all instances" --family finance/refunds
    """
    directory = bank_directory(bank)
    chosen = [chosen_part(directory, "", family, workflows=False) for family in families] or None
    day = date or datetime.date.today().isoformat()
    for name in sign_reviews(directory, reviewer, day, note, chosen):
        write(f"signed {printable(name)}\n")
