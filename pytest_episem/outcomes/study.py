"""The five controllers over every assignment, or over every world (outcome protocol, section 3).

Every trajectory is judged again by the adjudicator. Computation is measured here and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pytest_episem.outcomes.adjudicator import disagreements
from pytest_episem.outcomes.bank.load import Workflow
from pytest_episem.outcomes.controllers import CONTROLLERS, Controller, make_controller
from pytest_episem.outcomes.controllers.joint import Joint
from pytest_episem.outcomes.episode import Episode
from pytest_episem.outcomes.support import Model
from pytest_episem.outcomes.verdict import Trajectory, Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """One controller's run of one hidden truth.

    ``case`` is the assignment's name or the world's number; ``faults`` is what the adjudicator found wrong with the
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


@dataclass(slots=True)
class Row:
    """A controller's totals. ``new`` counts the runs with at least one violation that recovery caused, ``selection``
    the seconds of every decision; the other fields are counts, or sums of synthetic units."""

    controller: str
    runs: int = 0
    certified: int = 0
    goal: int = 0
    new: int = 0
    handed_off: int = 0
    withdrawn: int = 0
    unknown: int = 0
    fee: int = 0
    actions: int = 0
    time: int = 0
    false_certificates: int = 0
    refuted: int = 0
    seconds: float = 0.0
    selection: list[float] = field(default_factory=list)
    cutoffs: int = 0
    fallbacks: int = 0
    nodes: int = 0

    def add(self, result: Result) -> None:
        """Count one run."""
        verdict = result.trajectory.verdict
        self.runs += 1
        self.certified += verdict.terminal == "completed"
        self.goal += verdict.goal
        self.new += bool(verdict.new)
        self.handed_off += verdict.terminal == "handed_off"
        self.withdrawn += verdict.terminal == "withdrawn"
        self.unknown += verdict.terminal == "unknown"
        self.fee += verdict.fee
        self.actions += verdict.actions
        self.time += verdict.time
        self.false_certificates += verdict.claim_holds is False
        self.refuted += bool(result.faults)
        self.seconds += result.seconds
        self.selection += result.selection
        self.cutoffs += result.cutoffs
        self.fallbacks += result.fallbacks
        self.nodes += result.nodes


def cases(model: Model, workflow: Workflow, over: str) -> Iterator[tuple[str, int]]:
    """Yield the hidden truths to run, ``over`` the ``assignments`` or the ``worlds``: a name, and the number in the
    support. An assignment outside its support is left out; the validator reports it."""
    if over == "worlds":
        yield from ((str(number), number) for number in range(len(model.worlds)))
        return
    for name, world in workflow.assignments.items():
        number = model.index_of(world)
        if number is not None:
            yield name, number


def run_workflow(
    workflow: Workflow, over: str = "assignments", controllers: Iterable[str] = CONTROLLERS
) -> list[Result]:
    """Run controllers over one workflow; they share the support, and each keeps what it has planned."""
    model = Model(workflow.template)
    results: list[Result] = []
    for name in controllers:
        controller = make_controller(name, model)
        results += [run_case(model, controller, case, number) for case, number in cases(model, workflow, over)]
    return results


def run_case(model: Model, controller: Controller, case: str, number: int) -> Result:
    """Run one controller on one hidden truth and judge the record."""
    before = _counters(controller)
    episode = Episode(model, number)
    selection = []
    begin = time.perf_counter()
    while episode.terminal is None:
        asked = time.perf_counter()
        action = controller.choose(episode.belief)
        selection.append(time.perf_counter() - asked)
        episode.propose(action)
    seconds = time.perf_counter() - begin
    trajectory = episode.trajectory()
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


def _counters(controller: Controller) -> tuple[int, int, int]:
    if isinstance(controller, Joint):
        return controller.cutoffs, controller.fallbacks, controller.nodes
    return 0, 0, 0


def table(results: Iterable[Result]) -> dict[str, Row]:
    """Return the totals by controller, in the usual order."""
    rows = {name: Row(name) for name in CONTROLLERS}
    for result in results:
        rows[result.controller].add(result)
    return {name: row for name, row in rows.items() if row.runs}


def losses(results: Iterable[Result]) -> list[str]:
    """Return the single runs in which joint planning ends worse or dearer than another controller, in words."""
    by_case: dict[tuple[str, str], dict[str, Verdict]] = {}
    for result in results:
        by_case.setdefault((result.template, result.case), {})[result.controller] = result.trajectory.verdict
    found = []
    for (template, case), verdicts in by_case.items():
        for name, verdict in verdicts.items():
            if "joint" in verdicts and cost(verdict) < cost(verdicts["joint"]):
                found.append(f"{template}/{case}: {name} {cost(verdict)}, joint {cost(verdicts['joint'])}")
    return found


def cost(verdict: Verdict) -> tuple[int, ...]:
    """Return one run's part of the planner's vector."""
    terminal = verdict.terminal
    return (
        int(terminal != "completed"),
        int(terminal == "unknown"),
        int(terminal == "handed_off"),
        int(not verdict.goal),
        verdict.fee,
        verdict.actions,
        verdict.time,
    )
