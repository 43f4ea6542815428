"""The value of a metric over tasks: over those with an eligible trial, with the coverage over all N (section 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_episem.suite import Measured, Metric
from pytest_episem.verdicts.intervals import Bootstrap, Estimate, estimate


def measure(metric: Metric, tasks: Sequence[Measured], bootstrap: Bootstrap | None = None) -> Estimate:
    """Return a metric over what a run planned."""
    values = [metric.value(task) for task in tasks]
    parts = [None if value is None else (value, 1.0) for value in values]
    return estimate(parts, [metric.covered(t) for t in tasks], [t.family for t in tasks], bootstrap)


def worst_case(metric: Metric, tasks: Sequence[Measured]) -> float | None:
    """Return the metric in percent over all N tasks with each undecided task at its worst; ``None`` if N is 0.

    This is what a gate that accepts partial coverage compares with its limit.
    """
    return 100 * math.fsum(metric.worst(task) for task in tasks) / len(tasks) if tasks else None
