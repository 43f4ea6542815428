"""What can have happened and how services can behave, derived from the contracts (workflow protocol, section 1).

Decisions where the protocol is silent:

- A rejected request is rejected at the earliest instant it can arrive; a later rejection shows nothing more.
- Where it cannot matter when an unbounded request is accepted, it is accepted as it takes effect.
- A service's answer to a recovery request comes back and the request arrives at once, unless ``again`` says otherwise;
  what is uncertain is whether it is served, and when its effect comes. Second trouble strikes one of the first two
  attempts of an operation, and whatever the service does, what lands without an answer takes effect. A final answer is
  never for nothing: what it settles takes effect, within the commit bound, or at any instant where there is none.
- Only a batch whose operation may fail and is not declared ``whole`` can be effective in part.
- A replica without a declared bound may lag by anything up to the whole clock, or for ever (the last value).
- Of things due at one instant either may come first where that can make a difference; what an action does at once
  comes after them, and what was answered in the history before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from pytest_episem.workflows.model import Channel, PastRequest, Template
from pytest_episem.workflows.tail import answered, heeds_again, heeds_arrival
from pytest_episem.workflows.world import Again, Fate, Service, line_of


def fates_of(template: Template, request: PastRequest) -> list[Fate]:
    """Return every fate that the contract allows a past request, before any answer is looked at."""
    channel = template.channel(request.does[0], request.undoes)
    fates = [Fate("never_arrived")]
    if channel.attempts == "may_fail":
        fates.append(Fate("rejected", request.sent))
    if channel.arrival is None and not answered(channel, request) and not heeds_arrival(template, request):
        return fates + _whenever(template, channel, request)
    for arrives in _arrivals(template, channel, request.sent):
        fates += _accepted(template, channel, request, arrives, list(_landings(template, channel, arrives)))
    return fates


def nearest_fate(allowed: Sequence[Fate], fate: Fate) -> Fate:
    """Return the fate among those allowed that differs at most in when the request was accepted, or the fate itself."""
    if fate in allowed:
        return fate
    alike = (found for found in allowed if replace(found, arrives=fate.arrives) == fate)
    return next(alike, fate)


def _accepted(
    template: Template, channel: Channel, request: PastRequest, arrives: int, landings: list[int]
) -> list[Fate]:
    fates = [Fate("effective", arrives, lands) for lands in landings]
    if channel.attempts == "may_fail":
        fates.append(Fate("never_effective", arrives))
        parts = _prefixes(template, request)
        fates += [Fate("effective", arrives, lands, prefix) for lands in landings for prefix in parts]
    return fates


def _whenever(template: Template, channel: Channel, request: PastRequest) -> list[Fate]:
    """The fates of an unbounded request of which nobody can tell when it was accepted."""
    fates: list[Fate] = []
    for lands in _from(template, request.sent):
        fates += _accepted(template, channel, request, lands, [lands])
    return [fate for fate in fates if fate.kind == "effective" or fate.arrives == request.sent]


def _from(template: Template, instant: int) -> Iterator[int]:
    """Every instant from one onward: each up to the deadline, and those that stand for all later ones."""
    yield from range(instant, template.deadline + 1)
    yield from (late for late in template.tail.late if late >= instant)


def _arrivals(template: Template, channel: Channel, sent: int) -> Iterator[int]:
    if channel.arrival is not None:
        yield from range(sent, sent + channel.arrival + 1)
    else:
        yield from _from(template, sent)


def _landings(template: Template, channel: Channel, accepted: int) -> Iterator[int]:
    if channel.commit_bound is not None:
        yield from range(accepted, accepted + channel.commit_bound + 1)
    else:
        yield from _from(template, accepted)


def _prefixes(template: Template, request: PastRequest) -> range:
    whole = request.undoes or template.contract(request.does[0]).whole
    return range(1, 1 if whole else len(request.does))


def services_of(template: Template, channel: Channel) -> list[Service]:
    """Return every way in which recovery requests over a channel may be served; the ordinary one comes first."""
    delays = _waits(template, channel.commit_bound)
    services = [Service("lands", delay) for delay in delays]
    if channel.attempts == "settle":
        return services
    if channel.response == "receipt":
        services.append(Service("lost"))
    if "rejected" in channel.proof:
        services.append(Service("refused"))
    elif channel.response == "final":
        services += [Service("refused"), *(Service("unsaid", delay) for delay in delays)]
    return services


def _waits(template: Template, bound: int | None) -> list[int]:
    """The instants after sending that a bound allows; without one, those that stand for all."""
    if bound is not None:
        return list(range(bound + 1))
    soon = range(template.deadline - template.start + 1)
    late = {late - sent for late in template.tail.late for sent in range(template.start, template.deadline)}
    return sorted({*soon, *late})


ATTEMPTS_IN_TROUBLE = (1, 2)
"""Which request of the recovery, for one operation, second trouble may strike; it strikes once at most."""


def again_of(template: Template, op: str) -> list[Again]:
    """Return every way in which trouble may strike once more, none first; empty where nothing is declared."""
    contract = template.contracts[op]
    terms = contract.again
    if terms is None:
        return []
    modes = [Again("none")]
    arrivals = _waits(template, terms.arrival)
    at_once = terms.arrival is None and not heeds_again(contract)
    for attempt in ATTEMPTS_IN_TROUBLE:
        modes.append(Again("lost", attempt))
        for arrives in arrivals:
            if at_once:
                lands = [arrives]
            elif terms.commit_bound is not None:
                lands = list(range(arrives, arrives + terms.commit_bound + 1))
            else:
                lands = [delay for delay in _waits(template, None) if delay >= arrives]
            modes += [Again("landed", attempt, arrives, delay) for delay in lands]
    return modes


def lines(template: Template) -> dict[str, Channel]:
    """Return every line of service that the workflow can use: its operations, and the compensations declared."""
    found: dict[str, Channel] = {}
    for name, obligation in template.obligations.items():
        contract = template.contract(name)
        found[line_of(obligation.op, False)] = contract
        if contract.compensation is not None:
            found[line_of(obligation.op, True)] = contract.compensation
    return found


def lags_of(template: Template, op: str) -> list[int]:
    """Return the hidden lags that a replica's terms allow; one hidden lag is not a choice, and none is not either."""
    query = template.contracts[op].query
    if query is None or query.authority == "authoritative":
        return []
    bound = template.deadline + 1 if query.lag is None else query.lag
    return list(range(bound + 1))


