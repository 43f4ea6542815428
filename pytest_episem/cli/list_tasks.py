"""``episem list``."""

from __future__ import annotations

import click

from pytest_episem.cli.banks import bank_option, json_option, open_banks
from pytest_episem.cli.expression import matcher
from pytest_episem.cli.output import show, show_json
from pytest_episem.report.bank_view import families_page, list_bank, tasks_page


@click.command(name="list")
@click.option("-k", "expression", metavar="EXPR", default="", help="Select as pytest -k does.")
@bank_option
@click.option("--families", is_flag=True, help="One line a family instead of one a task.")
@json_option
def command(expression: str, banks: tuple[str, ...], families: bool, as_json: bool) -> None:
    """List tasks with how many critical and irrelevant facts and fixed conditions each has.

    -k is matched against the names of the items that pytest would run, so that the column of conditions says how
    many of them 'pytest -k EXPR' runs.

    \b
    Examples:
      episem list -k finance
      episem list -k "cloud and not safe"
      episem list --families
      episem list --json
    """
    selected = matcher(expression)
    found = list_bank(open_banks(banks), selected)
    if as_json:
        show_json(found.to_dict())
    else:
        show(families_page(found) if families else tasks_page(found))
