"""What a suite is, and which there are: whoever serves any suite knows no other way in. Light to import."""

from __future__ import annotations

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol

SUITES = {
    "evidence": "pytest_episem.evidence.suite:EVIDENCE",
    "workflows": "pytest_episem.workflows.suite:WORKFLOWS",
}
"""The shipped suites by name, in the order in which they are shown: module and attribute."""


class Search(Protocol):
    """An adaptive search over one task's conditions, one probe at a time: run it, feed its trial, ask for the next."""

    def next(self) -> Any | None:
        """Return the probe to run now, a ``condition`` and its ``phase``; ``None`` when the search is over."""

    def feed(self, trial: Any) -> None:
        """Take the trial of the pending probe."""

    @property
    def result(self) -> Any:
        """What was found."""


class Suite(ABC):
    """One kind of test of an agent: a bank of tasks, their conditions, a world to play in and a judge.

    Attributes:
        name: as users say it; also the folder of its files in a bank.
    """

    name: str

    @abstractmethod
    def start(self, task: Any, condition: Any) -> Any:
        """Return the fresh world of a condition (:class:`pytest_episem.episode.World`); it knows its ``condition``."""

    @abstractmethod
    def trial(self, task: Any, condition: Any, **envelope: Any) -> Any:
        """Return the trial of a rollout (:class:`pytest_episem.runs.trial.Trial`); the envelope is the other fields."""

    def search(self, seed: str, task: Any, lookup: Callable[[Any], Any]) -> Search:
        """Return the adaptive search of one task; ``lookup`` gives the trial that a condition already has.

        Raises:
            NotImplementedError: the suite has none.
        """
        raise NotImplementedError(f"the suite {self.name} has no search")

    @abstractmethod
    def behaviours(self) -> Mapping[str, Callable[[Any], None]]:
        """Return the built-in agents, by name without prefix: what each does with an episode, at once."""

    @property
    @abstractmethod
    def turn_limit(self) -> int:
        """Return how many turns an agent has whose turns can be seen, unless the run says otherwise."""


@functools.cache
def suite(name: str) -> Suite:
    """Return one suite."""
    module, _, attribute = SUITES[name].partition(":")
    found: Suite = getattr(importlib.import_module(module), attribute)
    return found


def suites() -> list[Suite]:
    """Return all suites."""
    return [suite(name) for name in SUITES]
