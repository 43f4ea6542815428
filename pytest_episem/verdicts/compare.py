"""Two runs, paired by task: how each metric changed, how sure that is, and which tasks moved.

What is compared is what both runs tested: a metric over masks looks, in each task, only at the masks that completed
in both, so that an adaptive search which went further in one run cannot pass for a difference. SBM compares each
run's own boundary, in tasks where both have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_episem.errors import EpisemError
from pytest_episem.runs.run import mismatch
from pytest_episem.runs.run_dir import Run
from pytest_episem.suite import Measured, Metric, Suite, suite
from pytest_episem.verdicts.intervals import DRAWS, LEVEL, SEED, Bootstrap, Estimate, estimate
from pytest_episem.verdicts.measure import measure

COMPARE_SCHEMA = "episem.compare/2"


@dataclass(frozen=True, slots=True)
class Moved:
    """A task whose part of a metric changed: its values in A and B, 0 to 1."""

    task: str
    a: float
    b: float


@dataclass(frozen=True)
class Difference:
    """One metric in both runs.

    ``a``, ``b``: each run alone on its own records. ``matched_a``, ``matched_b``: both on what both tested.
    ``change``: matched B minus A in percentage points with its paired interval; its denominator counts the tasks
    compared. ``better`` and ``worse``: the tasks that moved, by task id.
    """

    a: Estimate
    b: Estimate
    matched_a: Estimate
    matched_b: Estimate
    change: Estimate
    better: list[Moved]
    worse: list[Moved]


@dataclass(frozen=True)
class Comparison:
    """Run B against run A (the baseline).

    ``differences`` names what sets the runs apart (model, bank, settings …); ``only_a`` and ``only_b`` list the
    tasks only one run selected, ``altered`` those whose atoms differ between the runs, which are not compared.
    """

    a: str
    b: str
    differences: list[str]
    tasks: list[str]
    only_a: list[str]
    only_b: list[str]
    altered: list[str]
    metrics: dict[str, Difference]
    suite: str = "evidence"
    draws: int = DRAWS
    seed: int = SEED

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, schema ``episem.compare/2``; keys are the field names."""
        return {
            "schema": COMPARE_SCHEMA,
            "a": self.a,
            "b": self.b,
            "differences": self.differences,
            "tasks": self.tasks,
            "only_a": self.only_a,
            "only_b": self.only_b,
            "altered": self.altered,
            "intervals": {"level": 100 * LEVEL, "draws": self.draws, "seed": self.seed, "resampled": "families"},
            "suite": self.suite,
            "metrics": {name: _plain_difference(found) for name, found in self.metrics.items()},
        }


def shared_suites(a: Run, b: Run) -> list[str]:
    """Return the names of the suites that both runs play.

    Raises:
        EpisemError: there is none.
    """
    shared = [name for name in a.header.suites if name in b.header.suites]
    if not shared:
        raise EpisemError(f"nothing to compare: {a.header.run!r} and {b.header.run!r} have no suite in common")
    return shared


def compare(
    a: Run, b: Run, of: str | None = None, banks: Sequence[Any] = (), draws: int = DRAWS, seed: int = SEED
) -> Comparison:
    """Compare run ``b`` with run ``a``, task by task, in one suite, by default the first that both play; ``banks`` are
    those at hand, with which records are replayed.

    Raises:
        EpisemError: they have no suite, or no task of it, in common.
    """
    played = suite(of or shared_suites(a, b)[0])
    tasks_a, tasks_b = ({task.id: task for task in played.group(run, banks)} for run in (a, b))
    shared = sorted(tasks_a.keys() & tasks_b.keys())
    altered = [name for name in shared if tasks_a[name].terms != tasks_b[name].terms]
    names = [name for name in shared if name not in set(altered)]
    if not names:
        raise EpisemError(f"nothing to compare: {a.header.run!r} and {b.header.run!r} have no task in common")
    pairs = [(tasks_a[name], tasks_b[name]) for name in names]
    bootstrap = Bootstrap(draws, seed)
    return Comparison(
        a=a.header.run,
        b=b.header.run,
        differences=mismatch(a.header, b.header, ("in A", "in B")),
        tasks=names,
        only_a=sorted(tasks_a.keys() - tasks_b.keys()),
        only_b=sorted(tasks_b.keys() - tasks_a.keys()),
        altered=altered,
        metrics={metric.name: _difference(metric, played, pairs, bootstrap) for metric in played.metrics},
        suite=played.name,
        draws=draws,
        seed=seed,
    )


def _difference(
    metric: Metric, played: Suite, pairs: Sequence[tuple[Measured, Measured]], bootstrap: Bootstrap
) -> Difference:
    matched = [(played.alike(one, other), played.alike(other, one)) for one, other in pairs]
    values = [_both(metric.value(one), metric.value(other)) for one, other in matched]
    covered = [metric.covered(one) and metric.covered(other) for one, other in pairs]
    families = [one.family for one, _ in pairs]

    def side(index: int) -> Estimate:
        parts = [None if value is None else (value[index], 1.0) for value in values]
        return estimate(parts, covered, families, bootstrap)

    changes = [None if value is None else (value[1] - value[0], 1.0) for value in values]
    moved = [
        Moved(one.id, *value)
        for (one, _), value in zip(pairs, values, strict=True)
        if value is not None and value[0] != value[1]
    ]
    return Difference(
        a=measure(metric, [one for one, _ in pairs], bootstrap),
        b=measure(metric, [other for _, other in pairs], bootstrap),
        matched_a=side(0),
        matched_b=side(1),
        change=estimate(changes, covered, families, bootstrap, "difference"),
        better=[m for m in moved if (m.b > m.a) == (metric.better == "higher")],
        worse=[m for m in moved if (m.b > m.a) != (metric.better == "higher")],
    )


def _both(a: float | None, b: float | None) -> tuple[float, float] | None:
    return None if a is None or b is None else (a, b)


def _plain_difference(found: Difference) -> dict[str, Any]:
    numbers = {name: getattr(found, name) for name in ("a", "b", "matched_a", "matched_b", "change")}
    moved = {name: [{"task": m.task, "a": m.a, "b": m.b} for m in getattr(found, name)] for name in ("better", "worse")}
    return {**{name: found.to_dict() for name, found in numbers.items()}, **moved}
