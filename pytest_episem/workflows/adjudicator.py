"""Judging a recorded trajectory against its hidden truth (workflow protocol, section 2).

A second implementation on purpose: it shares no code with support, shield, certificate, episode or planners and
imports data classes only. It walks the clock instant by instant over provider objects that keep their own books, once
with the recorded actions and once without, and compares. It also gives every public answer again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pytest_episem.workflows.actions import (
    Attempt,
    Compensate,
    Finish,
    HandOff,
    Query,
    Revalidate,
    Step,
    Stop,
    Terminal,
    Wait,
)
from pytest_episem.workflows.model import PastRequest, Template
from pytest_episem.workflows.verdict import LedgerEntry, Trajectory, Verdict, Violation, ViolationKind
from pytest_episem.workflows.world import Again, Fate, World


def adjudicate(template: Template, trajectory: Trajectory) -> Verdict:
    """Return the verdict on a trajectory from its hidden world and its executed actions alone."""
    executed = [step for step in trajectory.steps if step.refused is None]
    acted = _Replay(template, trajectory.world, executed)
    idle = _Replay(template, trajectory.world, [])
    known = {(v.kind, v.obligation, v.request) for v in idle.books.wrongs}
    wrongs = sorted(set(acted.books.wrongs))
    new = tuple(v for v in wrongs if (v.kind, v.obligation, v.request) not in known)
    return Verdict(
        terminal=_terminal(template, trajectory, executed),
        goal=acted.books.fulfilled(template.deadline),
        claim_holds=_claim_holds(template, acted, executed, bool(new)),
        new=new,
        inherited=tuple(v for v in wrongs if v not in new),
        fee=acted.fee,
        actions=sum(1 for step in executed if not isinstance(step.action, (Finish, Stop))),
        time=acted.now - template.start,
    )


def disagreements(template: Template, trajectory: Trajectory) -> list[str]:
    """Return where a recorded trajectory differs from its own replay, in words; empty when it stands."""
    executed = [step for step in trajectory.steps if step.refused is None]
    acted = _Replay(template, trajectory.world, executed)
    found = [
        f"step {number}: answer {step.answer!r}, replayed {answer!r}"
        for number, (step, answer) in enumerate(zip(executed, acted.answers, strict=True), 1)
        if step.answer != answer
    ]
    if list(trajectory.ledger) != acted.books.ledger():
        found.append(f"ledger {trajectory.ledger}, replayed {acted.books.ledger()}")
    verdict = adjudicate(template, trajectory)
    if verdict != trajectory.verdict:
        found.append(f"verdict {trajectory.verdict}, replayed {verdict}")
    return found


def _terminal(template: Template, trajectory: Trajectory, executed: list[Step]) -> Terminal:
    last = executed[-1].action if executed else None
    if isinstance(last, Finish):
        return last.claim if trajectory.shield else "claim"
    return "handed_off" if isinstance(last, HandOff) and template.handoff is not None else "unknown"


def _claim_holds(template: Template, acted: _Replay, executed: list[Step], harmed: bool) -> bool | None:
    last = executed[-1].action if executed else None
    if not isinstance(last, Finish):
        return None
    ends = (template.deadline, acted.end)
    check = acted.books.fulfilled if last.claim == "completed" else acted.books.empty
    return not harmed and all(check(end) for end in ends)


@dataclass(eq=False)
class _Call:
    """A request as the provider's books know it; instants are ``None`` until they happen."""

    id: str
    obligation: str
    reverse: bool
    key: str
    fate: Fate
    known: bool = False
    taken: int | None = None
    refused: int | None = None
    done: int | None = None
    original: _Call | None = None
    approved: bool = True

    @property
    def name(self) -> tuple[str, bool, str]:
        """What a provider takes for the same request."""
        return self.obligation, self.reverse, self.key


@dataclass(eq=False)
class _Effect:
    call: _Call
    landed: int
    ordered: bool
    undone: int | None = None

    def stands(self, at: int) -> bool:
        return self.landed <= at and (self.undone is None or at < self.undone)


@dataclass
class _Books:
    """The effect history as it is written, and what was wrong with it."""

    names: list[str]
    effects: dict[str, list[_Effect]] = field(default_factory=lambda: defaultdict(list))
    order: list[_Effect] = field(default_factory=list)
    wrongs: list[Violation] = field(default_factory=list)

    def write(self, effect: _Effect) -> None:
        self.effects[effect.call.obligation].append(effect)
        self.order.append(effect)

    def open(self, name: str) -> list[_Effect]:
        return [effect for effect in self.effects[name] if effect.undone is None]

    def standing(self, name: str, at: int) -> list[_Effect]:
        return [effect for effect in self.effects[name] if effect.stands(at)]

    def fulfilled(self, at: int) -> bool:
        for name in self.names:
            standing = self.standing(name, at)
            if len(standing) != 1 or not standing[0].ordered or not standing[0].call.approved:
                return False
        return True

    def empty(self, at: int) -> bool:
        return not any(self.standing(name, at) for name in self.names)

    def blame(self, kind: ViolationKind, call: _Call, now: int) -> None:
        self.wrongs.append(Violation(kind, call.obligation, call.id, now))

    def ledger(self) -> list[LedgerEntry]:
        return [
            LedgerEntry(e.call.obligation, e.call.id, e.landed, e.undone, e.call.approved, e.ordered)
            for e in self.order
        ]


