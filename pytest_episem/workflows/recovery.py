"""A workflow's case as a world that any agent can play in (:class:`pytest_episem.episode.World`).

Around the machine that takes proposals, :mod:`pytest_episem.workflows.episode`: a call of a tool is one action.
Decisions where the protocol is silent:

- A call that is no action, by its name or its arguments, is rejected and is no proposal. A request for something that
  nobody approved is not carried out either, but it is kept for the outcome.
- A last message claims what its ``Disposition:`` line claims; a claim that is refused there is followed by a stop,
  for nothing can come after it. ``escalated`` hands off, naming nothing, where there is somebody, and else stops, as
  does whatever is no such line. Prose is not judged.
- An agent that says no last word has stopped; the ending's source says how that came. Where no answer was the agent's,
  the judgement says so: that nothing was done is then no choice of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from pytest_episem.episode import Abandonment, Call, Ending, Reply, ToolSpec, Unanswered
from pytest_episem.episode.last_line import disposition_line
from pytest_episem.errors import EpisemError, NoJudgement
from pytest_episem.workflows.actions import Action, Attempt, Batch, Compensate, Finish, HandOff, Step, Stop
from pytest_episem.workflows.adjudicator import disagreements
from pytest_episem.workflows.episode import PROPOSALS, Episode
from pytest_episem.workflows.giving_up import given_up
from pytest_episem.workflows.goal import goal_text
from pytest_episem.workflows.guidance import NONE, Guide, guidance_texts
from pytest_episem.workflows.instruction import INSTRUCTION
from pytest_episem.workflows.live import LiveEpisode, stage_of, troubles
from pytest_episem.workflows.model import Claim
from pytest_episem.workflows.support import Belief, EmptySupport, Model
from pytest_episem.workflows.tools import RejectedCall, Toolbox, UnapprovedCall
from pytest_episem.workflows.trial import Case, Judgement, Search, Unapproved

LAST_WORDS = ("completed", "withdrawn", "stopped", "escalated")
"""What the line of a last message may say."""


class Recovery:
    """A workflow that stopped half way, with one hidden truth.

    Args:
        model: the template's support.
        number: the number of the truth in the support.
        shield: refuse what is inadmissible, or execute and judge it.
        proposals: the cap; reaching it ends the episode as unknown.
        condition: the case, as it is recorded.
        guidance: what is told beside the answers (:mod:`pytest_episem.workflows.guidance`).
        live: begin before the trouble, and let it happen to the agent's own call (:mod:`pytest_episem.workflows.live`).

    Attributes:
        unapproved: requests so far that nobody approved.
        search: what the agent's choosing took, for an agent that tells.
    """

    instruction = INSTRUCTION
    answers: Mapping[str, str] = {word: word for word in (*LAST_WORDS, *get_args(Abandonment))} | {
        "claimed_completion": "completed"
    }

    def __init__(
        self,
        model: Model,
        number: int,
        *,
        shield: bool = True,
        proposals: int = PROPOSALS,
        condition: Case | None = None,
        guidance: str = NONE,
        live: bool = False,
    ) -> None:
        self.condition = condition
        self.unapproved: list[Unapproved] = []
        self.search = Search()
        self._guidance = guidance
        self._guides: Guide | None = None
        kind = LiveEpisode if live else Episode
        self._proposals: Episode | LiveEpisode = kind(model, number, shield=shield, proposals=proposals)
        self._template = self._proposals.model.template
        self._journal = model.template
        self._fault: EmptySupport | None = None
        self._ended: Ending | None = None

    @property
    def model(self) -> Model:
        """What is public, for agents that plan; where trouble comes live it changes with what is called."""
        return self._proposals.model

    @functools.cached_property
    def batches(self) -> tuple[tuple[str, ...], ...]:
        """The pieces of work that may be sent in one request."""
        return tuple(past.does for past in troubles(self._journal) if len(past.does) > 1) if self._live else ()

    @property
    def belief(self) -> Belief:
        """What is known so far: every world that fits all that was answered."""
        return self._proposals.belief

    @functools.cached_property
    def goal(self) -> str:
        """The request, and what is told beside it."""
        return "\n\n".join([goal_text(self._template, self._live), *guidance_texts(self._beside())])

    @functools.cached_property
    def _toolbox(self) -> Toolbox:
        return Toolbox(self._journal, self.batches)

    def _beside(self) -> dict[str, Any]:
        return self._guide.beside(self.belief) if self._proposals.terminal is None else {}

    @property
    def _live(self) -> bool:
        return isinstance(self._proposals, LiveEpisode)

    @property
    def _guide(self) -> Guide:
        """The guide of what is compatible now."""
        if self._guides is None or self._guides.model is not self.model:
            self._guides = Guide(self._guidance, self.model, self._toolbox)
        return self._guides

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools as the agent is told of them."""
        return self._toolbox.specs

    def call_for(self, action: Action) -> Call:
        """Return the call that means an action.

        Raises:
            EpisemError: no tool here does; a stop is a last message.
        """
        return self._toolbox.call(action)

    def call(self, name: str, arguments: Any, turn: int = 0) -> Reply:
        """Carry out one call of that turn."""
        try:
            action = self._toolbox.action(name, arguments, self.belief)
        except RejectedCall as fault:
            return Reply({"error": str(fault), **self._beside()}, None)
        except UnapprovedCall as fault:
            self.unapproved.append(Unapproved(turn, name, arguments))
            return Reply({"error": str(fault), "time": self.belief.time, **self._beside()}, "unapproved")
        try:
            step = self._proposals.propose(action)
        except EmptySupport as fault:  # not the agent's business: it must neither see nor swallow it
            self._fault = fault
            return Reply({"error": "The conversation has ended."}, action.kind, self._end(Stop(), None))
        refused = step.refused is not None
        return Reply(self._content(step), "refused" if refused else action.kind, self._ending(refused))

    def _content(self, step: Step) -> dict[str, Any]:
        shown = {"time": self.belief.time}
        if step.refused is not None:
            return {"refused": step.refused, **shown, **self._beside()}
        if isinstance(step.action, (Finish, HandOff)):
            return {"answer": "The case is closed.", **shown}
        key = {"idempotency_key": step.action.key} if isinstance(step.action, (Attempt, Compensate, Batch)) else {}
        return {**({"answer": step.answer} if step.answer else {}), **key, **shown, **self._beside()}

    def _ending(self, refused: bool) -> Ending | None:
        """How it ended if it did: a refused proposal ends it at the deadline, any proposal at the cap."""
        terminal = self._proposals.terminal
        if terminal is not None:
            late = refused and self.belief.time >= self.model.template.deadline
            source = None if terminal != "unknown" else "deadline" if late else "proposals"
            self._ended = Ending(terminal, source)
        return self._ended

    def finish(self, text: str, said: str | None = None) -> Ending:
        """End with the agent's last message; an adapter may say itself what it means."""
        if said in get_args(Abandonment):
            return self._end(Stop(), said)
        if said is not None:
            return self._end(self._last_word(said), "adapter")
        if not text.strip():
            return self.abandon("unfinished")
        line = disposition_line(text, LAST_WORDS)
        return self._end(Stop(), "text") if line is None else self._end(self._last_word(line), "line")

    def abandon(self, how: Abandonment, unanswered: Unanswered | None = None) -> Ending:
        """End without a last message: the agent has stopped; ``unanswered``: why, where it is not the agent's doing."""
        return self._end(Stop(), how, unanswered)

    def _last_word(self, word: str) -> Finish | HandOff | Stop:
        claims: dict[str, Claim] = {"completed": "completed", "withdrawn": "withdrawn"}
        if word in claims:
            return Finish(claims[word])
        return HandOff() if word == "escalated" and self.model.template.handoff is not None else Stop()

    def _end(self, action: Finish | HandOff | Stop, source: str | None, unanswered: Unanswered | None = None) -> Ending:
        for last in (action, Stop()):
            if self._proposals.terminal is None:
                self._proposals.propose(last)
        assert self._proposals.terminal is not None
        self._ended = Ending(self._proposals.terminal, source, unanswered)
        return self._ended

    def outcome(self, invalid: bool) -> Judgement:
        """Judge what was done; ``invalid``: some call of the episode was rejected.

        Raises:
            NoJudgement: a provider answered what its own contract rules out.
        """
        if self._fault is not None:
            raise NoJudgement(str(self._fault))
        assert self._ended is not None
        live = self._proposals.live if isinstance(self._proposals, LiveEpisode) else None
        trajectory = replace(self._proposals.trajectory(), given_up=given_up(stage_of(self._proposals)))
        faults = tuple(disagreements(self.model.template, trajectory))
        alone = len(trajectory.steps) == 1 and not (live is not None and live.steps)
        silent = self._ended.source == "unfinished" and alone and not self.unapproved
        unanswered = self._ended.unanswered or ("silent" if silent and not invalid else None)
        unapproved = tuple(self.unapproved)
        return Judgement(trajectory, faults, unapproved, invalid, self._ended.source, unanswered, self.search, live)


def recovery_of(episode: Any, agent: str) -> Recovery:
    """Return the world of an episode, for an agent that plays nothing but workflows.

    Raises:
        EpisemError: it is another suite's.
    """
    world = episode.world
    if not isinstance(world, Recovery):
        raise EpisemError(f"{agent} plays the workflows suite, and this is no case of it")
    return world
