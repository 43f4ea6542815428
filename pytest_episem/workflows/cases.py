"""The hidden truths of a workflow by name: its assignments, or every compatible world (protocol, section 1)."""

from __future__ import annotations

import random

from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.workflows.bank.load import Workflow
from pytest_episem.workflows.support import Model

WORLD = "world-"
"""Begins the name of a case that is a world of the support and not an assignment."""


def case_name(model: Model, workflow: Workflow, number: int) -> str:
    """Return the name of a world: its assignment's, else ``world-<number>``."""
    names = (name for name, world in workflow.assignments.items() if model.worlds[number] == world)
    return next(names, f"{WORLD}{number}")


def case_names(workflow: Workflow, model: Model | None = None) -> list[str]:
    """Return the names of a workflow's assignments, or with ``model`` those of all its worlds, ``world-<number>``."""
    return list(workflow.assignments) if model is None else [f"{WORLD}{n}" for n in range(len(model.worlds))]


def find_case(model: Model, workflow: Workflow, case: str) -> int | None:
    """Return the number in the support of an assignment or of ``world-<number>``; ``None`` if it has none there."""
    if case in workflow.assignments:
        return model.index_of(workflow.assignments[case])
    names = case_names(workflow, model)
    return names.index(case) if case in names else None


def case_number(model: Model, workflow: Workflow, case: str) -> int:
    """Return the number in the support of an assignment or of ``world-<number>``.

    Raises:
        UnknownName: there is no such case.
        EpisemError: the assignment is none of the compatible worlds.
    """
    number = find_case(model, workflow, case)
    if number is None and case in workflow.assignments:
        raise EpisemError(
            f"{workflow.file}: assignment {case!r} is none of the compatible worlds (see episem validate)"
        )
    if number is None:
        raise UnknownName("case", case, [*case_names(workflow), *case_names(workflow, model)])
    return number


def drawn(model: Model, seed: int) -> int:
    """Return the number of a world drawn from the whole support; the same seed draws the same one."""
    return random.Random(f"{seed}/{model.template.id}").randrange(len(model.worlds))
