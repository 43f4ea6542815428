"""What a suite is, and which there are: whoever serves any suite knows no other way in. Light to import."""

from __future__ import annotations

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

SUITES = {
    "evidence": "pytest_episem.evidence.suite:EVIDENCE",
    "workflows": "pytest_episem.workflows.suite:WORKFLOWS",
}
"""The shipped suites by name, in the order in which they are shown: module and attribute."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, declared once: its option, its gate, its place in tables and baselines follow.

    ``value``: a task's part of it, 0 to 1, or ``None`` without an eligible trial. ``covered``: whether all the
    task's planned eligible trials completed. ``worst``: the worst the task's part can still become, equal to the
    value once covered. ``better`` says which direction is good. ``flattered``: the trials in which saying nothing would
    count in the agent's favour. ``task`` is what the suite groups a run's trials into.
    """

    name: str
    title: str
    better: Literal["higher", "lower"]
    value: Callable[[Any], float | None]
    covered: Callable[[Any], bool]
    worst: Callable[[Any], float]
    flattered: Callable[[Any], Iterable[Any]] = lambda _: ()

    @property
    def side(self) -> Literal["max", "min"]:
        """Whether a limit is its largest or its smallest value."""
        return "max" if self.better == "lower" else "min"

    @property
    def gate(self) -> str:
        """The name of its gate, as options spell it: ``max-critical-ucr``."""
        return f"{self.side}-{self.name.replace('_', '-')}"


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
        metrics: its metrics, in the order in which they are shown.
    """

    name: str
    metrics: tuple[Metric, ...] = ()

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