def renewals_of(template: Template, approval: str) -> list[bool]:
    """Return the answers that a renewal may get; the ordinary one comes first."""
    terms = template.approvals[approval].renewal
    if terms is None:
        return []
    return [True] if terms.answer == "granted" else [True, False]


def orders_of(template: Template) -> list[bool]:
    """Return the orders in which things due at one instant may happen, last sent first or not: both, where two things
    that depend on each other can be due together."""
    return [False, True] if _ties_matter(template) else [False]


def _ties_matter(template: Template) -> bool:
    for name, obligation in template.obligations.items():
        own, reverse = _spans(template, name, False), _spans(template, name, True)
        needed = [span for n in obligation.after for undo in (False, True) for span in _spans(template, n, undo)]
        if _meet(own, reverse) or _meet(own + reverse, needed):
            return True
        undone = (obligation.approval is not None or obligation.after) and template.contract(name).compensation
        if undone and _meet_among(own):
            return True
        if any(_meet_among(spans) for spans in _repeats(template, name)):
            return True
    return False


def _repeats(template: Template, name: str) -> list[list[range]]:
    """The instants at which past requests of an obligation can arrive that a provider takes for repeats of another."""
    found: dict[tuple[bool, str], list[range]] = {}
    for request in template.requests:
        channel = template.channel(name, request.undoes)
        if name in request.does and channel.deduplication is not None and not answered(channel, request):
            last = template.horizon if channel.arrival is None else request.sent + channel.arrival
            arrivals = found.setdefault((request.undoes, request.item_key(name)), [])
            arrivals.append(range(request.sent, last + 1))
    again = template.contract(name).again
    if again is not None and again.arrival != 0:
        for (undo, _), arrivals in found.items():
            arrivals += [range(template.start + 1, template.horizon + 1)] * (not undo)
    return list(found.values())


def _spans(template: Template, name: str, undo: bool) -> list[range]:
    """The instants at which something of an obligation can be due: one span for each past request that was not
    answered, and two for requests of the recovery whose effect may come later than they are sent."""
    end = template.horizon + 1
    contract = template.contract(name)
    channel = contract.compensation if undo else contract
    if channel is None:
        return []
    spans = [range(template.start + 1, end)] * 2 if channel.commit_bound != 0 else []
    if not undo and contract.again is not None and (contract.again.arrival, contract.again.commit_bound) != (0, 0):
        spans.append(range(template.start + 1, end))
    for request in template.requests:
        if request.undoes == undo and name in request.does and not answered(channel, request):
            bounded = channel.arrival is not None and channel.commit_bound is not None
            last = request.sent + (channel.arrival or 0) + (channel.commit_bound or 0) + 1 if bounded else end
            spans.append(range(request.sent, last))
    return spans


def _meet(some: list[range], others: list[range]) -> bool:
    return any(a.start < b.stop and b.start < a.stop for a in some for b in others)


def _meet_among(spans: list[range]) -> bool:
    return any(_meet([one], [other]) for one, other in combinations(spans, 2))
