"""A workflow of the workflow suite as ``episem show`` presents it: what is public, and of a case what is hidden."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pytest_episem.workflows.bank.load import Workflow
from pytest_episem.workflows.cases import case_number
from pytest_episem.workflows.controllers import CONTROLLERS, make_controller
from pytest_episem.workflows.explain import run_ledger, step_lines
from pytest_episem.workflows.refusal import fate_count
from pytest_episem.workflows.serial import to_json
from pytest_episem.workflows.study import Result, run_case
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.words import truth_texts, unknown_texts

SHOW_SCHEMA = "episem.show-workflow/1"


@dataclass(frozen=True, slots=True)
class CaseView:
    """One hidden truth: what is so, the ledger if nobody does anything, and each controller's run of it."""

    name: str
    number: int
    truth: tuple[str, ...]
    idle: tuple[str, ...]
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class WorkflowView:
    """A workflow with its compatible worlds, and a case of it if one was asked for."""

    workflow: Workflow
    model: Model
    case: CaseView | None

    @property
    def worlds(self) -> int:
        """How many worlds fit every public answer."""
        return len(self.model.worlds)

    @property
    def fates(self) -> int:
        """How many different fates of the history they have."""
        return fate_count(self.model, list(range(self.worlds)))

    @property
    def unknown(self) -> list[str]:
        """What differs between them."""
        return unknown_texts(self.workflow.template, self.model.worlds)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, schema ``episem.show-workflow/1``."""
        found = {
            "schema": SHOW_SCHEMA,
            "template": json.loads(to_json(self.workflow.template)),
            "cases": list(self.workflow.assignments),
            "worlds": self.worlds,
            "fates": self.fates,
            "unknown": self.unknown,
        }
        return found if self.case is None else {**found, "case": self._case(self.case)}

    def _case(self, case: CaseView) -> dict[str, Any]:
        return {
            "case": case.name,
            "world": json.loads(to_json(self.model.worlds[case.number])),
            "truth": list(case.truth),
            "runs": {
                result.controller: {
                    "steps": list(step_lines(self.model, result.trajectory)),
                    "trajectory": json.loads(to_json(result.trajectory)),
                }
                for result in case.results
            },
        }


def view_workflow(workflow: Workflow, case: str | None = None) -> WorkflowView:
    """Return a workflow to show; the case is an assignment's name or ``world-<number>``.

    Raises:
        EpisemError: there is no such case, or the template's contracts are broken.
    """
    model = workflow.model
    return WorkflowView(workflow, model, None if case is None else _view_case(workflow, model, case))


def _view_case(workflow: Workflow, model: Model, case: str) -> CaseView:
    number = case_number(model, workflow, case)
    truth = tuple(truth_texts(workflow.template, model.worlds[number], model.worlds))
    results = tuple(run_case(model, make_controller(name, model), case, number) for name in CONTROLLERS)
    return CaseView(case, number, truth, tuple(run_ledger(model, model.initial[number])), results)
