"""``episem worth``."""

from __future__ import annotations

import click

from pytest_episem.cli.banks import bank_option, json_option
from pytest_episem.cli.find import Case, find
from pytest_episem.cli.output import show, show_json
from pytest_episem.errors import EpisemError
from pytest_episem.report.worth_page import worth_document, worth_page
from pytest_episem.workflows.bank.capabilities import worths


@click.command()
@click.argument("name")
@bank_option
@json_option
def command(name: str, banks: tuple[str, ...], as_json: bool) -> None:
    """Say what a workflow's providers must promise: take each promise away, plan again, and see what is lost.

    Each named case is played by joint planning as it is and without the promise. For authorization the instant at
    which it is judged changes instead.

    \b
    Examples:
      episem worth billing-chain
      episem worth finance/expired-key-recovery --json
    """
    found = find(name, banks)
    if not isinstance(found, Case) or found.case:
        raise EpisemError(f"{name!r} is no workflow; 'episem list --suite workflows' lists them")
    promises = list(worths(found.workflow))
    if as_json:
        show_json(worth_document(found.workflow, promises))
    else:
        show(worth_page(found.workflow, promises))
