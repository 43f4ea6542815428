"""The fresh world that a condition describes."""

from __future__ import annotations

from pytest_episem.evidence.bank import Task
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.world import World


class TrialWorld(World):
    """The world of a condition; it knows its condition."""

    def __init__(self, task: Task, condition: Condition) -> None:
        super().__init__(task, condition.world, condition.mask, audit=condition.setting in ("re", "full_audit"))
        self.condition = condition
