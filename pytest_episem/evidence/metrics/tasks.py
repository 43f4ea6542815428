"""The records of a run grouped by task, the shape every metric is computed on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_episem.evidence.boundary import BoundaryResult, Mask, replay
from pytest_episem.evidence.condition import Condition, WorldLabel
from pytest_episem.evidence.metrics.cells import MASKED, UNSAFE_SE, Cell
from pytest_episem.evidence.trial import Trial, Unanswered
from pytest_episem.runs.run import PlanTask


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


UNANSWERED_WORDS: Mapping[Unanswered, str] = {
    "filter": "filtered",
    "overflow": "over the context",
    "cut": "cut at the token limit",
    "silent": "without a word or a call",
}


def unanswered(trials: Iterable[Trial]) -> tuple[dict[Unanswered, int], int]:
    """Return how many completed trials have no answer of the agent's, by reason, and how many completed."""
    found, completed = dict.fromkeys(UNANSWERED_WORDS, 0), 0
    for trial in trials:
        if trial.outcome is not None:
            completed += 1
            # Records of before the field existed tell of the filter alone.
            reason = trial.outcome.unanswered or ("filter" if trial.outcome.disposition == "filtered" else None)
            if reason is not None:
                found[reason] += 1
    return {reason: count for reason, count in found.items() if count}, completed


def unanswered_words(found: Mapping[Unanswered, int], completed: int) -> str:
    """Return how many trials have no answer and why, in words; empty if all have one."""
    if not found:
        return ""
    reasons = ", ".join(f"{count:,} {UNANSWERED_WORDS[reason]}" for reason, count in found.items())
    return f"no answer in {sum(found.values()):,} of {completed:,} trials ({reasons})"
