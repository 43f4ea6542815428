"""``episem validate``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pytest_episem.bank import shipped_bank_dir
from pytest_episem.bank.load import SUITE
from pytest_episem.cli.banks import SHIPPED, json_option
from pytest_episem.cli.output import colour, show, show_json
from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.report.validation_page import codes_dict, codes_page, validation_dict, validation_page
from pytest_episem.validate import CODES, validate_bank


@click.command()
@click.argument("bank", default=SHIPPED)
@click.option("--domain", default="", help="Check one domain; the rest is read for comparison only.")
@click.option("--family", default="", help="Check one family; write domain/family, or give --domain too.")
@click.option("--codes", is_flag=True, help="Print the table of codes and check nothing.")
@json_option
@click.pass_context
def command(ctx: click.Context, bank: str, domain: str, family: str, codes: bool, as_json: bool) -> None:
    """Check BANK, a directory, against every rule that a bank must meet; the shipped one by default.

    Prints every problem with file, instance, field and code, then the counts. The exit code is 1 if there is any
    problem. The shipped bank is also held to its signed reviews and to its table of counts.

    \b
    Examples:
      episem validate
      episem validate my_bank --family finance/refunds
      episem validate --codes
    """
    if codes:
        show_json(codes_dict(CODES.values())) if as_json else show(codes_page(CODES.values()))
        return
    directory = bank_directory(bank)
    only = chosen_part(directory, domain, family)
    shipped = directory.resolve() == shipped_bank_dir()
    with _working():
        report = validate_bank(directory, shipped=shipped, only=only)
    show_json(validation_dict(report)) if as_json else show(validation_page(report))
    ctx.exit(0 if report.ok else 1)


def bank_directory(bank: str) -> Path:
    """Return the directory a bank's name stands for.

    Raises:
        EpisemError: there is no such directory.
    """
    directory = shipped_bank_dir() if bank == SHIPPED else Path(bank)
    if not directory.is_dir():
        raise EpisemError(f"{bank}: no such directory; name one that holds {SUITE}/<domain>/<family>.yaml")
    return directory


def chosen_part(directory: Path, domain: str, family: str) -> str:
    """Return ``domain`` or ``domain/family`` of what is to be checked, empty for all.

    Raises:
        EpisemError: the bank has no such domain or family, or the two options contradict each other.
    """
    root = directory / SUITE if (directory / SUITE).is_dir() else directory
    names = [file.relative_to(root).as_posix().removesuffix(".yaml") for file in sorted(root.glob("*/*.yaml"))]
    domains = {name.split("/")[0] for name in names}
    if domain and domain not in domains:
        raise UnknownName("domain", domain, domains)
    if not family:
        return domain
    inside = [name for name in names if name.startswith(f"{domain}/" if domain else "")]
    found = [name for name in inside if family in (name, name.split("/")[1])]
    if not found:
        raise UnknownName("family", family, inside if "/" in family else [name.split("/")[1] for name in inside])
    if len(found) > 1:
        raise EpisemError(f"family {family!r} is in several domains; write one of {', '.join(found)}")
    return found[0]


@contextlib.contextmanager
def _working() -> Iterator[None]:
    """Say on a terminal that a check is going on; a whole bank takes some seconds."""
    if not (sys.stderr.isatty() and colour()):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("checking the bank …"):
        yield
