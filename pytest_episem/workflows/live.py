"""The trouble happens to the agent's own call (workflow protocol, section 5).

The journal form begins after the trouble; here the agent begins before it. The call that matches a request of the
journal takes its answer and its fate, relative to when it was sent, and what is compatible is worked out anew from
what was really called: the workflow goes on as one whose history the agent wrote itself.

Decisions where the protocol is silent:

- It begins when the first request of the journal was sent that got no answer, or one that proves nothing; what stands
  before it in the journal has been done.
- A call matches if it asks for the same work, under whatever key; requests may be matched in any order. Its answer
  takes as long as it took in the journal.
- Until a request is matched the services behave as in the recovery. Questions and harmless requests that were answered
  become history when the next one is matched. After anything else the rest of the trouble does not come.
- Trouble that was never met is named, and is neither success nor failure.
- Instants after the deadline are moved to those that stand for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import cast

from pytest_episem.workflows.actions import Action, Attempt, Batch, Compensate, Query, Step, Terminal, Wait
from pytest_episem.workflows.answers import past_answer, proves
from pytest_episem.workflows.episode import PROPOSALS, Episode
from pytest_episem.workflows.model import AnswerWord, PastQuery, PastRequest, Template
from pytest_episem.workflows.shield import fault_of
from pytest_episem.workflows.support import Belief, EmptySupport, Model
from pytest_episem.workflows.timeline import Request
from pytest_episem.workflows.verdict import Trajectory
from pytest_episem.workflows.world import Fate, World

Entry = PastRequest | PastQuery
KEPT = 64
"""How many supports of histories that agents wrote are kept for a workflow: each may choose keys of its own."""
LIMIT = 50_000
"""How many combinations may be enumerated for a history that an agent wrote."""


@dataclass(frozen=True, slots=True)
class Live:
    """What an agent did before the last trouble it met.

    Attributes:
        start: the instant at which it had that answer.
        history: what was sent and answered until then, the agent's own calls among it.
        steps: its proposals until then.
        met, unmet: the ids of the requests of the journal whose trouble came, and of those whose trouble did not.
    """

    start: int
    history: tuple[Entry, ...]
    steps: tuple[Step, ...] = ()
    met: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute


def troubles(template: Template) -> tuple[PastRequest, ...]:
    """Return the requests of a journal from the first on that got no answer, or one that proves nothing."""
    requests = template.requests
    for place, past in enumerate(requests):
        if past_answer(past) == "timeout" or not _settles(template, past):
            return requests[place:]
    return ()


def _settles(template: Template, past: PastRequest) -> bool:
    channel = template.channel(past.does[0], past.undoes)
    return past.answer != "accepted" and proves(channel, past_answer(past))


def before_trouble(template: Template) -> Template:
    """Return a workflow as it stood before its trouble."""
    coming = troubles(template)
    if not coming:
        return template
    history = tuple(itertools.takewhile(lambda entry: entry != coming[0], template.history))
    return replace(template, history=history, start=coming[0].sent)


def before(model: Model) -> Model:
    """Return the support of a workflow as it stood before its trouble."""
    return _model(model, before_trouble(model.template))


def as_played(model: Model, live: Live | None) -> Model:
    """Return the model of what an agent really met: of a case that was played live, of the history it wrote itself."""
    return model if live is None else _model(model, replace(model.template, history=live.history, start=live.start))


def _model(base: Model, template: Template) -> Model:
    if template == base.template:
        return base
    kept: dict[object, Model] = base.plans.setdefault("live", {})
    key = (template.start, template.history)
    if key not in kept:
        while len(kept) >= KEPT:
            del kept[next(iter(kept))]
        kept[key] = Model(template, LIMIT)
    return kept[key]


class LiveEpisode:
    """An episode that begins before the trouble; it is used as :class:`pytest_episem.workflows.episode.Episode` is.

    Args:
        model: the support of the journal form.
        world: the number of its truth.
        shield: refuse what is inadmissible, or execute and judge it.
        proposals: the cap on proposals in all.
    """

    def __init__(self, model: Model, world: int, *, shield: bool = True, proposals: int = PROPOSALS) -> None:
        self._base = model
        self._truth = model.worlds[world]
        self._proposals = proposals
        self._coming = list(troubles(model.template))
        self._past: tuple[Step, ...] = ()
        self._met: tuple[str, ...] = ()
        self._fates: dict[str, Fate] = {}
        self.shield = shield
        template = before_trouble(model.template)
        self._fates = {past.id: self._truth.fates[past.id] for past in template.requests}
        self.stage = self._begin(template)

    def _begin(self, template: Template) -> Episode:
        model = _model(self._base, template)
        number = _nearest(model, replace(self._truth, fates=dict(self._fates)))
        return Episode(model, number, shield=self.shield, proposals=self._proposals - len(self._past))

    @property
    def model(self) -> Model:
        """What is compatible with what was really called."""
        return self.stage.model

    @property
    def belief(self) -> Belief:
        """What is known so far."""
        return self.stage.belief

    @property
    def terminal(self) -> Terminal | None:
        """How it ended, if it did."""
        return self.stage.terminal

    @property
    def batches(self) -> list[tuple[str, ...]]:
        """The pieces of work whose one request has trouble to come."""
        return [past.does for past in self._coming if len(past.does) > 1]

    @property
    def live(self) -> Live:
        """What was done before the last trouble that was met."""
        template, unmet = self.model.template, tuple(past.id for past in self._coming)
        missed = tuple(past.id for past in troubles(self._base.template) if past.id not in (*self._met, *unmet))
        return Live(template.start, template.history, self._past, self._met, (*missed, *unmet))

    def trajectory(self) -> Trajectory:
        """Return the record of what came after the last trouble."""
        return self.stage.trajectory()

    def propose(self, action: Action) -> Step:
        """Take one proposal and return what came of it.

        Raises:
            EmptySupport: no compatible world answers so: the contract is broken.
        """
        past = self._matched(action)
        if past is not None and self._passes(action):
            return self._trouble(action, past)
        step = self.stage.propose(action)
        if step.refused is None and not _harmless(step):
            self._coming = []
        return step

    def _matched(self, action: Action) -> PastRequest | None:
        work = _work(action)
        return next((past for past in self._coming if work == (set(past.does), past.undoes)), None)

    def _passes(self, action: Action) -> bool:
        """Whether a call is made: harmful ones are nobody's trouble but the agent's."""
        belief, template = self.belief, self.model.template
        return belief.time < template.deadline and all(
            fault_of(self.model, belief, one) is None for one in _singly(action)
        )

    def _trouble(self, action: Action, past: PastRequest) -> Step:
        stage, now = self.stage, self.belief.time
        moved = now - past.sent
        own = replace(past, key=_key(action), sent=now, at=None if past.at is None else past.at + moved)
        step = Step(now, action, past_answer(own), stage.model.fee(action))
        self._coming.remove(past)
        self._met = (*self._met, past.id)
        self._fates |= dict(_fates_of(stage)) | {past.id: _moved(self._truth.fates[past.id], moved)}
        self._past = (*self._past, *stage.steps, step)
        history = (*stage.model.template.history, *_history(stage), own)
        start = min(now + _duration(self._base.template, past), self._base.template.deadline)
        self.stage = self._begin(replace(self._base.template, history=history, start=start))
        return step


def stage_of(episode: Episode | LiveEpisode) -> Episode:
    """Return the episode that came after the last trouble."""
    return episode.stage if isinstance(episode, LiveEpisode) else episode


def _work(action: Action) -> tuple[set[str], bool] | None:
    """Which work a request asks for, and whether to undo it."""
    if isinstance(action, Batch):
        return set(action.obligations), False
    if isinstance(action, (Attempt, Compensate)):
        return {action.obligation}, isinstance(action, Compensate)
    return None


def _singly(action: Action) -> Iterator[Action]:
    if isinstance(action, Batch):
        yield from (Attempt(name, f"{action.key}/{name}") for name in action.obligations)
    else:
        yield action


def _key(action: Action) -> str:
    assert isinstance(action, (Attempt, Compensate, Batch))
    return action.key


def _moved(fate: Fate, by: int) -> Fate:
    arrives, lands = (None if instant is None else instant + by for instant in (fate.arrives, fate.lands))
    return replace(fate, arrives=arrives, lands=lands)


def _duration(template: Template, past: PastRequest) -> int:
    """How long the answer to a request took: until the next entry of the journal, or until it ended."""
    later = template.history[template.history.index(past) + 1 :]
    return (later[0].sent if later else template.start) - past.sent


def _harmless(step: Step) -> bool:
    """Whether a step leaves the trouble to come, and can become history: a question, a wait, an answered request."""
    if isinstance(step.action, (Wait, Query)):
        return True
    word = step.answer.split(" ")
    settled = word[0] == "rejected" or (len(word) == 3 and word[1] == "at")
    return isinstance(step.action, Attempt) and step.fault is None and settled


def _history(stage: Episode) -> Iterator[Entry]:
    """The executed steps of a stage as entries of a journal, under ids that no template has."""
    sent, before = _recovery(stage), len(stage.model.template.history)
    for place, step in enumerate(stage.steps):
        if step.refused is not None:
            continue
        if isinstance(step.action, Query):
            yield PastQuery(
                id=f"asked-{before}-{place}", asks=step.action.obligation, sent=step.time, answer=step.answer
            )
        elif isinstance(step.action, Attempt):
            word, _, at = step.answer.partition(" at ")
            request = next(sent)
            yield PastRequest(
                id=request.id,
                does=(request.obligation,),
                key=request.key,
                sent=step.time,
                answer=cast(AnswerWord, word),
                at=int(at) if at else None,
            )


def _recovery(stage: Episode) -> Iterator[Request]:
    """The requests that an agent sent in a stage, in order, under ids that no template has."""
    before = len(stage.model.template.history)
    for number, entry in enumerate(stage.run.entries):
        if isinstance(entry, Request) and entry.recovery:
            yield replace(entry, id=f"own-{before}-{number}")


def _fates_of(stage: Episode) -> Iterator[tuple[str, Fate]]:
    return ((request.id, request.fate) for request in _recovery(stage))


def _nearest(model: Model, truth: World) -> int:
    """Return the number of the world that is a truth, its instants after the deadline moved to those that stand for
    them."""
    distances = ((_distance(model.template, world, truth), number) for number, world in enumerate(model.worlds))
    found = min((pair for pair in distances if pair[0] is not None), default=None)
    if found is None:
        raise EmptySupport(f"{model.template.id}: what was called leaves no world that fits")
    return found[1]


def _distance(template: Template, world: World, truth: World) -> int | None:
    """How far the late instants of two worlds lie apart; ``None`` if they differ in anything else."""
    left = template.deadline - template.start
    parts = [
        *_pairs(world.fates, truth.fates, template.deadline, ("arrives", "lands")),
        *_pairs(world.services, truth.services, left, ("delay",)),
        *_pairs(world.again, truth.again, left, ("arrives", "lands")),
    ]
    alike = (world.lags, world.renewals) == (truth.lags, truth.renewals)
    if not alike or None in parts:
        return None
    return 2 * sum(part for part in parts if part is not None) + (world.last_first != truth.last_first)


def _pairs(some: dict, others: dict, last: int, instants: tuple[str, ...]) -> Iterable[int | None]:  # type: ignore[type-arg]
    if some.keys() != others.keys():
        return [None]
    return [_apart(some[name], others[name], last, instants) for name in some]


def _apart(one: object, other: object, last: int, instants: tuple[str, ...]) -> int | None:
    """How far two fates, services or second troubles lie apart, of which only instants after the last may differ."""
    found = 0
    bare = dict.fromkeys(instants)
    if replace(one, **bare) != replace(other, **bare):  # type: ignore[type-var]
        return None
    for name in instants:
        a, b = getattr(one, name), getattr(other, name)
        if a != b:
            if a is None or b is None or min(a, b) <= last:
                return None
            found += abs(a - b)
    return found
