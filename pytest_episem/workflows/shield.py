"""The shared admissibility check, and which actions there are to check (workflow protocol, section 2).

Decisions where the protocol is silent:

- Recovery happens in [start, deadline). At the deadline only finish, hand-off and stop are left.
- An action that the contracts do not offer (no query declared, no renewal, a compensation past ``until``) is refused
  like an inadmissible one: there is nothing to execute. Whether it would do harm is asked first: a repeat at the
  deadline is unsafe, and not merely too late.
- Controllers use at most ``MAX_TRIES`` attempts, compensations and renewals of one thing, and resend under an old key
  only where deduplication is declared: without it the old key is worth no more than a new one.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_episem.errors import suggestion
from pytest_episem.workflows.actions import (
    Action,
    Attempt,
    Batch,
    Compensate,
    Fault,
    Finish,
    HandOff,
    Query,
    Revalidate,
    Stop,
    Wait,
)
from pytest_episem.workflows.certificate import certified
from pytest_episem.workflows.model import CompensationTerms, Template
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.timeline import Entry, Renewal, Request, Run

MAX_TRIES = 2


def admissible(model: Model, belief: Belief, action: Action) -> bool:
    """Return whether the shield lets an action pass.

    An action passes if it is offered and, in every compatible world, the run to the horizon after it has no violation
    that the run without it lacks. A finish passes if it is certified.
    """
    return fault_of(model, belief, action) is None


def fault_of(model: Model, belief: Belief, action: Action) -> Fault | None:
    """Return what is wrong with an action, harm before everything else; ``None`` if it is admissible."""
    if isinstance(action, Finish):
        return None if certified(model, belief, action.claim) else "false_claim"
    if isinstance(action, (HandOff, Stop)):
        return None
    if _served(model.template, action) and harmed(model, belief, action):
        return "unsafe"
    return "not_offered" if not_offered(model.template, belief.time, action) else None


def _served(template: Template, action: Action) -> bool:
    """Whether somebody would carry an action out, offered or not, so that it can do harm."""
    if isinstance(action, Attempt):
        return action.obligation in template.obligations
    if isinstance(action, Compensate):
        known = action.obligation in template.obligations
        return known and template.contract(action.obligation).compensation is not None
    return isinstance(action, Revalidate) and not _no_renewal(template, action.approval)


def harmed(model: Model, belief: Belief, action: Action) -> list[tuple[int, Run]]:
    """Return the compatible worlds in which an action adds a violation, each with the run after it."""
    before = dict(belief.members)
    return [
        (world, after)
        for branch in model.step(belief, action).values()
        for world, after in branch.members
        if after is not before[world] and not after.violations <= before[world].violations
    ]


def not_offered(template: Template, now: int, action: Action) -> str:
    """Return why there is no such action at an instant, in a few words, or an empty text."""
    if isinstance(action, (HandOff, Finish, Stop)):
        return ""
    if now >= template.deadline:
        return "the deadline is here; finish, hand off or stop"
    if isinstance(action, Wait):
        left = template.deadline - now
        return "" if 1 <= action.instants <= left else f"wait between 1 and {left} instants"
    if isinstance(action, Revalidate):
        return _no_renewal(template, action.approval)
    if isinstance(action, Batch):
        return "one request for all of them was sent before, or some of it was done; send each by itself"
    if action.obligation not in template.obligations:
        return f"unknown obligation {action.obligation!r}{suggestion(action.obligation, template.obligations)}"
    return _no_request(template, now, action)


def _no_renewal(template: Template, approval: str) -> str:
    if approval not in template.approvals:
        return f"unknown approval {approval!r}{suggestion(approval, template.approvals)}"
    return "" if template.approvals[approval].renewal else f"approval {approval} cannot be renewed"


def _no_request(template: Template, now: int, action: Attempt | Compensate | Query) -> str:
    contract = template.contract(action.obligation)
    op = template.obligations[action.obligation].op
    if isinstance(action, Query):
        return "" if contract.query else f"{op} declares no query"
    if isinstance(action, Attempt):
        return ""
    terms = contract.compensation
    if terms is None:
        return f"{op} declares no compensation"
    late = terms.until is not None and now >= terms.until
    return f"the compensation of {op} was offered until {terms.until}" if late else ""


def offered(model: Model, belief: Belief) -> list[Action]:
    """Return the recovery actions a controller chooses among, endings left out, unchecked by the shield."""
    template, now = model.template, belief.time
    actions: list[Action] = []
    for name in template.obligations:
        actions += [*_requests(template, belief, name), Query(name)]
    actions += [Revalidate(name) for name in template.approvals if _renewable(belief, name)]
    actions += [Wait(instants) for instants in range(1, template.deadline - now + 1)]
    return [action for action in actions if not not_offered(template, now, action)]


def passing(model: Model, belief: Belief) -> tuple[Action, ...]:
    """Return the offered actions that the shield lets pass and that change what is known or what is so."""
    if belief.passing is None:
        belief.passing = tuple(
            action
            for action in offered(model, belief)
            if changes(model, belief, action) and admissible(model, belief, action)
        )
    return belief.passing


def changes(model: Model, belief: Belief, action: Action) -> bool:
    """Return whether an action leads anywhere else than to the same belief."""
    return any(branch is not belief for branch in model.step(belief, action).values())


def _requests(template: Template, belief: Belief, name: str) -> Iterator[Action]:
    contract = template.contract(name)
    for make, terms in ((Attempt, contract), (Compensate, contract.compensation)):
        if terms is None:
            continue
        undo = isinstance(terms, CompensationTerms)
        used = sent(belief.entries, name, undo)
        tries = sum(1 for request in used if request.recovery)
        if tries < MAX_TRIES:
            old = dict.fromkeys(r.key for r in used) if terms.deduplication is not None else {}
            yield from (make(name, key) for key in (*old, new_key(name, tries)))


def new_key(obligation: str, tries: int) -> str:
    """Return a key that nobody has used: the obligation and the number of the try."""
    return f"{obligation}-r{tries + 1}"


def sent(entries: tuple[Entry, ...], obligation: str, undo: bool) -> list[Request]:
    """Return the requests that were sent for an obligation, oldest first."""
    return [e for e in entries if isinstance(e, Request) and e.obligation == obligation and e.undo == undo]


def _renewable(belief: Belief, approval: str) -> bool:
    return sum(1 for e in belief.entries if isinstance(e, Renewal) and e.approval == approval) < MAX_TRIES
