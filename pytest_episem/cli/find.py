"""The thing that a name on the command line means: a task of the evidence suite or a workflow of the workflow suite."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.cli.banks import SHIPPED, open_banks
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import Task
from pytest_episem.workflows.bank.load import Workflow, holds_evidence, holds_workflows, open_workflows, template_names

SUITES = ("evidence", "workflows")


@dataclass(frozen=True, slots=True)
class Case:
    """A workflow, and the case of it that the name went on to name, if it did."""

    workflow: Workflow
    case: str | None


def directory_of(bank: str) -> Path:
    """Return the directory that a bank's name stands for, whether or not it is there."""
    return shipped_bank_dir() if bank == SHIPPED else Path(bank)


def banks_with(suite: str, banks: tuple[str, ...]) -> list[str]:
    """Return those of the banks that hold a suite; of the shipped one where none is named."""
    holds = holds_evidence if suite == "evidence" else holds_workflows
    return [bank for bank in banks or (SHIPPED,) if holds(directory_of(bank))]


def find(name: str, banks: tuple[str, ...]) -> Task | Case:
    """Return what a name means in the banks given, the shipped one by default.

    The last part of a name is enough where only one thing has it. A case may follow a workflow, and the beginning of
    a pytest node id may come before it.

    Raises:
        EpisemError: no such thing, with the nearest name of either suite, or several.
    """
    asked = name.removeprefix("episem::").removeprefix("workflows/")
    workflows = {found: bank for bank in banks_with("workflows", banks) for found in template_names(directory_of(bank))}
    cases = _cases(asked, list(workflows))
    tasks = [] if asked in workflows or asked != name.removeprefix("episem::") else _tasks(asked, banks)
    found = [*tasks, *(workflow for workflow, _ in cases)]
    if len(found) > 1:
        raise EpisemError(f"{name!r} could be any of {', '.join(found)}")
    if cases:
        (workflow, case), *_ = cases
        return Case(open_workflows([workflows[workflow]]).workflow(workflow), case)
    if tasks:
        return open_banks(banks_with("evidence", banks)).task(tasks[0])
    raise _unknown(name, asked, banks, list(workflows))


def refuse(given: dict[str, object], found: str, suite: str) -> None:
    """Raise for the first option given that means nothing for what was found.

    Raises:
        EpisemError: some option has a value.
    """
    for option, value in given.items():
        if value:
            raise EpisemError(f"{option} means nothing for {found}, which is of the {suite} suite")


def _cases(asked: str, workflows: list[str]) -> list[tuple[str, str | None]]:
    """The workflows that a name may mean, whole or with a case behind it; the whole name goes first."""
    named: list[tuple[str, str | None]] = [(name, None) for name in workflows if asked in (name, name.split("/")[1])]
    workflow, _, case = asked.rpartition("/")
    return named or [(name, case) for name in workflows if workflow in (name, name.split("/")[1])]


def _tasks(asked: str, banks: tuple[str, ...]) -> list[str]:
    evidence = banks_with("evidence", banks)
    tasks = open_banks(evidence).tasks if evidence else {}
    return [asked] if asked in tasks else [task for task in tasks if task.endswith(f"/{asked}")]


def _unknown(name: str, asked: str, banks: tuple[str, ...], workflows: list[str]) -> EpisemError:
    """The fault of a name that nothing has, with the nearest of both suites."""
    evidence = banks_with("evidence", banks)
    names = [*(open_banks(evidence).tasks if evidence else {}), *workflows]
    short = {whole.rsplit("/", 1)[-1]: whole for whole in reversed(names)}
    near = get_close_matches(asked, names, n=1) or [short[n] for n in get_close_matches(asked, short, n=1)]
    what = "task or workflow" if evidence and workflows else "workflow" if workflows else "task"
    hint = f"did you mean {near[0]!r}?" if near else "'episem list --suite all' names all"
    return EpisemError(f"unknown {what} {name!r}; {hint}")
