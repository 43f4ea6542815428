"""The public bytes: what a provider answers to a request or a question (workflow protocol, section 1).

Decisions where the protocol is silent:

- A repeat of a remembered key is answered for its original, as it stands at that instant.
- A final answer names the instant of the effect, even one that lies ahead, or says that it comes after the deadline;
  what is judged at the effect may still prevent it.
- The history names, for each key, ``absent``, ``accepted``, ``rejected``, ``settled at t`` or ``undone``; a rejection
  shows from the instant it happened.
- What a lagging query shows at t is everything up to and including the instant t - lag.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_episem.workflows.model import Channel, PastRequest
from pytest_episem.workflows.timeline import Request, Run, Trace, surviving

REJECTED = "rejected"
TIMEOUT = "timeout"
GRANTED = "granted"
REFUSED = "refused"
UNAVAILABLE = "not offered"


def settled(at: int) -> str:
    """Return the answer of a final response to a request that took effect."""
    return f"settled at {at}"


def settled_late(deadline: int) -> str:
    """Return the answer of a final response to a request whose effect is certain, but not in time."""
    return f"settled after {deadline}"


def accepted(at: int) -> str:
    """Return a receipt."""
    return f"accepted at {at}"


def past_answer(request: PastRequest) -> str:
    """Return the bytes of a history answer."""
    if request.answer == "settled":
        return settled(request.sent if request.at is None else request.at)
    if request.answer == "accepted":
        return accepted(request.sent if request.at is None else request.at)
    return request.answer


def proves(channel: Channel, answer: str) -> bool:
    """Return whether a request's answer is evidence: a receipt always is, the others if the channel says so."""
    word = answer.split(" ")[0]
    return word == "accepted" or word in channel.proof


def reply(run: Run, index: int, channel: Channel, now: int) -> str:
    """Return what the provider answers to a request of a run, as known at ``now``; ``timeout`` for nothing at all."""
    trace = run.traces[index]
    if trace is None:
        return TIMEOUT
    if trace.repeats is not None:
        original = run.traces[trace.repeats]
        return TIMEOUT if original is None else _reply(original, channel, now, pending=True)
    entry = run.entries[index]
    if channel.response == "final" and trace.accepted is not None and isinstance(entry, Request):
        lands = entry.fate.lands
        if lands is not None and lands > now:
            return settled(lands) if lands <= run.deadline else settled_late(run.deadline)
    return _reply(trace, channel, now, pending=channel.response == "receipt")


def _reply(trace: Trace, channel: Channel, now: int, pending: bool) -> str:
    if trace.accepted is None:
        return TIMEOUT if trace.rejected is None else REJECTED
    if channel.response == "final":
        if trace.settled is not None and trace.settled <= now:
            return settled(trace.settled)
        if trace.rejected is not None and trace.rejected <= now:
            return REJECTED
    return accepted(trace.accepted) if pending else TIMEOUT


def count_shown(run: Run, obligation: str, upto: int) -> str:
    """Return what a query of the state shows."""
    return f"count {run.count(obligation, upto)}"


def history_shown(run: Run, obligation: str, upto: int) -> str:
    """Return what a query of the history shows: the status of every key used for the obligation."""
    keys: dict[str, list[int]] = {}
    for index, entry in enumerate(run.entries):
        if isinstance(entry, Request) and entry.obligation == obligation:
            keys.setdefault(f"undo {entry.key}" if entry.undo else entry.key, []).append(index)
    return "; ".join(f"{key} {_status(run, uses, upto)}" for key, uses in keys.items()) or "nothing"


def _status(run: Run, uses: Iterable[int], upto: int) -> str:
    status = "absent"
    for index in uses:
        trace, entry = run.traces[index], run.entries[index]
        if trace is None or not isinstance(entry, Request):
            continue
        if trace.settled is not None and trace.settled <= upto:
            return settled(trace.settled) if entry.undo or _survives(run, entry, upto) else "undone"
        if trace.accepted is not None and trace.accepted <= upto and not _past(trace.rejected, upto):
            status = "accepted"
        elif _past(trace.rejected, upto) and status == "absent":
            status = REJECTED
    return status


def _survives(run: Run, request: Request, upto: int) -> bool:
    own = [e for e in run.ledger if (e.request, e.obligation) == (request.id, request.obligation)]
    return any(surviving(effect, upto) for effect in own)


def _past(instant: int | None, upto: int) -> bool:
    return instant is not None and instant <= upto
