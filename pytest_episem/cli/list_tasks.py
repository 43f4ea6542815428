"""``episem list``."""

from __future__ import annotations

from typing import Any

import click

from pytest_episem.cli.banks import bank_option, json_option, open_banks
from pytest_episem.cli.expression import matcher
from pytest_episem.cli.find import SUITES, banks_with, directory_of
from pytest_episem.cli.output import show, show_json
from pytest_episem.errors import EpisemError
from pytest_episem.report.bank_view import LIST_SCHEMA, families_page, list_bank, tasks_page
from pytest_episem.report.layout import heading, page, prose, text
from pytest_episem.report.workflow_list import hint, list_workflows, workflows_page
from pytest_episem.workflows.bank.load import open_workflows, template_names

ALL = "all"


@click.command(name="list")
@click.option("-k", "expression", metavar="EXPR", default="", help="Select as pytest -k does.")
@click.option(
    "--suite", type=click.Choice([*SUITES, ALL]), help="Which suite; by default evidence, where there is one."
)
@bank_option
@click.option("--families", is_flag=True, help="One line a family instead of one a task.")
@json_option
def command(expression: str, suite: str | None, banks: tuple[str, ...], families: bool, as_json: bool) -> None:
    """List tasks with how many critical and irrelevant facts and fixed conditions each has, or with --suite workflows
    the workflows with their cases and how many hidden worlds fit what is known.

    -k is matched against the names of the items that pytest would run, so that the column of conditions says how
    many of them 'pytest -k EXPR' runs.

    \b
    Examples:
      episem list -k finance
      episem list -k "cloud and not safe"
      episem list --families
      episem list --suite workflows
      episem list --suite all --json
    """
    selected = matcher(expression)
    suites = _suites(suite, banks)
    documents: dict[str, Any] = {"schema": LIST_SCHEMA}
    pages = []
    if "evidence" in suites:
        tasks = list_bank(open_banks(banks_with("evidence", banks)), selected)
        documents |= tasks.to_dict()
        pages.append(families_page(tasks) if families else tasks_page(tasks))
    if "workflows" in suites:
        workflows = list_workflows(open_workflows(banks_with("workflows", banks)), selected)
        documents["workflows"] = workflows.to_dict()
        pages.append(workflows_page(workflows))
    if as_json:
        show_json(documents)
        return
    if len(pages) > 1:
        pages = [
            page(heading(f"{name.capitalize().removesuffix('s')} suite"), found)
            for name, found in zip(suites, pages, strict=True)
        ]
    names = [name for bank in banks_with("workflows", banks) for name in template_names(directory_of(bank))]
    more = hint(names, selected, expression) if suite is None and suites == ["evidence"] else ""
    show(page(*pages, *([text(""), prose(more, 0)] if more else [])))


def _suites(suite: str | None, banks: tuple[str, ...]) -> list[str]:
    """The suites to list; by default the evidence suite, and of a bank that has none of it the other.

    Raises:
        EpisemError: no bank holds the suite asked for.
    """
    held = [name for name in SUITES if banks_with(name, banks)]
    if suite is None:
        return held[:1]
    if suite == ALL:
        return held
    if suite not in held:
        raise EpisemError(f"{', '.join(banks)}: holds nothing of the {suite.removesuffix('s')} suite")
    return [suite]
