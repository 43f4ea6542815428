"""The records of a run grouped by task, the shape every metric is computed on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_episem.evidence.boundary import BoundaryResult, Mask, replay
from pytest_episem.evidence.condition import Condition, WorldLabel
from pytest_episem.evidence.metrics.cells import MASKED, UNSAFE_SE, Cell
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.evidence.trial import Trial
from pytest_episem.runs.run import PlanTask
from pytest_episem.runs.run_dir import Run


@dataclass(slots=True)
class TaskTrials:
    """One selected task of the plan with its completed trials of repeat 0.

    ``full`` and ``audit`` (the ``full_audit`` control) hold a trial a world; ``critical`` and ``irrelevant`` hold,
    for each (world, setting), the trials by mask. ``boundary`` is the search replayed over the records. ``repeats``
    holds the completed trials of every repeat, 0 included, by condition.
    """

    plan: PlanTask
    boundary: BoundaryResult
    full: dict[WorldLabel, Trial] = field(default_factory=dict)
    audit: dict[WorldLabel, Trial] = field(default_factory=dict)
    critical: dict[Cell, dict[Mask, Trial]] = field(default_factory=lambda: {cell: {} for cell in MASKED})
    irrelevant: dict[Cell, dict[Mask, Trial]] = field(default_factory=lambda: {cell: {} for cell in MASKED})
    repeats: dict[Condition, Trial] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The family with its domain, ``finance/payment-authorization``: the cluster of the bootstrap."""
        return f"{self.plan.domain}/{self.plan.family}"

    @property
    def id(self) -> str:
        """The task's id."""
        return self.plan.task

    @property
    def domain(self) -> str:
        """The task's domain."""
        return self.plan.domain

    @property
    def terms(self) -> dict[str, list[str]]:
        """What must be the same for two runs' values of the task to be comparable: its atoms."""
        return {"critical": sorted(self.plan.critical), "irrelevant": sorted(self.plan.irrelevant)}

    @property
    def c(self) -> int:
        """How many critical atoms the task has."""
        return len(self.plan.critical)

    def matched(self, *cells: Cell) -> list[Mask]:
        """The critical masks with a completed trial in every cell named, sorted."""
        first, *others = (self.critical[cell] for cell in cells)
        return sorted(mask for mask in first if all(mask in other for other in others))

    def planned(self, cell: Cell) -> list[Mask]:
        """The critical masks the protocol plans in a cell, as far as the records tell: the single atoms, and what
        the search adds, its probes in (unsafe, se) and its witness elsewhere."""
        singles: list[Mask] = [(atom,) for atom in self.plan.critical]
        probes = self.boundary.probes if cell == UNSAFE_SE else ()
        witness = () if self.boundary.witness is None else (self.boundary.witness,)
        return list(dict.fromkeys((*singles, *probes, *witness)))

    def covered(self, *cells: Cell) -> bool:
        """Whether the search ended and every critical mask planned for all the cells completed in each of them."""
        if self.boundary.m is None:
            return False
        plans = [set(self.planned(cell)) for cell in cells]
        shared = set.intersection(*plans)
        return all(mask in self.critical[cell] for cell in cells for mask in shared)

    def covered_irrelevant(self, *cells: Cell) -> bool:
        """Whether every irrelevant atom's trial completed in each of the cells."""
        return all((atom,) in self.irrelevant[cell] for cell in cells for atom in self.plan.irrelevant)


def group(plan: Iterable[PlanTask], trials: Mapping[Condition, Trial], search_seed: str) -> list[TaskTrials]:
    """Return the selected tasks, sorted by id, with their trials; trials of other tasks are left out.

    The result depends neither on the order of the plan nor on that of the records.
    """
    tasks: dict[str, TaskTrials] = {}
    for planned in sorted(plan, key=lambda task: task.task):
        if planned.selected > 0:
            boundary = replay(search_seed, planned.task, planned.critical, trials.get)
            tasks[planned.task] = TaskTrials(planned, boundary)
    roles = {name: (set(t.plan.critical), set(t.plan.irrelevant)) for name, t in tasks.items()}
    for condition, trial in trials.items():
        task = tasks.get(condition.task)
        if task is not None and trial.completed:
            _place(task, condition, trial, *roles[condition.task])
    return list(tasks.values())


def _place(task: TaskTrials, condition: Condition, trial: Trial, critical: set[str], irrelevant: set[str]) -> None:
    task.repeats[condition] = trial
    if condition.repeat != 0:
        return
    if condition.setting == "full":
        task.full[condition.world] = trial
    elif condition.setting == "full_audit":
        task.audit[condition.world] = trial
    elif critical.issuperset(condition.mask):
        task.critical[condition.world, condition.setting][condition.mask] = trial
    elif irrelevant.issuperset(condition.mask):
        task.irrelevant[condition.world, condition.setting][condition.mask] = trial


def restrict(task: TaskTrials, other: TaskTrials) -> TaskTrials:
    """Return the task with only those critical trials whose condition the other run completed as well.

    The boundary stays the run's own.
    """

    def shared(trials: Mapping[Mask, Trial], others: Mapping[Mask, Trial]) -> dict[Mask, Trial]:
        return {mask: trial for mask, trial in trials.items() if mask in others}

    return TaskTrials(
        plan=task.plan,
        boundary=task.boundary,
        full=task.full,
        audit=task.audit,
        critical={cell: shared(found, other.critical[cell]) for cell, found in task.critical.items()},
        irrelevant={cell: shared(found, other.irrelevant[cell]) for cell, found in task.irrelevant.items()},
        repeats=task.repeats,
    )


def incomplete(run: Run, task: TaskTrials) -> str:
    """Return what of a planned pair did not complete, the first; empty if it is whole."""
    plan, header, settings = task.plan, run.header, run.header.planned_settings
    audit = bool(header.settings.get("full_audit"))
    for condition in fixed_conditions(plan.task, plan.critical, plan.irrelevant, header.repeats, audit):
        trial = run.trials.get(condition)
        if condition.setting in {*settings, "full_audit"} and (trial is None or not trial.completed):
            return f"{condition.id} ({'no record' if trial is None or trial.error is None else trial.error.kind})"
    if {"full", "se"} <= set(settings) and not task.boundary.complete:
        return f"{plan.task} (its boundary search is not finished)"
    return ""
