"""From requests to effects: the one deterministic replay of a timeline (workflow protocol, sections 1 and 2).

A timeline is the requests and renewals in the order in which they were sent. Replaying it to the horizon gives all
that ever follows without further actions, so a state is a timeline and an instant, and waiting changes only the
instant. Things due at one instant happen in the order in which they were sent, or, in a world that says so, those
sent last first; what an action does at once comes after them.

Decisions where the protocol is silent:

- Deduplication is looked at first: a request with a remembered key is answered for its original, whatever the
  service does. A rejected request is not remembered. Keys belong to one obligation and one line.
- A compensation needs no approval.
- "Undoing what something surviving needs": the last surviving effect goes while a dependent has a surviving one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TypeAlias

from pytest_episem.workflows.model import Template
from pytest_episem.workflows.verdict import LedgerEntry, Violation, ViolationKind
from pytest_episem.workflows.world import Fate


@dataclass(frozen=True, slots=True)
class Request:
    """One request for one obligation, past or of ``recovery``, with the fate it meets if nothing stops it."""

    id: str
    obligation: str
    undo: bool
    key: str
    fate: Fate
    recovery: bool = False
    sent: int = 0
    pending: bool = True
    """Whether it can still be due when others are: it was not answered in the history."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """An approval asked to be renewed at an instant."""

    approval: str
    at: int
    granted: bool


Entry: TypeAlias = Request | Renewal


@dataclass(slots=True)
class Trace:
    """What became of one request: the instants at which it was accepted, settled, rejected; or whose repeat it is."""

    accepted: int | None = None
    settled: int | None = None
    rejected: int | None = None
    repeats: int | None = None
    authorised: bool = True


class Run:
    """What follows from a timeline up to the horizon, without further actions. Compared by identity.

    Attributes:
        serial: a number of its own, for keys.
        traces: one for each entry of the timeline, ``None`` for a renewal.
        ledger: every effect in order of landing.
        violations: every violation up to the horizon.
        goal: the goal at the deadline. ``lasting``: at the deadline and at the horizon.
        gone: no surviving effect at the deadline nor at the horizon.
    """

    __slots__ = (
        "_next", "deadline", "entries", "goal", "gone", "lasting", "ledger", "recoveries", "serial", "traces",
        "violations"
    )  # fmt: skip

    def __init__(self, serial: int, template: Template, entries: tuple[Entry, ...], last_first: bool = False) -> None:
        replayed = _Replay(template, entries, last_first)
        self.serial = serial
        self.deadline = template.deadline
        self.entries = entries
        self.traces = replayed.traces
        self.ledger = tuple(replayed.ledger)
        self.violations = frozenset(replayed.violations)
        self.recoveries = sum(1 for e in entries if isinstance(e, Renewal) or e.recovery)
        ends = (template.deadline, template.horizon)
        self.goal = goal_holds(template, self.ledger, template.deadline)
        self.lasting = self.goal and goal_holds(template, self.ledger, template.horizon)
        self.gone = not any(surviving(effect, end) for effect in self.ledger for end in ends)
        self._next: dict[Hashable, Run] = {}

    def count(self, obligation: str, at: int) -> int:
        """Return how many effects of an obligation survive at an instant."""
        return sum(1 for effect in self.ledger if effect.obligation == obligation and surviving(effect, at))

    def good(self, obligation: str, at: int) -> bool:
        """Return whether exactly one effect survives at an instant, and it is authorised and ordered."""
        alive = [e for e in self.ledger if e.obligation == obligation and surviving(e, at)]
        return len(alive) == 1 and alive[0].authorised and alive[0].ordered

    def then(self, entry: Entry, make: Callable[[tuple[Entry, ...]], Run]) -> Run:
        """Return the run with one entry more, made once."""
        found = self._next.get(entry)
        if found is None:
            found = self._next[entry] = make((*self.entries, entry))
        return found


def surviving(effect: LedgerEntry, at: int) -> bool:
    """Return whether an effect has landed and is not undone, at the end of an instant."""
    return effect.landed <= at and (effect.undone is None or effect.undone > at)


def goal_holds(template: Template, ledger: tuple[LedgerEntry, ...], at: int) -> bool:
    """Return whether every obligation has exactly one surviving effect, authorised and ordered, at an instant."""
    alive: dict[str, list[LedgerEntry]] = {name: [] for name in template.obligations}
    for effect in ledger:
        if surviving(effect, at):
            alive[effect.obligation].append(effect)
    return all(len(found) == 1 and found[0].authorised and found[0].ordered for found in alive.values())


class _Replay:
    """The replay itself; after construction ``traces``, ``ledger`` and ``violations`` hold the result."""

    def __init__(self, template: Template, entries: tuple[Entry, ...], last_first: bool) -> None:
        self.template = template
        self.entries = entries
        self.traces = tuple(Trace() if isinstance(entry, Request) else None for entry in entries)
        self.ledger: list[LedgerEntry] = []
        self.violations: list[Violation] = []
        self.renewed: list[tuple[str, int, int]] = []
        for instant, index, phase in sorted(self._events(), key=self._late if last_first else None):
            self._happen(instant, index, phase)

    def _late(self, event: tuple[int, int, int]) -> tuple[int, int, int, int]:
        """The place of an event where those sent last come first."""
        instant, index, phase = event
        entry = self.entries[index]
        if isinstance(entry, Renewal) or (entry.recovery and instant == entry.sent):
            return instant, 2, index, phase
        return (instant, 1, -index, phase) if entry.pending else (instant, 0, index, phase)

    def _events(self) -> list[tuple[int, int, int]]:
        events = []
        for index, entry in enumerate(self.entries):
            if isinstance(entry, Renewal):
                events.append((entry.at, index, 0))
            elif entry.fate.arrives is not None:
                events.append((entry.fate.arrives, index, 0))
                if entry.fate.lands is not None:
                    events.append((entry.fate.lands, index, 1))
        return events

    def _happen(self, instant: int, index: int, phase: int) -> None:
        entry, trace = self.entries[index], self.traces[index]
        if isinstance(entry, Renewal):
            self._renew(entry)
        elif trace is not None and phase == 0:
            self._arrive(entry, trace, instant)
        elif trace is not None and trace.accepted is not None:
            self._land(entry, trace, instant)

    def _renew(self, renewal: Renewal) -> None:
        terms = self.template.approvals[renewal.approval].renewal
        if renewal.granted and terms is not None:
            self.renewed.append((renewal.approval, renewal.at, renewal.at + terms.lasts))

    def _arrive(self, request: Request, trace: Trace, now: int) -> None:
        trace.repeats = self._remembered(request, now)
        if trace.repeats is not None:
            return
        if request.fate.kind == "rejected" or not self._passes(request, trace, "acceptance", now):
            trace.rejected = now
        else:
            trace.accepted = now

    def _remembered(self, request: Request, now: int) -> int | None:
        window = self.template.channel(request.obligation, request.undo).deduplication
        if window is None:
            return None
        for index, (entry, trace) in enumerate(zip(self.entries, self.traces, strict=True)):
            if trace is None or trace.accepted is None or not isinstance(entry, Request) or entry is request:
                continue
            same = (entry.key, entry.obligation, entry.undo) == (request.key, request.obligation, request.undo)
            if same and trace.accepted <= now < trace.accepted + window:
                return index
        return None

    def _passes(self, request: Request, trace: Trace, instant: str, now: int) -> bool:
        """Judge the approval if this is the instant to judge it; return whether the provider lets the request go on."""
        terms = self.template.contract(request.obligation).authorization
        if request.undo or (terms.judged if terms else "effect") != instant:
            return True
        trace.authorised = self._valid(self.template.obligations[request.obligation].approval, now)
        return trace.authorised or terms is None or not terms.enforced

    def _valid(self, approval: str | None, now: int) -> bool:
        if approval is None:
            return True
        terms = self.template.approvals[approval]
        if terms.start <= now and (terms.until is None or now < terms.until):
            return True
        return any(name == approval and start <= now < until for name, start, until in self.renewed)

    def _land(self, request: Request, trace: Trace, now: int) -> None:
        if not self._passes(request, trace, "effect", now):
            trace.rejected = now
            return
        trace.settled = now
        if request.undo:
            self._undo(request, now)
        else:
            self._take_effect(request, trace, now)

    def _take_effect(self, request: Request, trace: Trace, now: int) -> None:
        name = request.obligation
        ordered = all(self._alive(needed) for needed in self.template.obligations[name].after)
        if self._alive(name):
            self._violate("duplicate", request, now)
        if not trace.authorised:
            self._violate("unauthorised", request, now)
        if not ordered:
            self._violate("order", request, now)
        self.ledger.append(LedgerEntry(name, request.id, now, None, trace.authorised, ordered))

    def _undo(self, request: Request, now: int) -> None:
        alive = self._alive(request.obligation)
        if not alive:
            self._violate("undo_nothing", request, now)
            return
        obligations = self.template.obligations
        needed = any(request.obligation in obligations[n].after and self._alive(n) for n in obligations)
        if len(alive) == 1 and needed:
            self._violate("undo_needed", request, now)
        self.ledger[alive[-1]] = replace(self.ledger[alive[-1]], undone=now)

    def _alive(self, obligation: str) -> list[int]:
        return [i for i, e in enumerate(self.ledger) if e.obligation == obligation and e.undone is None]

    def _violate(self, kind: ViolationKind, request: Request, now: int) -> None:
        self.violations.append(Violation(kind, request.obligation, request.id, now))
