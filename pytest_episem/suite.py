"""What a suite is, and which there are: whoever serves any suite knows no other way in. Light to import."""

from __future__ import annotations

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

SUITES = {
    "evidence": "pytest_episem.evidence.suite:EVIDENCE",
    "workflows": "pytest_episem.workflows.suite:WORKFLOWS",
}
"""The shipped suites by name, in the order in which they are shown: module and attribute."""


class Suite(ABC):
    """One kind of test of an agent: a bank of tasks, their conditions, a world to play in and a judge.

    Attributes:
        name: as users say it; also the folder of its files in a bank.
    """

    name: str

    @abstractmethod
    def behaviours(self) -> Mapping[str, Callable[[Any], None]]:
        """Return the built-in agents, by name without prefix: what each does with an episode, at once."""


@functools.cache
def suite(name: str) -> Suite:
    """Return one suite."""
    module, _, attribute = SUITES[name].partition(":")
    found: Suite = getattr(importlib.import_module(module), attribute)
    return found


def suites() -> list[Suite]:
    """Return all suites."""
    return [suite(name) for name in SUITES]
