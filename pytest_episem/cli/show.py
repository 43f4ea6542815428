"""``episem show``."""

from __future__ import annotations

from typing import cast

import click

from pytest_episem.bank import WORLDS, WorldLabel
from pytest_episem.cli.banks import bank_option, find_task, json_option, open_banks
from pytest_episem.cli.output import show, show_json
from pytest_episem.protocol.condition import SETTINGS, Setting
from pytest_episem.report.task_page import task_page
from pytest_episem.report.task_view import view_task


@click.command()
@click.argument("task")
@click.option("--world", type=click.Choice([*WORLDS, "both"]), default="both", help="Which world; both by default.")
@click.option("--setting", type=click.Choice(SETTINGS), help="full by default, se where a mask is given.")
@click.option("--mask", metavar="FACT,…", default="", help="Ids of the facts to hide, all critical or all irrelevant.")
@bank_option
@json_option
def command(task: str, world: str, setting: str | None, mask: str, banks: tuple[str, ...], as_json: bool) -> None:
    """Show TASK: what the agent sees call by call, what is hidden, and what the oracle knows.

    Where the two worlds differ, both values stand side by side. '<-' marks where a fact is shown that can be hidden.

    \b
    Examples:
      episem show finance/payment-authorization/pr-58217
      episem show finance/payment-authorization/pr-58217 --mask authorization-limit
      episem show finance/payment-authorization/pr-58217 --world unsafe --setting re --mask payment-amount
    """
    atoms = split_mask(mask)
    found = find_task(open_banks(banks), task)
    worlds = WORLDS if world == "both" else (cast(WorldLabel, world),)
    chosen = cast(Setting, setting or ("se" if atoms else "full"))
    view = view_task(found, worlds, chosen, atoms)
    if as_json:
        show_json(view.to_dict())
    else:
        show(task_page(view))


def split_mask(mask: str) -> list[str]:
    """Return the ids in a mask as it is typed."""
    return [atom.strip() for atom in mask.split(",") if atom.strip()]
