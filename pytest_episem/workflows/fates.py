"""What can have happened and how services can behave, derived from the contracts (workflow protocol, section 1).

Decisions where the protocol is silent:

- A rejected request is rejected at the earliest instant it can arrive; a later rejection shows nothing more.
- A request accepted at the representative instant H takes effect at H.
- A service's answer to a recovery request always comes back and the request arrives at once; what is uncertain is
  whether it is served, and after a receipt when. So an operation that settles with a final answer has one service.
- Only a batch whose operation may fail and is not declared ``whole`` can be effective in part.
- A replica without a declared bound may lag by anything up to the whole clock, or for ever (the last value).
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_episem.workflows.model import Channel, PastRequest, Template
from pytest_episem.workflows.world import Fate, Service, line_of


def fates_of(template: Template, request: PastRequest) -> list[Fate]:
    """Return every fate that the contract allows a past request, before any answer is looked at."""
    channel = template.channel(request.does[0], request.undoes)
    fates = [Fate("never_arrived")]
    if channel.attempts == "may_fail":
        fates.append(Fate("rejected", request.sent))
    for arrives in _arrivals(template, channel, request.sent):
        landings = list(_landings(template, channel, arrives))
        fates += [Fate("effective", arrives, lands) for lands in landings]
        if channel.attempts == "may_fail":
            fates.append(Fate("never_effective", arrives))
            parts = _prefixes(template, request)
            fates += [Fate("effective", arrives, lands, prefix) for lands in landings for prefix in parts]
    return fates


def _arrivals(template: Template, channel: Channel, sent: int) -> Iterator[int]:
    if channel.arrival is not None:
        yield from range(sent, sent + channel.arrival + 1)
    else:
        yield from range(sent, template.deadline + 1)
        yield template.horizon


def _landings(template: Template, channel: Channel, accepted: int) -> Iterator[int]:
    if accepted == template.horizon:
        yield accepted
    elif channel.commit_bound is not None:
        yield from range(accepted, accepted + channel.commit_bound + 1)
    else:
        yield from range(accepted, template.deadline + 1)
        yield template.horizon


def _prefixes(template: Template, request: PastRequest) -> range:
    whole = request.undoes or template.contract(request.does[0]).whole
    return range(1, 1 if whole else len(request.does))


def services_of(template: Template, channel: Channel) -> list[Service]:
    """Return every way in which recovery requests over a channel may be served; the ordinary one comes first."""
    if channel.response == "final":
        return _final_services(channel)
    services = [Service("lands", delay) for delay in _delays(template, channel)]
    if channel.attempts == "may_fail":
        services.append(Service("lost"))
        services += [Service("refused")] if "rejected" in channel.proof else []
    return services


def _final_services(channel: Channel) -> list[Service]:
    services = [Service("lands")]
    if channel.attempts == "may_fail":
        services.append(Service("refused"))
        services += [] if "rejected" in channel.proof else [Service("unsaid")]
    return services


def _delays(template: Template, channel: Channel) -> list[int]:
    if channel.commit_bound is not None:
        return list(range(channel.commit_bound + 1))
    return [*range(template.deadline - template.start + 1), template.horizon - template.start]


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
