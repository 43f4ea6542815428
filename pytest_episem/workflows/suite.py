"""The workflow suite as the faces see it (:mod:`pytest_episem.suite`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_episem.suite import Suite


class WorkflowSuite(Suite):
    """Workflows that stopped half way, where nobody knows what happened."""

    name = "workflows"

    def start(self, task: Any, condition: Any) -> Any:
        raise NotImplementedError

    def trial(self, task: Any, condition: Any, **envelope: Any) -> Any:
        raise NotImplementedError

    def behaviours(self) -> Mapping[str, Callable[[Any], None]]:
        from pytest_episem.workflows.players import BEHAVIOURS

        return BEHAVIOURS

    @property
    def turn_limit(self) -> int:
        from pytest_episem.workflows.episode import PROPOSALS

        return PROPOSALS


WORKFLOWS = WorkflowSuite()
