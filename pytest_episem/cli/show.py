"""``episem show``."""

from __future__ import annotations

from typing import cast

import click

from pytest_episem.cli.banks import bank_option, json_option
from pytest_episem.cli.find import find, refuse
from pytest_episem.cli.output import show, show_json
from pytest_episem.evidence.bank import WORLDS, Task, WorldLabel
from pytest_episem.evidence.condition import SETTINGS, Setting
from pytest_episem.report.task_page import task_page
from pytest_episem.report.task_view import TaskView, view_task


@click.command()
@click.argument("name")
@click.option("--world", type=click.Choice([*WORLDS, "both"]), help="Of a task: which world; both by default.")
@click.option("--setting", type=click.Choice(SETTINGS), help="Of a task: full by default, se where a mask is given.")
@click.option("--mask", metavar="FACT,…", default="", help="Of a task: ids of the facts to hide, all of one role.")
@click.option("--case", metavar="CASE", default="", help="Of a workflow: what is true there and how it ends.")
@bank_option
@json_option
def command(
    name: str, world: str | None, setting: str | None, mask: str, case: str, banks: tuple[str, ...], as_json: bool
) -> None:
    """Show a task of the evidence suite, or a workflow of the workflow suite. The last part of a NAME is enough.

    Of a task: what the agent sees call by call, what is hidden, and what the oracle knows. Where the two worlds differ,
    both values stand side by side. '<-' marks where a fact is shown that can be hidden.

    Of a workflow: what was approved, what happened so far, what the providers promise and how many worlds fit all of
    that. With --case, an assignment's name or world-N: what is true, and what each controller does.

    \b
    Examples:
      episem show finance/payment-authorization/pr-58217
      episem show finance/payment-authorization/pr-58217 --mask authorization-limit
      episem show finance/payment-authorization/pr-58217 --world unsafe --setting re --mask payment-amount
      episem show billing-chain
      episem show billing-chain --case landed
    """
    found = find(name, banks)
    if isinstance(found, Task):
        refuse({"--case": case}, found.id, "evidence")
        view = _task_view(found, world, setting, split_mask(mask))
        show_json(view.to_dict()) if as_json else show(task_page(view))
        return
    refuse({"--world": world, "--setting": setting, "--mask": mask}, found.workflow.template.id, "workflow")
    # Nothing of the workflow suite is needed for a task.
    from pytest_episem.report.workflow_page import workflow_page
    from pytest_episem.report.workflow_view import view_workflow

    workflow = view_workflow(found.workflow, case or found.case)
    show_json(workflow.to_dict()) if as_json else show(workflow_page(workflow))


def _task_view(task: Task, world: str | None, setting: str | None, mask: list[str]) -> TaskView:
    worlds = WORLDS if world in (None, "both") else (cast(WorldLabel, world),)
    return view_task(task, worlds, cast(Setting, setting or ("se" if mask else "full")), mask)


def split_mask(mask: str) -> list[str]:
    """Return the ids in a mask as it is typed."""
    return [atom.strip() for atom in mask.split(",") if atom.strip()]
