"""What a suite is, and which there are: whoever serves any suite knows no other way in. Light to import."""

from __future__ import annotations

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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


class Measured(Protocol):
    """What a run's trials are grouped into, of which a metric takes its parts: a pair, a case."""

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def family(self) -> str:
        """The cluster of the bootstrap."""

    @property
    def terms(self) -> Mapping[str, Sequence[str]]:
        """What the suite's ``terms`` are here."""


class Suite(ABC):
    """One kind of test of an agent: a bank of tasks, their conditions, a world to play in and a judge.

    Attributes:
        name: as users say it; also the folder of its files in a bank.
        word: what it is called in sentences, before "suite".
        many: what its tasks are called.
        metrics: its metrics, in the order in which they are shown.
        unit: what its metrics count, one and many.
        searches: whether it has an adaptive search.
        terms: what must be the same in two runs for the values of such a unit to be comparable, by name.
    """

    name: str
    word: str
    many: str
    metrics: tuple[Metric, ...] = ()
    unit: tuple[str, str]
    searches: bool = False
    terms: tuple[str, ...] = ()

    @property
    def gated(self) -> list[Metric]:
        """Its metrics in the order in which gates are listed."""
        return sorted(self.metrics, key=lambda metric: metric.side)

    # Playing ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def open(self, banks: Sequence[str], here: Path) -> Any:
        """Return the banks named, joined; those among them that hold none of its tasks are left out. Directories are
        seen from ``here``; without a name the shipped bank.

        Raises:
            EpisemError: a bank cannot be used.
        """

    @abstractmethod
    def conditions(self, task: Any, choice: Callable[[str], Any]) -> list[Any]:
        """Return the fixed conditions of a task that are to be run, in order; ``choice`` gives the value of an option
        by its name."""

    def total(self, bank: Any, choice: Callable[[str], Any]) -> int:
        """Return how many of its ``unit`` a bank has in all."""
        return len(bank.tasks)

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

    def told(self, choice: Callable[[str], Any]) -> list[str]:
        """Return what a session says at its start of how the suite is played: ``["shield on"]``."""
        return []

    @property
    @abstractmethod
    def turn_limit(self) -> int:
        """Return how many turns an agent has whose turns can be seen, unless the run says otherwise."""

    @property
    @abstractmethod
    def instruction(self) -> str:
        """Return the default system instruction."""

    # Showing ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def labels(self, task: Any, condition: Any) -> Mapping[str, str]:
        """Return what items are chosen by, as pytest's markers: ``{"domain": "finance", …}``."""

    @abstractmethod
    def fault(self, trial: Any) -> str:
        """Return in a few words why a completed trial counts against its agent; ``""``: it does not."""

    @abstractmethod
    def explain(self, task: Any, trial: Any, rerun: str, banks: Sequence[str]) -> str:
        """Return the failure text of a trial; ``rerun`` is the command that runs it again, ``banks`` those named."""

    @abstractmethod
    def rerun_options(self, condition: Any) -> list[str]:
        """Return the options without which its item is not collected."""

    # Recording and judging --------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def record(self) -> Any:
        """Return the class of its records (:class:`pytest_episem.runs.record.Record`)."""

    @abstractmethod
    def unplanned(self, header: Any) -> Callable[[Any], str]:
        """Return the function that says what a run's plan does not account for in a trial; ``""`` for nothing."""

    @abstractmethod
    def source(self, header: Any) -> Any:
        """Return the bank that a run took its tasks from (:class:`pytest_episem.runs.run.BankId`)."""

    def played(self, header: Any) -> dict[str, str]:
        """Return how a run was played, in what is the test's and not the agent's: two that differ in it are two
        tests, and neither is a baseline of the other."""
        return {}

    @abstractmethod
    def group(self, run: Any, banks: Sequence[Any] = ()) -> list[Any]:
        """Return what a run's plan holds with its trials, sorted by id; ``banks`` are those at hand."""

    @abstractmethod
    def incomplete(self, run: Any, measured: Any) -> str:
        """Return what of it was planned and did not complete, the first; ``""`` if it is whole."""

    def alike(self, measured: Any, other: Any) -> Any:
        """Return it with only what another run tested as well."""
        return measured


@functools.cache
def suite(name: str) -> Suite:
    """Return one suite."""
    module, _, attribute = SUITES[name].partition(":")
    found: Suite = getattr(importlib.import_module(module), attribute)
    return found


def suites() -> list[Suite]:
    """Return all suites."""
    return [suite(name) for name in SUITES]