class _Replay:
    """The clock, walked from the first request of the history to the horizon, with some actions on the way."""

    def __init__(self, template: Template, world: World, steps: list[Step]) -> None:
        self.template = template
        self.world = world
        self.books = _Books(list(template.obligations))
        self.calls: list[_Call] = []
        self.renewed: dict[str, list[range]] = defaultdict(list)
        self.answers: list[str] = []
        self.recoveries = 0
        self.attempts: dict[str, int] = defaultdict(int)
        self.fee = 0
        self.end = _end(template, world)
        self._history()
        self.now = min([template.start, *(past.sent for past in template.history)])
        self._pass_until(template.start)
        for step in steps:
            self.answers.append(self._act(step))
        stopped = self.now
        self._pass_until(self.end)
        self.now = stopped

    def _history(self) -> None:
        for past in self.template.requests:
            fate = self.world.fates[past.id]
            for place, name in enumerate(past.does):
                own = fate
                if fate.prefix is not None:
                    whole = place < fate.prefix
                    own = Fate("effective" if whole else "never_effective", fate.arrives, fate.lands if whole else None)
                key = past.key if len(past.does) == 1 else f"{past.key}/{name}"
                self.calls.append(_Call(past.id, name, past.undoes, key, own, self._was_answered(past)))

    def _was_answered(self, past: PastRequest) -> bool:
        contract = self.template.contracts[self.template.obligations[past.does[0]].op]
        terms = contract.compensation if past.undoes and contract.compensation else contract
        unsaid = ("settled", "rejected") if terms.response == "final" else ()
        return past.answer in ("accepted", *(unsaid if terms.settles is None else terms.settles))

    def _pass_until(self, instant: int) -> None:
        """Let the clock run; what is due at an instant happens when the clock gets there."""
        self._due(self.now)
        while self.now < instant:
            self.now += 1
            self._due(self.now)

    def _due(self, now: int) -> None:
        """What is due happens in order of sending, or, where the world says so, what was sent last before the rest;
        what the history had answered was there before either."""
        calls = list(self.calls)
        if self.world.last_first:
            calls = [call for call in calls if call.known] + [call for call in reversed(calls) if not call.known]
        for call in calls:
            self._serve(call, now)

    def _serve(self, call: _Call, now: int) -> None:
        if call.fate.arrives == now and call.taken is None and call.refused is None and call.original is None:
            self._receive(call, now)
        if call.taken is not None and call.fate.lands == now and call.done is None and call.refused is None:
            self._land(call, now)

    def _receive(self, call: _Call, now: int) -> None:
        call.original = self._twin(call, now)
        if call.original is not None:
            return
        judged, enforced = self._authority(call)
        if judged == "acceptance":
            call.approved = self._approved(call.obligation, now)
        blocked = judged == "acceptance" and enforced and not call.approved
        if call.fate.kind == "rejected" or blocked:
            call.refused = now
        else:
            call.taken = now

    def _twin(self, call: _Call, now: int) -> _Call | None:
        contract = self.template.contracts[self.template.obligations[call.obligation].op]
        terms = contract.compensation if call.reverse else contract
        window = terms.deduplication if terms is not None else None
        if window is None:
            return None
        for other in self.calls:
            if other is call or other.name != call.name:
                continue
            if other.taken is not None and now in range(other.taken, other.taken + window):
                return other
        return None

    def _authority(self, call: _Call) -> tuple[str, bool]:
        terms = self.template.contracts[self.template.obligations[call.obligation].op].authorization
        if call.reverse:
            return "never", False
        return (terms.judged, terms.enforced) if terms is not None else ("effect", False)

    def _approved(self, obligation: str, now: int) -> bool:
        name = self.template.obligations[obligation].approval
        if name is None or any(now in span for span in self.renewed[name]):
            return True
        approval = self.template.approvals[name]
        return approval.start <= now and (approval.until is None or now < approval.until)

    def _land(self, call: _Call, now: int) -> None:
        judged, enforced = self._authority(call)
        if judged == "effect":
            call.approved = self._approved(call.obligation, now)
            if enforced and not call.approved:
                call.refused = now
                return
        call.done = now
        if call.reverse:
            self._reverse(call, now)
        else:
            self._take_effect(call, now)

    def _take_effect(self, call: _Call, now: int) -> None:
        needs = self.template.obligations[call.obligation].after
        ordered = not [need for need in needs if not self.books.open(need)]
        if self.books.open(call.obligation):
            self.books.blame("duplicate", call, now)
        if not call.approved:
            self.books.blame("unauthorised", call, now)
        if not ordered:
            self.books.blame("order", call, now)
        self.books.write(_Effect(call, now, ordered))

    def _reverse(self, call: _Call, now: int) -> None:
        present = self.books.open(call.obligation)
        if not present:
            self.books.blame("undo_nothing", call, now)
            return
        users = [name for name, o in self.template.obligations.items() if call.obligation in o.after]
        if len(present) == 1 and any(self.books.open(name) for name in users):
            self.books.blame("undo_needed", call, now)
        present[-1].undone = now

    def _act(self, step: Step) -> str:
        action = step.action
        if isinstance(action, Wait):
            self._pass_until(self.now + action.instants)
            return ""
        if isinstance(action, Query):
            return self._asked(action.obligation)
        if isinstance(action, Revalidate):
            return self._revalidated(action.approval)
        if isinstance(action, (Attempt, Compensate)):
            return self._requested(action.obligation, action.key, isinstance(action, Compensate))
        return ""

    def _revalidated(self, name: str) -> str:
        terms = self.template.approvals[name].renewal
        granted = self.world.renewals[name]
        self.recoveries += 1
        if terms is not None:
            self.fee += terms.fee
            if granted:
                self.renewed[name].append(range(self.now, self.now + terms.lasts))
        return "granted" if granted else "refused"

    def _requested(self, obligation: str, key: str, reverse: bool) -> str:
        op = self.template.obligations[obligation].op
        contract = self.template.contracts[op]
        service = self.world.services[f"undo {op}" if reverse else op]
        self.fee += contract.compensation.fee if reverse and contract.compensation else contract.fee
        self.recoveries += 1
        self.attempts[op] += not reverse
        again = self.world.again.get(op)
        if again is not None and again.kind != "none" and not reverse and self.attempts[op] == again.attempt:
            return self._unanswered(obligation, key, again)
        fate = self._served(service.kind, service.delay)
        call = _Call(f"r{self.recoveries}", obligation, reverse, key, fate)
        self.calls.append(call)
        self._serve(call, self.now)
        terms = contract.compensation if reverse and contract.compensation else contract
        if call.original is not None:
            return self._told(call.original, terms.response)
        if service.kind == "unsaid" or (call.refused is not None and (call.taken is None or terms.response == "final")):
            return "rejected"
        if terms.response == "final" and call.taken is not None and call.fate.lands not in (None, call.done, self.now):
            return self._scheduled(call.fate.lands)
        return self._told(call, terms.response)

    def _unanswered(self, obligation: str, key: str, again: Again) -> str:
        landed = Fate("effective", self.now + again.arrives, self.now + again.lands)
        fate = Fate("never_arrived") if again.kind == "lost" else landed
        call = _Call(f"r{self.recoveries}", obligation, False, key, fate)
        self.calls.append(call)
        self._serve(call, self.now)
        return "timeout"

    def _scheduled(self, lands: int | None) -> str:
        late = lands is not None and lands > self.template.deadline
        return f"settled after {self.template.deadline}" if late else f"settled at {lands}"

    def _served(self, kind: str, delay: int) -> Fate:
        if kind == "refused":
            return Fate("rejected", self.now)
        if kind == "lost":
            return Fate("never_effective", self.now)
        return Fate("effective", self.now, self.now + delay)

    def _told(self, call: _Call, response: str) -> str:
        if response == "final" and call.done is not None:
            return f"settled at {call.done}"
        if response == "final" and call.refused is not None:
            return "rejected"
        return f"accepted at {call.taken}"

    def _asked(self, obligation: str) -> str:
        op = self.template.obligations[obligation].op
        terms = self.template.contracts[op].query
        if terms is None:
            return "not offered"
        self.fee += terms.fee
        lag = self.world.lags[op] if terms.authority == "replica" else terms.lag or 0
        seen = self.now - lag
        if terms.scope == "state":
            return f"count {len(self.books.standing(obligation, seen))}"
        return self._statuses(obligation, seen)

    def _statuses(self, obligation: str, seen: int) -> str:
        lines: dict[str, str] = {}
        for call in self.calls:
            if call.obligation == obligation:
                name = f"undo {call.key}" if call.reverse else call.key
                lines[name] = self._better(lines.get(name, "absent"), self._status(call, seen))
        return "; ".join(f"{key} {status}" for key, status in lines.items()) or "nothing"

    def _better(self, old: str, new: str) -> str:
        """The status of a key used twice: the first that was settled, else acceptance before rejection."""
        rank = ["absent", "rejected", "accepted"]
        if old not in rank:
            return old
        if new not in rank:
            return new
        return max(old, new, key=rank.index)

    def _status(self, call: _Call, seen: int) -> str:
        if call.done is not None and call.done <= seen:
            gone = [e for e in self.books.effects[call.obligation] if e.call is call and not e.stands(seen)]
            return "undone" if gone else f"settled at {call.done}"
        if call.refused is not None and call.refused <= seen:
            return "rejected"
        return "accepted" if call.taken is not None and call.taken <= seen else "absent"


def _end(template: Template, world: World) -> int:
    """An instant after everything that can still happen: the latest of the world's own instants, and two bounds."""
    told = [at for fate in world.fates.values() for at in (fate.arrives, fate.lands) if at is not None]
    delays = [template.deadline + service.delay for service in world.services.values()]
    delays += [template.deadline + again.lands for again in world.again.values()]
    return max([template.deadline, *told, *delays]) + 1
