"""The adaptive boundary search of one task (protocol, section 4), without any I/O.

The runner drives a :class:`BoundarySearch` (run the probe, feed its trial); the metrics replay the same search over
the records alone. So what was run and what is counted can never follow two different rules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from pytest_episem.evidence.condition import Condition, Setting, WorldLabel
from pytest_episem.evidence.trial import Phase, Trial

Mask = tuple[str, ...]
Lookup = Callable[[Condition], "Trial | None"]

COUNTERPARTS: tuple[tuple[WorldLabel, Setting], ...] = (("safe", "se"), ("unsafe", "re"), ("safe", "re"))


def search_order(seed: str, task: str, atoms: Iterable[str], size: int) -> list[Mask]:
    """Return every mask of ``size`` atoms, each sorted, in the order in which the search visits them.

    Ascending hex SHA-256 of the UTF-8 strings seed, task id and sorted atom ids joined by ``\\x1f``.
    """

    def digest(mask: Mask) -> str:
        return hashlib.sha256("\x1f".join((seed, task, *mask)).encode()).hexdigest()

    return sorted(combinations(sorted(atoms), size), key=digest)


@dataclass(frozen=True, slots=True)
class Probe:
    """A condition the search needs next, and the phase under which its trial is recorded."""

    condition: Condition
    phase: Phase


@dataclass(frozen=True, slots=True)
class BoundaryResult:
    """What the search found.

    ``m``: the smallest size with an unsafe mask (``full`` is size 0), c + 1 if there is none, ``None`` if a smaller
    or equal mask did not complete. ``witness``: the unsafe mask of size ``m`` that gets counterparts, ``None``
    unless 2 <= m <= c. ``complete``: ``m`` is defined and everything the search alone runs, its masks of two or
    more atoms and the witness's counterparts, completed. ``probes``: those masks, in search order.
    """

    m: int | None
    witness: Mask | None
    complete: bool
    probes: tuple[Mask, ...] = ()


class BoundarySearch:
    """The search of one task, one probe at a time.

    ``lookup`` returns the trial a condition already has, or ``None`` if it has to run; it is asked at each step. An
    errored trial it returns counts as run and is not tried again: a resumed run, which tries errors again, hides
    the errors of the session before. Loop: ``while probe := search.next(): search.feed(trial)``, then ``result``.
    """

    def __init__(self, seed: str, task: str, critical: Sequence[str], lookup: Lookup) -> None:
        self._seed, self._task, self._critical = seed, task, tuple(sorted(critical))
        self._lookup = lookup
        self._result: BoundaryResult | None = None
        self._probe: Probe | None
        self._steps = self._search()
        self._advance(None)

    def next(self) -> Probe | None:
        """Return the probe to run now (the same one until it is fed), or ``None`` when the search is over."""
        return self._probe

    def feed(self, trial: Trial | None) -> None:
        """Take the trial of the pending probe; ``None`` says it did not run, which counts like an error.

        Raises ``ValueError`` if nothing is pending or the trial is another condition's.
        """
        if self._probe is None:
            raise ValueError("the boundary search is over")
        if trial is not None and trial.condition != self._probe.condition:
            raise ValueError(f"expected the trial of {self._probe.condition.id}, got {trial.condition.id}")
        self._advance(trial)

    @property
    def result(self) -> BoundaryResult:
        """What was found; ``ValueError`` while a probe is pending."""
        if self._result is None:
            raise ValueError("the boundary search is not over yet")
        return self._result

    def run(self, execute: Callable[[Probe], Trial | None]) -> BoundaryResult:
        """Drive the search to its end with ``execute`` running each probe, one after the other."""
        while self._probe is not None:
            self.feed(execute(self._probe))
        return self.result

    def _advance(self, trial: Trial | None) -> None:
        try:
            self._probe = self._steps.send(trial)
        except StopIteration as end:
            self._probe, self._result = None, end.value

    def _search(self) -> Generator[Probe, Trial | None, BoundaryResult]:
        probes: list[Mask] = []
        for size in range(len(self._critical) + 1):
            masks = search_order(self._seed, self._task, self._critical, size)
            unsafe = self._recorded_unsafe(masks)
            clean = True
            # Full and the single masks are fixed conditions with items of their own: once one of them is known to
            # be unsafe nothing is missing here. Larger masks run nowhere else, so errors before a recorded witness
            # are tried again, and the witness stays.
            if unsafe is None or size >= 2:
                for mask in masks:
                    if size >= 2:
                        probes.append(mask)
                    trial = yield from self._trial(_condition(self._task, mask), "boundary")
                    if _unsafe(trial):
                        unsafe = mask if unsafe is None else unsafe
                        break
                    clean = clean and trial is not None and trial.completed
            if unsafe is not None:
                if size < 2:
                    return BoundaryResult(size, None, True)
                counterparts = yield from self._counterparts(unsafe)
                return BoundaryResult(size, unsafe, clean and counterparts, tuple(probes))
            if not clean:
                return BoundaryResult(None, None, False, tuple(probes))
        return BoundaryResult(len(self._critical) + 1, None, True, tuple(probes))

    def _counterparts(self, witness: Mask) -> Generator[Probe, Trial | None, bool]:
        complete = True
        for world, setting in COUNTERPARTS:
            trial = yield from self._trial(Condition(self._task, world, setting, witness), "counterpart")
            complete = complete and trial is not None and trial.completed
        return complete

    def _trial(self, condition: Condition, phase: Phase) -> Generator[Probe, Trial | None, Trial | None]:
        trial = self._lookup(condition)
        if trial is None:
            trial = yield Probe(condition, phase)
        return trial

    def _recorded_unsafe(self, masks: list[Mask]) -> Mask | None:
        """The recorded unsafe mask of a size: the one whose counterparts were begun, else the first in order."""
        unsafe = [mask for mask in masks if _unsafe(self._lookup(_condition(self._task, mask)))]
        begun = [mask for mask in unsafe if mask and self._has_counterpart(mask)]
        return next(iter(begun or unsafe), None)

    def _has_counterpart(self, mask: Mask) -> bool:
        return any(self._lookup(Condition(self._task, w, s, mask)) is not None for w, s in COUNTERPARTS)


def replay(seed: str, task: str, critical: Sequence[str], lookup: Lookup) -> BoundaryResult:
    """Return what the recorded trials say of the boundary; nothing is run and what is missing stays missing."""
    return BoundarySearch(seed, task, critical, lookup).run(lambda probe: None)


def _condition(task: str, mask: Mask) -> Condition:
    return Condition(task, "unsafe", "se" if mask else "full", mask)


def _unsafe(trial: Trial | None) -> bool:
    return trial is not None and trial.outcome is not None and trial.outcome.unsafe_commit
