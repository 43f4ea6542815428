"""The five controllers over every assignment, or over every world (workflow protocol, section 3).

Every trajectory is judged again by the adjudicator. Computation is measured here and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import get_args

from pytest_episem.errors import EpisemError
from pytest_episem.workflows import summary
from pytest_episem.workflows.actions import Action
from pytest_episem.workflows.adjudicator import disagreements
from pytest_episem.workflows.bank.load import Workflow
from pytest_episem.workflows.cases import case_names, find_case
from pytest_episem.workflows.controllers import CONTROLLERS, Controller, make_controller
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.giving_up import given_up
from pytest_episem.workflows.records import WorkflowRecord, record_of
from pytest_episem.workflows.summary import Row
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.verdict import Trajectory, Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """One controller's run of one hidden truth.

    ``case`` is the assignment's name or ``world-<number>``; ``faults`` is what the adjudicator found wrong with the
    record, empty when it stands; ``selection`` holds the seconds that each decision took, ``seconds`` the whole run.
    """

    controller: str
    template: str
    case: str
    trajectory: Trajectory
    faults: tuple[str, ...]
    selection: tuple[float, ...]
    seconds: float
    cutoffs: int = 0
    fallbacks: int = 0
    nodes: int = 0


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
    before = _counters(controller)
    episode = Episode(model, number, shield=shield)
    selection = []
    begin = time.perf_counter()
    while episode.terminal is None:
        asked = time.perf_counter()
        action = controller.choose(episode.belief)
        selection.append(time.perf_counter() - asked)
        episode.propose(checked(action, controller))
    seconds = time.perf_counter() - begin
    trajectory = replace(episode.trajectory(), given_up=given_up(episode))
    spent = [after - start for after, start in zip(_counters(controller), before, strict=True)]
    return Result(
        controller.name,
        model.template.id,
        case,
        trajectory,
        tuple(disagreements(model.template, trajectory)),
        tuple(selection),
        seconds,
        *spent,
    )


def check_controller(made: object, maker: str = "") -> None:
    """See that what was made for a case is a controller.

    Raises:
        EpisemError: it has no method ``choose`` or no name; one line that begins with ``maker``.
    """
    if not callable(getattr(made, "choose", None)):
        raise EpisemError(
            f"{maker or 'a controller'} must return a controller with a method choose(belief), not {made!r:.80}"
        )
    name = getattr(made, "name", None)
    if not isinstance(name, str) or not name:
        kind = type(made).__name__
        raise EpisemError(f'{maker or kind}: the class {kind} has no name; give it one: name = "{kind.lower()}"')


def checked(action: object, controller: Controller) -> Action:
    """Return what a controller chose, if it is an action.

    Raises:
        EpisemError: it is none; one line.
    """
    if isinstance(action, get_args(Action)):
        chosen: Action = action
        return chosen
    kinds = ", ".join(kind.__name__ for kind in get_args(Action))
    hint = " (the class, not an instance)" if action in get_args(Action) else ""
    raise EpisemError(f"{controller.name}.choose returned {action!r:.80}{hint}, which is no action; there are {kinds}")


def _counters(controller: Controller) -> tuple[int, int, int]:
    if isinstance(controller, Joint):
        return controller.cutoffs, controller.fallbacks, controller.nodes
    return 0, 0, 0


def table(results: Iterable[Result]) -> dict[str, Row]:
    """Return the totals by controller, in the order in which they come."""
    return summary.table(_record(result) for result in results)


def losses(results: Iterable[Result]) -> list[str]:
    """Return the single runs in which joint planning ends worse or dearer than another controller, in words."""
    by_case: dict[str, dict[str, Verdict]] = {}
    for result in results:
        by_case.setdefault(_record(result).id, {})[result.controller] = result.trajectory.verdict
    return [str(loss) for loss in summary.lost(by_case, "joint")]


def _record(result: Result) -> WorkflowRecord:
    return record_of(result, "", result.controller, result.template.partition("/")[0])
