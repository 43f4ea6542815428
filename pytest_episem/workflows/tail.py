"""Which instants after the deadline stand for all later ones, and where the horizon is (workflow protocol, section 1).

A request without an arrival bound or a commit bound may do something at any instant. Up to the deadline each is
looked at; after it, what happens changes only where an instant passes another one by a fixed offset: the end of a key
window, of an approval or of a renewal, a bounded arrival or effect, or another unbounded instant. So a late order of
events is a set of conditions "at least c after that", and the earliest instants that meet them are a breakpoint plus
at most one offset for each further unbounded instant. These, and no others, are enumerated: every later instant
behaves like one of them. With one unbounded instant that is the breakpoints alone; with two of one key they also lie a
key window apart.

The horizon lies beyond all of them by the largest bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_episem.workflows.model import AgainTerms, Channel, Contract, PastRequest, Template


@dataclass(frozen=True, slots=True)
class Tail:
    """``late``: the instants after the deadline that stand for all of them, in order; empty where every request is
    bounded. ``horizon``: an instant after which nothing can happen."""

    late: tuple[int, ...]
    horizon: int


def tail_of(template: Template) -> Tail:
    """Return the tail of a template."""
    unbounded = _Unbounded(template)
    late = tuple(sorted(_closed(template, unbounded))) if unbounded.instants else ()
    last = max([template.deadline, *late])
    delays = last - template.start if unbounded.delays else 0
    return Tail(late, max(last, template.deadline + delays) + 1 + _largest_bound(template))


def heeds_arrival(template: Template, request: PastRequest) -> bool:
    """Return whether it can matter when a request is accepted, and not only when it takes effect: its key is remembered
    from then on, its approval is judged then, or a question shows it."""
    return _heeds(template.contract(request.does[0]), template.channel(request.does[0], request.undoes))


def heeds_again(contract: Contract) -> bool:
    """Return the same for a request of the recovery that got no answer."""
    return _heeds(contract, contract)


def _heeds(contract: Contract, channel: Channel) -> bool:
    return (
        channel.deduplication is not None
        or (contract.authorization is not None and contract.authorization.judged == "acceptance")
        or (contract.query is not None and contract.query.scope == "history")
    )


def answered(channel: Channel, request: PastRequest) -> bool:
    """Return whether the answer in the history proves that a request was received."""
    return request.answer == "accepted" or request.answer in channel.proof


class _Unbounded:
    """How many instants nothing bounds: ``instants`` in all; ``arrivals`` by line and key, of past requests; and
    ``delays``, those that count from the sending of a recovery request."""

    def __init__(self, template: Template) -> None:
        self.arrivals: dict[tuple[str, bool, str], int] = {}
        effects = 0
        for request in template.requests:
            channel = template.channel(request.does[0], request.undoes)
            open_ = not answered(channel, request)
            arrival = open_ and channel.arrival is None
            if arrival:
                for name in request.does:
                    line = (name, request.undoes, request.item_key(name))
                    self.arrivals[line] = self.arrivals.get(line, 0) + 1
            settled = answered(channel, request) and request.answer != "accepted"
            effect = channel.commit_bound is None and not settled
            effects += arrival + (effect and (not arrival or heeds_arrival(template, request)))
        self.delays = sum(channel.commit_bound is None for channel in _lines(template))
        for op, contract in template.contracts.items():
            self._again(template, op, contract)
        self.instants = effects + self.delays

    def _again(self, template: Template, op: str, contract: Contract) -> None:
        """Count what second trouble leaves open; such a request may carry any key of its obligations."""
        terms = contract.again
        if terms is None:
            return
        self.delays += terms.arrival is None
        self.delays += terms.commit_bound is None and (terms.arrival is not None or heeds_again(contract))
        if terms.arrival is None:
            for name in [name for name, obligation in template.obligations.items() if obligation.op == op]:
                keys = {key for n, undo, key in self.arrivals if (n, undo) == (name, False)} | {""}
                for key in keys:
                    self.arrivals[name, False, key] = self.arrivals.get((name, False, key), 0) + 1


def _lines(template: Template) -> list[Channel]:
    found: list[Channel] = []
    for contract in template.contracts.values():
        found += [contract, *([contract.compensation] if contract.compensation is not None else [])]
    return found


def _promises(template: Template) -> list[Channel | AgainTerms]:
    again = [contract.again for contract in template.contracts.values() if contract.again is not None]
    return [*_lines(template), *again]


def _largest_bound(template: Template) -> int:
    return max((c.arrival or 0) + (c.commit_bound or 0) for c in _promises(template))


def _largest_delay(template: Template) -> int:
    """The longest bounded time from acceptance to effect."""
    return max(c.commit_bound or 0 for c in _promises(template))


def _closed(template: Template, unbounded: _Unbounded) -> set[int]:
    """The breakpoints, closed under the offsets as often as there are further unbounded instants."""
    found = {instant for instant in _breakpoints(template, unbounded) if instant > template.deadline}
    offsets = _offsets(template, unbounded)
    grown = found
    for _ in range(unbounded.instants - 1):
        grown = {instant + by for instant in grown for by in offsets} - found
        grown = {instant for instant in grown if instant > template.deadline}
        found |= grown
    return found


def _breakpoints(template: Template, unbounded: _Unbounded) -> Iterator[int]:
    """The instants that an unbounded one can reach and be past: each bound that an earlier event can have."""
    yield template.deadline + 1
    bound = _largest_bound(template)
    if bound:
        yield from range(template.deadline + 1, template.deadline + bound + 2)
    spread = _largest_delay(template)
    for approval in template.approvals.values():
        ends = [approval.start, *([approval.until] if approval.until is not None else [])]
        if approval.renewal is not None:
            ends += [granted + approval.renewal.lasts for granted in range(template.start, template.deadline)]
        yield from (end - after for end in ends for after in range(spread + 1))
    yield from _forgotten(template, unbounded, bound)


def _forgotten(template: Template, unbounded: _Unbounded, bound: int) -> Iterator[int]:
    """The instants at which a key is forgotten that an unbounded request may still arrive with."""
    first = min([template.start, *(request.sent for request in template.requests)])
    for name, undo, _ in unbounded.arrivals:
        window = template.channel(name, undo).deduplication
        if window is not None:
            yield from range(first + window, template.deadline + bound + window + 1)


def _offsets(template: Template, unbounded: _Unbounded) -> set[int]:
    """By how much one unbounded instant may lie after another for that to make a difference."""
    spread = _largest_delay(template)
    if unbounded.delays:
        spread += template.deadline - 1 - template.start
    near = set(range(-spread, spread + 2))
    for (name, undo, _), requests in unbounded.arrivals.items():
        window = template.channel(name, undo).deduplication
        if window is not None and requests > 1:
            near |= {window, 1 - window}
    return near
