"""The evidence suite as the faces see it (:mod:`pytest_episem.suite`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_episem.evidence.metrics.six import METRICS
from pytest_episem.suite import Search, Suite


class EvidenceSuite(Suite):
    """Pairs of worlds with facts hidden from the tools; an oracle judges what was done."""

    name = "evidence"
    metrics = METRICS

    def start(self, task: Any, condition: Any) -> Any:
        from pytest_episem.evidence.trial_world import TrialWorld

        return TrialWorld(task, condition)

    def trial(self, task: Any, condition: Any, **envelope: Any) -> Any:
        from pytest_episem.evidence.plan import mask_role
        from pytest_episem.evidence.trial import Trial

        return Trial(condition, mask_role(condition.mask, task.critical), **envelope)

    def search(self, seed: str, task: Any, lookup: Callable[[Any], Any]) -> Search:
        from pytest_episem.evidence.boundary import BoundarySearch

        return BoundarySearch(seed, task.id, task.critical, lookup)

    def behaviours(self) -> Mapping[str, Callable[[Any], None]]:
        from pytest_episem.evidence.known import BEHAVIOURS

        return BEHAVIOURS

    @property
    def turn_limit(self) -> int:
        from pytest_episem.episode import TURN_LIMIT

        return TURN_LIMIT


EVIDENCE = EvidenceSuite()
