"""The five controllers over every assignment, or over every world (workflow protocol, section 3).

Every trajectory is judged again by the adjudicator. Computation is measured here and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_episem.episode import Episode
from pytest_episem.workflows import summary
from pytest_episem.workflows.bank.load import Workflow
from pytest_episem.workflows.cases import case_names, find_case
from pytest_episem.workflows.controllers import CONTROLLERS, Controller, make_controller
from pytest_episem.workflows.controllers.check import check_controller
from pytest_episem.workflows.episode import PROPOSALS
from pytest_episem.workflows.players import drive
from pytest_episem.workflows.recovery import Recovery
from pytest_episem.workflows.summary import Row
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.trial import Case, Trial
from pytest_episem.workflows.verdict import Trajectory, Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """One controller's trial of one hidden truth."""

    controller: str
    trial: Trial

    @property
    def template(self) -> str:
        """The workflow's id."""
        return self.trial.condition.task

    @property
    def case(self) -> str:
        """The assignment's name, or ``world-<number>``."""
        return self.trial.condition.case

    @property
    def trajectory(self) -> Trajectory:
        """What was done, and what is true of it."""
        return self.trial.judged.trajectory

    @property
    def faults(self) -> tuple[str, ...]:
        """What the adjudicator found wrong with the record; empty when it stands."""
        return self.trial.judged.faults


def cases(model: Model, workflow: Workflow, over: str) -> Iterator[tuple[str, int]]:
    """Yield the hidden truths to run, ``over`` the ``assignments`` or the ``worlds``: a name, and the number in the
    support. An assignment outside its support is left out; the validator reports it."""
    for name in case_names(workflow, model if over == "worlds" else None):
        number = find_case(model, workflow, name)
        if number is not None:
            yield name, number


def run_workflow(
    workflow: Workflow,
    over: str = "assignments",
    controllers: Iterable[str] = CONTROLLERS,
    model: Model | None = None,
) -> list[Result]:
    """Run controllers over one workflow, a fresh one a case; they share the support, and what is planned on it."""
    model = model or Model(workflow.template)
    return [
        run_case(model, make_controller(name, model), case, number)
        for name in controllers
        for case, number in cases(model, workflow, over)
    ]


def run_case(model: Model, controller: Controller, case: str, number: int, shield: bool = True) -> Result:
    """Run one controller on one hidden truth and judge the record.

    Raises:
        EpisemError: what should be a controller is none, or what it chose is no action.
    """
    check_controller(controller)
    condition = Case(model.template.id, case, shield)
    world = Recovery(model, number, shield=shield, condition=condition)
    episode = Episode(world, PROPOSALS)
    begin = time.perf_counter()
    drive(controller, world, episode)
    seconds = time.perf_counter() - begin
    return Result(controller.name, Trial(condition, outcome=episode.outcome(), turns=episode.turns, seconds=seconds))


def table(results: Iterable[Result]) -> dict[str, Row]:
    """Return the totals by controller, in the order in which they come."""
    return summary.table((result.controller, result.trial) for result in results)


def losses(results: Iterable[Result]) -> list[str]:
    """Return the single runs in which joint planning ends worse or dearer than another controller, in words."""
    by_case: dict[str, dict[str, Verdict]] = {}
    for result in results:
        by_case.setdefault(result.trial.condition.path, {})[result.controller] = result.trajectory.verdict
    return [str(loss) for loss in summary.lost(by_case, "joint")]
