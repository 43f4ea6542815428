"""A second reading of the workflow protocol for the tests of tails: every instant is looked at.

It imports the public terms of a workflow and nothing else of the engine: fates, services, orders, effects, answers,
harm and certificates are worked out here once more, slowly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pytest_episem.workflows.actions import Action, Attempt, Compensate, Query, Revalidate, Wait
from pytest_episem.workflows.model import PastRequest, Template

NEVER = None


@dataclass(frozen=True)
class Sent:
    """A request that somebody sent: ``lands`` is ``NEVER`` where it is accepted for nothing."""

    id: str
    name: str
    undo: bool
    key: str
    sent: int
    ours: bool
    known: bool
    arrives: int | None
    lands: int | None
    refused: bool = False


@dataclass(frozen=True)
class Truth:
    """A hidden truth: the requests of the past, and by operation how new ones are served."""

    past: tuple[Sent, ...]
    services: dict[str, tuple[str, int]]
    renewals: dict[str, bool]
    backwards: bool
    done: tuple[Any, ...] = ()
    again: dict[str, tuple[int, str, int, int]] | None = None
    """By operation: which of our attempts meets trouble, what becomes of it, when it arrives and takes effect."""


def sizes(template: Template) -> int:
    """The sum of all constants of a workflow."""
    total = 0
    for contract in template.contracts.values():
        for terms in (contract, contract.compensation):
            if terms is not None:
                total += (terms.arrival or 0) + (terms.commit_bound or 0) + (terms.deduplication or 0)
        if contract.again is not None:
            total += (contract.again.arrival or 0) + (contract.again.commit_bound or 0)
    for approval in template.approvals.values():
        total += approval.start + (approval.until or 0) + (approval.renewal.lasts if approval.renewal else 0)
    return total


def unbounded(template: Template) -> int:
    """How many requests, or ways of serving them, nothing bounds."""
    count = 0
    for past in template.requests:
        terms = template.channel(past.does[0], past.undoes)
        count += past.answer == "timeout" and (terms.arrival is None or terms.commit_bound is None)
        count += past.answer == "accepted" and terms.commit_bound is None
    for contract in template.contracts.values():
        count += contract.commit_bound is None
        count += contract.compensation is not None and contract.compensation.commit_bound is None
        again = contract.again
        count += again is not None and (again.arrival is None or again.commit_bound is None)
    return count


class TooManyTruths(Exception):
    """More truths than a test may walk through."""


def truths(template: Template, limit: int) -> list[Truth]:
    """Return every truth, to the last instant, that gives the answers of the history.

    Without any constant what nothing bounds can still come one after the other, so there is room for each.
    """
    end = template.deadline + (unbounded(template) + 1) * max(1, sizes(template))
    pasts = [list(_past(template, request, end)) for request in template.requests]
    services = {line: list(_services(terms, end)) for line, terms in _lines(template).items()}
    renewals = {
        name: [True] if approval.renewal.answer == "granted" else [True, False]
        for name, approval in template.approvals.items()
        if approval.renewal is not None
    }
    again = {op: list(_again(contract.again, end)) for op, contract in template.contracts.items() if contract.again}
    size = 2
    for choice in (*pasts, *services.values(), *renewals.values(), *again.values()):
        size *= len(choice)
    if size > limit:
        raise TooManyTruths
    found = []
    for past in itertools.product(*pasts):
        for served in itertools.product(*services.values()):
            for granted in itertools.product(*renewals.values()):
                for trouble in itertools.product(*again.values()):
                    for backwards in (False, True):
                        truth = Truth(
                            tuple(itertools.chain(*past)),
                            dict(zip(services, served, strict=True)),
                            dict(zip(renewals, granted, strict=True)),
                            backwards,
                            again=dict(zip(again, trouble, strict=True)),
                        )
                        if _fits(template, truth):
                            found.append(truth)
    return found


def _lines(template: Template) -> dict[str, Any]:
    lines: dict[str, Any] = {}
    for obligation in template.obligations.values():
        contract = template.contracts[obligation.op]
        lines[obligation.op] = contract
        if contract.compensation is not None:
            lines["undo " + obligation.op] = contract.compensation
    return lines


def _proofs(terms: Any) -> tuple[str, ...]:
    if terms.settles is not None:
        return (*terms.settles, "accepted")
    return ("settled", "rejected", "accepted") if terms.response == "final" else ("accepted",)


def _past(template: Template, request: PastRequest, end: int) -> Iterator[list[Sent]]:
    contract = template.contracts[template.obligations[request.does[0]].op]
    terms = contract.compensation if request.undoes else contract
    assert terms is not None
    assert len(request.does) == 1
    name = request.does[0]
    known = request.answer in _proofs(terms)

    def sent(arrives: int | None, lands: int | None, refused: bool = False) -> list[Sent]:
        return [
            Sent(request.id, name, request.undoes, request.key, request.sent, False, known, arrives, lands, refused)
        ]

    if not known:
        yield sent(None, None)
    if terms.attempts == "may_fail":
        yield sent(request.sent, None, refused=True)
    last = end if terms.arrival is None else request.sent + terms.arrival
    for arrives in range(request.sent, (template.start if known else last) + 1):
        if arrives > last:
            break
        if terms.attempts == "may_fail":
            yield sent(arrives, NEVER)
        latest = end if terms.commit_bound is None else arrives + terms.commit_bound
        for lands in range(arrives, latest + 1):
            yield sent(arrives, lands)


def _again(terms: Any, end: int) -> Iterator[tuple[int, str, int, int]]:
    yield 0, "none", 0, 0
    for attempt in (1, 2):
        yield attempt, "lost", 0, 0
        for arrives in range((end if terms.arrival is None else terms.arrival) + 1):
            latest = end if terms.commit_bound is None else arrives + terms.commit_bound
            for lands in range(arrives, latest + 1):
                yield attempt, "landed", arrives, lands


def _services(terms: Any, end: int) -> Iterator[tuple[str, int]]:
    latest = end if terms.commit_bound is None else terms.commit_bound
    for delay in range(latest + 1):
        yield "lands", delay
    if terms.attempts == "settle":
        return
    if "rejected" in _proofs(terms):
        yield "refused", 0
    elif terms.response == "final":
        yield "refused", 0
        for delay in range(latest + 1):
            yield "unsaid", delay
    if terms.response == "receipt":
        yield "lost", 0


@dataclass
class Told:
    """What became of one request."""

    accepted: int | None = None
    refused: int | None = None
    done: int | None = None
    repeats: Sent | None = None
    authorised: bool = True


@dataclass
class Effect:
    """One entry of the books."""

    sent: Sent
    at: int
    ordered: bool
    undone: int | None = None


class Books:
    """All that ever happens in a truth if nothing more is done."""

    def __init__(self, template: Template, truth: Truth) -> None:
        self.template = template
        self.requests = [*truth.past, *(one for one in truth.done if isinstance(one, Sent))]
        self.told = {id(one): Told() for one in self.requests}
        self.effects: list[Effect] = []
        self.wrongs: set[tuple[str, str, str]] = set()
        self.valid: list[tuple[str, int, int]] = []
        instants = {at for one in self.requests for at in (one.arrives, one.lands) if at is not None}
        instants |= {at for one in truth.done if not isinstance(one, Sent) for at in [one[1]]}
        for now in sorted(instants):
            due = [one for one in self.requests if not (one.ours and one.sent == now)]
            if truth.backwards:
                due = [one for one in due if one.known] + [one for one in due if not one.known][::-1]
            for one in due:
                self._move(one, now)
            for one in truth.done:
                if isinstance(one, Sent):
                    if one.sent == now:
                        self._move(one, now)
                elif one[1] == now and one[2]:
                    lasts = self.template.approvals[one[0]].renewal
                    assert lasts is not None
                    self.valid.append((one[0], now, now + lasts.lasts))

    def _terms(self, one: Sent) -> Any:
        contract = self.template.contracts[self.template.obligations[one.name].op]
        return contract.compensation if one.undo else contract

    def _move(self, one: Sent, now: int) -> None:
        told = self.told[id(one)]
        if one.arrives == now:
            self._arrive(one, told, now)
        if one.lands == now and told.accepted is not None:
            self._land(one, told, now)

    def _arrive(self, one: Sent, told: Told, now: int) -> None:
        window = self._terms(one).deduplication
        for other in self.requests:
            same = (other.name, other.undo, other.key) == (one.name, one.undo, one.key)
            since = self.told[id(other)].accepted
            if other is not one and same and window and since is not None and since <= now < since + window:
                told.repeats = other
                return
        if self._barred(one, told, "acceptance", now) or one.refused:
            told.refused = now
        else:
            told.accepted = now

    def _barred(self, one: Sent, told: Told, when: str, now: int) -> bool:
        rule = self.template.contracts[self.template.obligations[one.name].op].authorization
        if one.undo or when != (rule.judged if rule else "effect"):
            return False
        name = self.template.obligations[one.name].approval
        if name is not None:
            dates = self.template.approvals[name]
            inside = dates.start <= now and (dates.until is None or now < dates.until)
            told.authorised = inside or any(a == name and b <= now < c for a, b, c in self.valid)
        return bool(rule and rule.enforced and not told.authorised)

    def _land(self, one: Sent, told: Told, now: int) -> None:
        if self._barred(one, told, "effect", now):
            told.refused = now
            return
        told.done = now
        standing = [effect for effect in self.effects if effect.sent.name == one.name and effect.undone is None]
        if one.undo:
            if not standing:
                self.wrongs.add(("undo_nothing", one.name, one.id))
                return
            users = [name for name, o in self.template.obligations.items() if one.name in o.after]
            if len(standing) == 1 and any(self.standing(name, now) for name in users):
                self.wrongs.add(("undo_needed", one.name, one.id))
            standing[-1].undone = now
            return
        ordered = all(self.standing(need, now) for need in self.template.obligations[one.name].after)
        for kind, wrong in (("duplicate", standing), ("unauthorised", not told.authorised), ("order", not ordered)):
            if wrong:
                self.wrongs.add((kind, one.name, one.id))
        self.effects.append(Effect(one, now, ordered))

    def standing(self, name: str, at: int) -> list[Effect]:
        return [e for e in self.effects if e.sent.name == name and e.at <= at and (e.undone is None or e.undone > at)]

    def goal(self, at: int) -> bool:
        for name in self.template.obligations:
            found = self.standing(name, at)
            if len(found) != 1 or not found[0].ordered or not self.told[id(found[0].sent)].authorised:
                return False
        return True

    def empty(self, at: int) -> bool:
        return not any(self.standing(name, at) for name in self.template.obligations)


FOREVER = 10**6


def _fits(template: Template, truth: Truth) -> bool:
    books = Books(template, truth)
    for request in template.requests:
        one = next(sent for sent in truth.past if sent.id == request.id)
        if one.known and _answer(books, one, FOREVER if books.told[id(one)].repeats is None else one.arrives or 0) != (
            request.answer if request.at is None else f"{request.answer} at {request.at}"
        ):
            return False
    return all(shown(template, truth, query.asks, query.sent) == query.answer for query in template.queries)


def _answer(books: Books, one: Sent, now: int) -> str:
    told = books.told[id(one)]
    final = books._terms(one).response == "final"
    if told.repeats is not None:
        told, final_now, receipt = books.told[id(told.repeats)], final, True
    else:
        final_now, receipt = final, not final
        if final and told.accepted is not None and one.lands is not None and one.lands > now:
            deadline = books.template.deadline
            return f"settled at {one.lands}" if one.lands <= deadline else f"settled after {deadline}"
    if told.accepted is None:
        return "timeout" if told.refused is None else "rejected"
    if final_now and told.done is not None and told.done <= now:
        return f"settled at {told.done}"
    if final_now and told.refused is not None and told.refused <= now:
        return "rejected"
    return f"accepted at {told.accepted}" if receipt else "timeout"


def shown(template: Template, truth: Truth, name: str, now: int) -> str:
    """Return what an authoritative question shows; one without lag."""
    query = template.contracts[template.obligations[name].op].query
    assert query is not None
    assert query.authority == "authoritative"
    seen = now - (query.lag or 0)
    books = Books(template, truth)
    if query.scope == "state":
        return f"count {len(books.standing(name, seen))}"
    lines: dict[str, str] = {}
    for one in books.requests:
        if one.name == name:
            key = f"undo {one.key}" if one.undo else one.key
            lines[key] = _better(lines.get(key, "absent"), _status(books, one, seen))
    return "; ".join(f"{key} {status}" for key, status in lines.items()) or "nothing"


def _status(books: Books, one: Sent, seen: int) -> str:
    told = books.told[id(one)]
    if told.done is not None and told.done <= seen:
        gone = [e for e in books.effects if e.sent is one and not (e.undone is None or e.undone > seen)]
        return "undone" if gone else f"settled at {told.done}"
    if told.refused is not None and told.refused <= seen:
        return "rejected"
    return "accepted" if told.accepted is not None and told.accepted <= seen else "absent"


def _better(old: str, new: str) -> str:
    ranks = ["absent", "rejected", "accepted"]
    if old not in ranks:
        return old
    return new if new not in ranks else max(old, new, key=ranks.index)


def act(template: Template, truth: Truth, now: int, action: Action) -> tuple[str, Truth]:
    """Return the answer to an action at an instant, and the truth with what was done."""
    if isinstance(action, Query):
        return shown(template, truth, action.obligation, now), truth
    if isinstance(action, Revalidate):
        granted = truth.renewals[action.approval]
        done = (*truth.done, (action.approval, now, granted))
        return ("granted" if granted else "refused"), replace(truth, done=done)
    if isinstance(action, Wait):
        return "", truth
    assert isinstance(action, (Attempt, Compensate))
    undo = isinstance(action, Compensate)
    op = template.obligations[action.obligation].op
    kind, delay = truth.services["undo " + op if undo else op]
    ours = [one for one in truth.done if isinstance(one, Sent) and not one.undo]
    tries = 1 + sum(template.obligations[one.name].op == op for one in ours)
    attempt, trouble, later, effect = (truth.again or {}).get(op, (0, "none", 0, 0))
    if not undo and attempt == tries:
        lost = trouble == "lost"
        times = (None, None) if lost else (now + later, now + effect)
        silent = Sent(f"r{len(truth.done) + 1}", action.obligation, False, action.key, now, True, False, *times)
        return "timeout", replace(truth, done=(*truth.done, silent))
    one = Sent(
        f"r{len(truth.done) + 1}",
        action.obligation,
        undo,
        action.key,
        now,
        True,
        False,
        now,
        now + delay if kind in ("lands", "unsaid") else NEVER,
        kind == "refused",
    )
    after = replace(truth, done=(*truth.done, one))
    books = Books(template, after)
    answer = _answer(books, one, now)
    if kind == "unsaid" and books.told[id(one)].repeats is None:
        answer = "rejected"
    return answer, after


def wrongs(template: Template, truth: Truth) -> set[tuple[str, str, str]]:
    return Books(template, truth).wrongs


def harmless(template: Template, compatible: list[Truth], now: int, action: Action) -> bool:
    """Return whether an action adds no violation in any compatible truth."""
    return all(
        wrongs(template, act(template, truth, now, action)[1]) <= wrongs(template, truth) for truth in compatible
    )


def certain(template: Template, compatible: list[Truth], claim: str) -> bool:
    """Return whether a claim holds in every compatible truth, at the deadline and for ever."""
    if claim not in template.ends:
        return False
    for truth in compatible:
        books = Books(template, truth)
        holds = books.goal if claim == "completed" else books.empty
        idle = wrongs(template, replace(truth, done=()))
        if not (holds(template.deadline) and holds(FOREVER)) or books.wrongs - idle:
            return False
    return True
