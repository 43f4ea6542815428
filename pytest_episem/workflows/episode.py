"""One episode: an agent's proposals, the shield, the hidden truth and the record (workflow protocol, section 2).

Decisions where the protocol is silent:

- A refused proposal uses a turn: it counts towards the proposal cap. It changes nothing else, and what was wrong with
  it is recorded.
- With the shield off, everything offered is executed, and a finish ends as ``claim`` whether or not it is true; what
  was wrong with a proposal, and whether the claim was certain when it was made, is recorded all the same.
- A finish that is refused does not end the episode. The clock reaching the deadline ends it only when something else
  than finish, hand-off or stop is proposed there.
"""

from __future__ import annotations

from dataclasses import replace

from pytest_episem.workflows.actions import ENDINGS, Action, Fault, Finish, HandOff, Step, Stop, Terminal, Wait
from pytest_episem.workflows.certificate import certified, inherited_violations, new_violations
from pytest_episem.workflows.refusal import refusal
from pytest_episem.workflows.shield import fault_of, not_offered
from pytest_episem.workflows.support import Belief, EmptySupport, Model
from pytest_episem.workflows.timeline import Run
from pytest_episem.workflows.verdict import Trajectory, Verdict
from pytest_episem.workflows.world import World

PROPOSALS = 40


class Episode:
    """A template with one hidden truth, run by proposals until a terminal is reached.

    Args:
        model: the template's support.
        world: the number of the truth in the support.
        shield: refuse what is inadmissible, or execute and judge it.
        proposals: the cap; reaching it ends the episode as unknown.
    """

    def __init__(self, model: Model, world: int, *, shield: bool = True, proposals: int = PROPOSALS) -> None:
        self.model = model
        self.world = world
        self.shield = shield
        self.proposals = proposals
        self.belief: Belief = model.root
        self.terminal: Terminal | None = None
        self.steps: list[Step] = []
        self.certifiable = False
        self._run: Run = model.initial[world]
        self._claim: Finish | None = None
        self._certain: bool | None = None

    @property
    def run(self) -> Run:
        """What has happened, and what follows from it; for adjudication, never for an agent."""
        return self._run

    @property
    def truth(self) -> World:
        """The hidden world; for adjudication, never for an agent."""
        return self.model.worlds[self.world]

    def propose(self, action: Action) -> Step:
        """Take one proposal and return what came of it; after a terminal there is nothing to propose."""
        if self.terminal is not None:
            raise ValueError("the episode has ended")
        fault = fault_of(self.model, self.belief, action)
        step = self._refuse(action, fault) or replace(self._execute(action), fault=fault)
        self.steps.append(step)
        if self.terminal is None and len(self.steps) >= self.proposals:
            self._end("unknown")
        return step

    def _refuse(self, action: Action, fault: Fault | None) -> Step | None:
        now = self.belief.time
        if now >= self.model.template.deadline and not isinstance(action, ENDINGS):
            self._end("unknown")
        elif fault is None or (not self.shield and not not_offered(self.model.template, now, action)):
            return None
        return Step(now, action, refused=refusal(self.model, self.belief, action), fault=fault)

    def _execute(self, action: Action) -> Step:
        now = self.belief.time
        if isinstance(action, (HandOff, Finish, Stop)):
            self._finish(action)
            return Step(now, action)
        answer, after = self.model.execute(self.truth, self._run, now, action)
        belief = self.model.step(self.belief, action).get(answer)
        if belief is None:
            raise EmptySupport(f"{self.model.template.id}: no compatible world answers {answer!r} at {now}")
        self._run, self.belief = after, belief
        return Step(now, action, answer, self.model.fee(action))

    def _finish(self, action: HandOff | Finish | Stop) -> None:
        if isinstance(action, Finish):
            self._claim = action
            self._certain = certified(self.model, self.belief, action.claim)
            self._end(action.claim if self.shield else "claim")
        elif isinstance(action, HandOff) and self.model.template.handoff is not None:
            self._end("handed_off")
        else:
            self._end("unknown")

    def _end(self, terminal: Terminal) -> None:
        self.terminal = terminal
        if terminal in ("handed_off", "unknown"):
            self.certifiable = any(certified(self.model, self.belief, end) for end in self.model.template.ends)

    def trajectory(self) -> Trajectory:
        """Return the record of a finished episode."""
        return Trajectory(
            template=self.model.template.id,
            world=self.truth,
            shield=self.shield,
            steps=tuple(self.steps),
            ledger=self._run.ledger,
            verdict=self._verdict(),
            certifiable=self.certifiable,
            refused=sum(1 for step in self.steps if step.refused is not None),
            certified_claim=self._certain,
        )

    def _verdict(self) -> Verdict:
        if self.terminal is None:
            raise ValueError("the episode has not ended")
        executed = [step for step in self.steps if step.refused is None]
        new = new_violations(self.model, self.world, self._run)
        return Verdict(
            terminal=self.terminal,
            goal=self._run.goal,
            claim_holds=self._claim_holds(bool(new)),
            new=tuple(sorted(new)),
            inherited=tuple(sorted(inherited_violations(self.model, self.world, self._run))),
            fee=sum(step.fee for step in executed),
            actions=sum(1 for step in executed if not isinstance(step.action, (Finish, Stop))),
            time=sum(step.action.instants for step in executed if isinstance(step.action, Wait)),
        )

    def _claim_holds(self, harmed: bool) -> bool | None:
        if self._claim is None:
            return None
        holds = self._run.lasting if self._claim.claim == "completed" else self._run.gone
        return holds and not harmed
