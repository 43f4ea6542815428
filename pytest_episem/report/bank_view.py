"""A bank in lists: its tasks or families with their sizes, and which of their conditions a selection leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType

from pytest_episem.evidence.bank import Bank, Task
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.report.layout import Cell, counted, page, prose, table, text

LIST_SCHEMA = "episem.list/1"
SUITE = "episem"

Selected = Callable[[Iterable[str]], bool]


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task: how many critical and irrelevant facts, and what of it is selected.

    ``conditions`` counts the fixed conditions, ``boundary`` is 1 where its search is selected too.
    """

    task: str
    domain: str
    family: str
    critical: int
    irrelevant: int
    conditions: int
    boundary: int


@dataclass(frozen=True, slots=True)
class BankList:
    """The tasks of a bank that a selection leaves, in the bank's order."""

    bank: str
    version: str
    hash: str
    tasks: tuple[TaskLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, schema ``episem.list/1``."""
        bank = {"name": self.bank, "version": self.version, "hash": self.hash}
        return {"schema": LIST_SCHEMA, "bank": bank, "tasks": [asdict(line) for line in self.tasks]}


def list_bank(bank: Bank, selected: Selected) -> BankList:
    """Return every task with an item that pytest's ``-k`` would select, items being named as in pytest."""
    lines = (_line(task, selected) for task in bank.tasks.values())
    return BankList(bank.name, bank.version, bank.hash, tuple(x for x in lines if x.conditions or x.boundary))


def _line(task: Task, selected: Selected) -> TaskLine:
    conditions = fixed_conditions(task.id, task.critical, task.irrelevant)
    return TaskLine(
        task=task.id,
        domain=task.domain,
        family=task.family,
        critical=len(task.critical),
        irrelevant=len(task.irrelevant),
        conditions=sum(selected((SUITE, condition.id)) for condition in conditions),
        boundary=int(selected((SUITE, f"{task.id}/boundary"))),
    )


def tasks_page(found: BankList) -> RenderableType:
    """Return one line a task and the totals."""
    lines: list[list[Cell]] = [
        [line.task, str(line.critical), str(line.irrelevant), str(line.conditions)] for line in found.tasks
    ]
    columns = [("task", "left"), ("critical", "right"), ("irrelevant", "right"), ("conditions", "right")]
    return _list_page(found, columns, lines)


def families_page(found: BankList) -> RenderableType:
    """Return one line a family and the totals."""
    families: dict[str, list[TaskLine]] = {}
    for line in found.tasks:
        families.setdefault(f"{line.domain}/{line.family}", []).append(line)
    lines: list[list[Cell]] = [
        [
            name,
            str(len(tasks)),
            _range([task.critical for task in tasks]),
            _range([task.irrelevant for task in tasks]),
            str(sum(task.conditions for task in tasks)),
        ]
        for name, tasks in families.items()
    ]
    names = (("family", "left"), ("tasks", "right"), ("critical", "right"), ("irrelevant", "right"))
    return _list_page(found, [*names, ("conditions", "right")], lines)


def _range(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low}-{high}"


def _list_page(found: BankList, columns: Sequence[Any], lines: Sequence[Sequence[Cell]]) -> RenderableType:
    if not found.tasks:
        return text(f"no task of bank {found.bank} is selected")
    return page(table(columns, lines, by=0), text(""), prose(totals(found), 0))


def totals(found: BankList) -> str:
    """Return how much is selected, in a line."""
    families = len({(line.domain, line.family) for line in found.tasks})
    conditions, searches = (sum(getattr(line, name) for line in found.tasks) for name in ("conditions", "boundary"))
    parts = [
        counted(len(found.tasks), "task", "tasks"),
        counted(families, "family", "families"),
        counted(len({line.domain for line in found.tasks}), "domain", "domains"),
        counted(conditions, "fixed condition", "fixed conditions"),
        counted(searches, "boundary search", "boundary searches"),
    ]
    return f"{', '.join(parts)}; bank {found.bank} {found.version}"
