"""``episem validate``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pytest_episem.banks.folder import bank_version, shipped_bank_dir
from pytest_episem.cli.banks import SHIPPED, json_option
from pytest_episem.cli.output import colour, on_terminal, show, show_json
from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.evidence.bank.load import SUITE, no_families
from pytest_episem.evidence.validate import CODES, validate_bank
from pytest_episem.report.validation_page import Validation, codes_dict, codes_page, validation_dict, validation_page
from pytest_episem.workflows.bank.codes import CODES as OUTCOME_CODES
from pytest_episem.workflows.bank.load import holds_evidence, holds_workflows, template_names
from pytest_episem.workflows.bank.validate import validate_workflows


@click.command()
@click.argument("bank", default=SHIPPED)
@click.option("--domain", default="", help="Check one domain; the rest is read for comparison only.")
@click.option("--family", default="", help="Check one family or workflow; write domain/name, or give --domain too.")
@click.option("--codes", is_flag=True, help="Print the tables of codes and check nothing.")
@json_option
@click.pass_context
def command(ctx: click.Context, bank: str, domain: str, family: str, codes: bool, as_json: bool) -> None:
    """Check BANK, a directory, against every rule that a bank must meet; the shipped one by default. It may hold
    families of the evidence suite, workflows of the workflow suite, or both.

    Prints every problem with file, instance, field and code, then the counts. The exit code is 1 if there is any
    problem. The shipped bank is also held to its signed reviews, to its table of counts, and to the rule that each
    promise of a contract decides some ending.

    \b
    Examples:
      episem validate
      episem validate my_bank --family finance/refunds
      episem validate --codes
    """
    if codes:
        tables = (list(CODES.values()), OUTCOME_CODES)
        show_json(codes_dict(*tables)) if as_json else show(codes_page(*tables))
        return
    directory = bank_directory(bank)
    only = chosen_part(directory, domain, family)
    with _working():
        found = _validate(directory, only)
    show_json(validation_dict(found)) if as_json else show(validation_page(found))
    ctx.exit(1 if found.problems else 0)


def _validate(directory: Path, only: str) -> Validation:
    """Check the suites that the bank holds, or the one that holds the part to check."""
    shipped = directory.resolve() == shipped_bank_dir()
    families, templates = family_names(directory), template_names(directory)
    in_both = not only or (_holds(families, only) and _holds(templates, only))
    evidence = workflows = None
    if holds_evidence(directory) and (in_both or not _holds(templates, only)):
        evidence = validate_bank(directory, shipped=shipped, only=only)
    if holds_workflows(directory) and (in_both or not _holds(families, only)):
        workflows = validate_workflows(directory, capabilities=shipped, only=only)
    return Validation(directory.name, bank_version(directory), evidence, workflows)


def _holds(names: list[str], only: str) -> bool:
    return any(name == only or name.startswith(f"{only}/") for name in names)


def bank_directory(bank: str) -> Path:
    """Return the directory a bank's name stands for.

    Raises:
        EpisemError: there is no such directory.
    """
    directory = shipped_bank_dir() if bank == SHIPPED else Path(bank)
    if not directory.is_dir():
        raise EpisemError(f"{bank}: {no_families(directory)}")
    return directory


def family_names(directory: Path) -> list[str]:
    """Return the names that the family files of the evidence suite have by their place, ``<domain>/<family>``."""
    root = directory / SUITE if (directory / SUITE).is_dir() else directory
    files = sorted(root.glob("*/*.yaml")) if holds_evidence(directory) else []
    return [file.relative_to(root).as_posix().removesuffix(".yaml") for file in files]


def chosen_part(directory: Path, domain: str, family: str, workflows: bool = True) -> str:
    """Return ``domain`` or ``domain/family`` of what is to be checked, empty for all; a workflow stands for a family.

    Raises:
        EpisemError: the bank has no such domain or family, or the two options contradict each other.
    """
    names = [*family_names(directory), *(template_names(directory) if workflows else [])]
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
    if not (on_terminal(sys.stderr) and colour()):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("checking the bank …"):
        yield
