"""The workflow suite in a list: its workflows with their worlds and cases, as far as a selection leaves them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType

from pytest_episem.report.bank_view import SUITE, Selected
from pytest_episem.report.layout import Justify, counted, page, prose, table, text
from pytest_episem.workflows.bank.load import WorkflowBank

COLUMNS: list[tuple[str, Justify]] = [("workflow", "left"), ("worlds", "right"), ("cases", "left")]


@dataclass(frozen=True, slots=True)
class WorkflowLine:
    """One workflow: how many worlds its file says fit the history, and the selected cases."""

    workflow: str
    domain: str
    title: str
    worlds: int
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkflowList:
    """The workflows of a bank that a selection leaves, in the bank's order."""

    bank: str
    version: str
    hash: str
    workflows: tuple[WorkflowLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, the part ``workflows`` of schema ``episem.list/1``."""
        bank = {"name": self.bank, "version": self.version, "hash": self.hash}
        return {"bank": bank, "workflows": [{**asdict(line), "cases": list(line.cases)} for line in self.workflows]}


def list_workflows(bank: WorkflowBank, selected: Selected) -> WorkflowList:
    """Return every workflow with a case that pytest's ``-k`` would select, cases being named as in pytest."""
    lines = []
    for name, workflow in bank.workflows.items():
        cases = tuple(case for case in workflow.assignments if selected((SUITE, f"workflows/{name}/{case}")))
        if cases:
            title = workflow.template.title
            lines.append(WorkflowLine(name, name.split("/")[0], title, workflow.support, cases))
    return WorkflowList(bank.name, bank.version, bank.hash, tuple(lines))


def workflows_page(found: WorkflowList) -> RenderableType:
    """Return one line a workflow and the totals."""
    if not found.workflows:
        return text(f"no workflow of bank {found.bank} is selected")
    lines = [[line.workflow, str(line.worlds), ", ".join(line.cases)] for line in found.workflows]
    return page(table(COLUMNS, lines, by=0, whole_names=True), text(""), prose(_totals(found), 0))


def _totals(found: WorkflowList) -> str:
    parts = [
        counted(len(found.workflows), "workflow"),
        counted(len({line.domain for line in found.workflows}), "domain"),
        counted(sum(len(line.cases) for line in found.workflows), "case"),
        counted(sum(line.worlds for line in found.workflows), "world"),
    ]
    return f"{', '.join(parts)}; bank {found.bank} {found.version}"


def hint(names: Sequence[str], selected: Selected, expression: str) -> str:
    """Return the line that tells of the workflow suite where only the other one is listed; empty without a workflow
    selected. ``names`` are those of the bank's templates."""
    left = [name for name in names if selected((SUITE, f"workflows/{name}"))]
    if not left:
        return ""
    asked = f" -k {shlex.quote(expression)}" if expression else ""
    return f"and {counted(len(left), 'workflow')} of the workflow suite: episem list --suite workflows{asked}"
