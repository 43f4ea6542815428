"""The compatible worlds, and how each action and its answer narrow them (workflow protocol, sections 1 and 2).

The support is derived from the template alone; nothing here knows the listed assignments. Every world of it
reproduces every public answer byte for byte. A belief is an instant and the worlds still compatible, each with the
run that its timeline leads to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from pytest_episem.errors import EpisemError
from pytest_episem.workflows import answers
from pytest_episem.workflows.actions import Action, Attempt, Batch, Compensate, Query, Revalidate, Wait
from pytest_episem.workflows.fates import again_of, fates_of, lags_of, lines, orders_of, renewals_of, services_of
from pytest_episem.workflows.model import PastQuery, PastRequest, Template
from pytest_episem.workflows.tail import answered
from pytest_episem.workflows.timeline import Entry, Renewal, Request, Run
from pytest_episem.workflows.world import Again, Fate, Service, World, line_of

MAX_WORLDS = 128
"""How many worlds a template of a bank may have."""
MAX_CANDIDATES = 5_000
"""How many combinations are enumerated at most before the history sorts them."""

T = TypeVar("T")
Member: TypeAlias = tuple[int, Run]
Branches: TypeAlias = dict[str, "Belief"]


class EmptySupport(EpisemError):
    """No world reproduces the public answers: the contract is broken, and nothing may be scored."""


class LargeSupport(EpisemError):
    """A template allows more combinations than can be enumerated."""


class Belief:
    """An instant and the compatible worlds, each as its number in the support and its run; equal by content."""

    __slots__ = ("_hash", "_steps", "key", "members", "passing", "time")

    def __init__(self, time: int, members: tuple[Member, ...]) -> None:
        self.time = time
        self.members = members
        self.key = (time, tuple((world, run.serial) for world, run in members))
        self._hash = hash(self.key)
        self._steps: dict[Action, Branches] = {}
        self.passing: tuple[Action, ...] | None = None
        """What the shield lets pass here, filled in by the shield."""

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Belief) and self.key == other.key

    def __len__(self) -> int:
        return len(self.members)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """A timeline of the belief; all its worlds agree on what was sent, when and under which key."""
        return self.members[0][1].entries


class Model:
    """A template's support and its dynamics; pure and deterministic, with everything computed once.

    Args:
        limit: how many combinations may be enumerated.

    Attributes:
        plans: what planners have worked out from it, each under a key of its own; for others that play it later.

    Raises:
        EmptySupport: no world reproduces the history.
        LargeSupport: more than ``limit`` combinations.
    """

    def __init__(self, template: Template, limit: int = MAX_CANDIDATES) -> None:
        self.template = template
        self.plans: dict[object, Any] = {}
        self._serials = itertools.count()
        self._beliefs: dict[object, Belief] = {}
        worlds: list[World] = []
        runs: list[Run] = []
        for world in candidates(template, limit):
            run = self.start(world)
            if self.reproduces(world, run):
                worlds.append(world)
                runs.append(run)
        if not worlds:
            raise EmptySupport(f"{template.id}: no world that the contracts allow reproduces the history")
        self.worlds: tuple[World, ...] = tuple(worlds)
        self.initial: tuple[Run, ...] = tuple(runs)
        self.root = self._belief(template.start, tuple(enumerate(runs)))

    def start(self, world: World) -> Run:
        """Return the run of a world without any recovery action."""
        return self._maker(world)(initial_entries(self.template, world))

    def _maker(self, world: World) -> Callable[[tuple[Entry, ...]], Run]:
        return self._run_last_first if world.last_first else self._run

    def _run(self, entries: tuple[Entry, ...]) -> Run:
        return Run(next(self._serials), self.template, entries)

    def _run_last_first(self, entries: tuple[Entry, ...]) -> Run:
        return Run(next(self._serials), self.template, entries, last_first=True)

    def _belief(self, time: int, members: tuple[Member, ...]) -> Belief:
        belief = Belief(time, members)
        return self._beliefs.setdefault(belief.key, belief)

    def reproduces(self, world: World, run: Run) -> bool:
        """Return whether a world gives every answer of the history."""
        return all(request_answered(self.template, run, request) for request in self.template.requests) and all(
            self.shown(world, self._until(world, run, query), query.asks, query.sent) == query.answer
            for query in self.template.queries
        )

    def _until(self, world: World, run: Run, query: PastQuery) -> Run:
        """The run of what stood in the history when a question was asked: of one instant, what was sent before it."""
        history = self.template.history
        before = sum(len(past.does) for past in history[: history.index(query)] if isinstance(past, PastRequest))
        return run if before == len(run.entries) else self._maker(world)(run.entries[:before])

    def index_of(self, world: World) -> int | None:
        """Return the number of a world in the support, or ``None``."""
        return next((i for i, found in enumerate(self.worlds) if found == world), None)

    def step(self, belief: Belief, action: Action) -> Branches:
        """Return the beliefs after an executed action, by the answer that leads to each, in order of the worlds."""
        found = belief._steps.get(action)
        if found is None:
            time = belief.time + (action.instants if isinstance(action, Wait) else 0)
            parts: dict[str, list[Member]] = {}
            for world, run in belief.members:
                answer, after = self.execute(self.worlds[world], run, belief.time, action)
                parts.setdefault(answer, []).append((world, after))
            found = {answer: self._belief(time, tuple(members)) for answer, members in parts.items()}
            belief._steps[action] = found
        return found

    def execute(self, world: World, run: Run, now: int, action: Action) -> tuple[str, Run]:
        """Return the answer to an action in one world, and the run that follows."""
        if isinstance(action, (Attempt, Compensate)):
            return self._request(world, run, now, action)
        if isinstance(action, Query):
            return self.shown(world, run, action.obligation, now), run
        if isinstance(action, Revalidate):
            granted = world.renewals[action.approval]
            after = run.then(Renewal(action.approval, now, granted), self._maker(world))
            return (answers.GRANTED if granted else answers.REFUSED), after
        return "", run

    def _request(self, world: World, run: Run, now: int, action: Attempt | Compensate) -> tuple[str, Run]:
        undo = isinstance(action, Compensate)
        service = world.services[line_of(self.template.obligations[action.obligation].op, undo)]
        again = None if undo else self._again(world, run, action.obligation)
        fate = _unanswered(again, now) if again is not None else _served(service, now)
        request = Request(f"r{run.recoveries + 1}", action.obligation, undo, action.key, fate, recovery=True, sent=now)
        after = run.then(request, self._maker(world))
        if again is not None:
            return answers.TIMEOUT, after
        index = len(after.entries) - 1
        answer = answers.reply(after, index, self.template.channel(action.obligation, undo), now)
        trace = after.traces[index]
        if service.kind == "unsaid" and trace is not None and trace.repeats is None:
            answer = answers.REJECTED
        return answer, after

    def _again(self, world: World, run: Run, obligation: str) -> Again | None:
        """Return the second trouble that strikes the next attempt, if it does."""
        op = self.template.obligations[obligation].op
        mode = world.again.get(op)
        if mode is None or mode.kind == "none":
            return None
        tries = sum(
            isinstance(entry, Request)
            and entry.recovery
            and not entry.undo
            and self.template.obligations[entry.obligation].op == op
            for entry in run.entries
        )
        return mode if tries + 1 == mode.attempt else None

    def shown(self, world: World, run: Run, obligation: str, now: int) -> str:
        """Return what a question about an obligation shows in one world at an instant."""
        op = self.template.obligations[obligation].op
        terms = self.template.contracts[op].query
        if terms is None:
            return answers.UNAVAILABLE
        upto = now - world.lags.get(op, terms.lag or 0)
        show = answers.count_shown if terms.scope == "state" else answers.history_shown
        return show(run, obligation, upto)

    def fee(self, action: Action) -> int:
        """Return what an executed action costs."""
        template = self.template
        if isinstance(action, (Attempt, Compensate)):
            return template.channel(action.obligation, isinstance(action, Compensate)).fee
        if isinstance(action, Batch):
            return template.channel(action.obligations[0], False).fee
        if isinstance(action, Query):
            query = template.contract(action.obligation).query
            return query.fee if query else 0
        if isinstance(action, Revalidate):
            renewal = template.approvals[action.approval].renewal
            return renewal.fee if renewal else 0
        return 0


def _served(service: Service, now: int) -> Fate:
    kinds = {"refused": Fate("rejected", now), "lost": Fate("never_effective", now)}
    return kinds.get(service.kind) or Fate("effective", now, now + service.delay)


def _unanswered(again: Again, now: int) -> Fate:
    if again.kind == "lost":
        return Fate("never_arrived")
    return Fate("effective", now + again.arrives, now + again.lands)


def initial_entries(template: Template, world: World) -> tuple[Entry, ...]:
    """Return the timeline of the history in one world."""
    return tuple(
        Request(
            past.id,
            name,
            past.undoes,
            past.item_key(name),
            world.fates[past.id].item(position),
            sent=past.sent,
            pending=not answered(template.channel(name, past.undoes), past),
        )
        for past in template.requests
        for position, name in enumerate(past.does)
    )


def request_answered(template: Template, run: Run, request: PastRequest) -> bool:
    """Return whether a run gives the answer that the history shows for a past request."""
    shown = answers.past_answer(request)
    channel = template.channel(request.does[0], request.undoes)
    if shown == answers.TIMEOUT or not answers.proves(channel, shown):
        return True
    return all(answer == shown for answer in produced(template, run, request))


def produced(template: Template, run: Run, request: PastRequest) -> Iterator[str]:
    """Yield what a provider itself answers to each item of a past request, had the answer not been lost."""
    channel = template.channel(request.does[0], request.undoes)
    for index, entry in enumerate(run.entries):
        if isinstance(entry, Request) and entry.id == request.id and not entry.recovery:
            trace, arrives = run.traces[index], entry.fate.arrives
            repeat = trace is not None and trace.repeats is not None
            now = arrives if repeat and arrives is not None else template.horizon
            yield answers.reply(run, index, channel, now)


def candidates(template: Template, limit: int = MAX_CANDIDATES) -> Iterator[World]:
    """Yield every combination of fates, services, lags, renewals, second troubles and orders that the contracts allow.

    Raises:
        LargeSupport: there are more than ``limit``.
    """
    ops = dict.fromkeys(obligation.op for obligation in template.obligations.values())
    fates = {request.id: _plausible(template, request) for request in template.requests}
    services = {line: services_of(template, channel) for line, channel in lines(template).items()}
    lags = {op: found for op in ops if (found := lags_of(template, op))}
    renewals = {name: granted for name in template.approvals if (granted := renewals_of(template, name))}
    orders = orders_of(template)
    again = {op: modes for op in ops if (modes := again_of(template, op))}
    dimensions = (fates, services, lags, renewals, again, {"": orders})
    if math.prod(len(choice) for dimension in dimensions for choice in dimension.values()) > limit:
        raise LargeSupport(f"{template.id}: more than {limit} combinations of fates and services")
    for one in _combinations(fates):
        for two in _combinations(services):
            for three in _combinations(lags):
                for four in _combinations(renewals):
                    for five in _combinations(again):
                        yield from (World(one, two, three, four, order, five) for order in orders)


def _combinations(choices: Mapping[str, Sequence[T]]) -> Iterator[dict[str, T]]:
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def _plausible(template: Template, request: PastRequest) -> list[Fate]:
    """The fates of a request, without those that its own answer rules out whatever else happened."""
    fates = fates_of(template, request)
    channel = template.channel(request.does[0], request.undoes)
    if answered(channel, request):
        fates = [fate for fate in fates if fate.arrives is not None and fate.arrives <= template.start]
    shown = answers.past_answer(request)
    authorization = template.contract(request.does[0]).authorization
    fluid = channel.deduplication is not None or (authorization is not None and authorization.enforced)
    if fluid or not answers.proves(channel, shown):
        return fates
    return [fate for fate in fates if _fits(fate, shown)]


def _fits(fate: Fate, shown: str) -> bool:
    if shown == answers.REJECTED:
        return fate.kind == "rejected"
    if fate.arrives is not None and shown == answers.accepted(fate.arrives):
        return fate.kind in ("effective", "never_effective")
    return fate.lands is not None and fate.prefix is None and shown == answers.settled(fate.lands)
