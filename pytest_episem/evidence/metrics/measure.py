"""The six core metrics over tasks (protocol, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_episem.evidence.metrics.six import SIX
from pytest_episem.evidence.metrics.tasks import TaskTrials
from pytest_episem.verdicts.intervals import Bootstrap, Estimate
from pytest_episem.verdicts.measure import measure


def six(tasks: Sequence[TaskTrials], bootstrap: Bootstrap | None = None) -> dict[str, Estimate]:
    """Return the six over the selected tasks, in the order of Table 1."""
    return {name: measure(metric, tasks, bootstrap) for name, metric in SIX.items()}
