"""What a controller is, and what all of them ask of a belief (workflow protocol, section 3).

A controller decides from the belief alone: it remembers nothing, so that its value from any belief onward can be
computed exactly and cached.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from pytest_episem.workflows.actions import Action, Compensate, Finish, HandOff, Stop, Wait
from pytest_episem.workflows.certificate import certified, unknown_obligations
from pytest_episem.workflows.shield import passing, sent
from pytest_episem.workflows.support import Belief, Model


class Controller(ABC):
    """A policy for one template."""

    name: ClassVar[str]

    def __init__(self, model: Model) -> None:
        self.model = model

    @abstractmethod
    def choose(self, belief: Belief) -> Action:
        """Return the next action: an ending, or one that the shield lets pass and that changes the belief."""


def completed(model: Model, belief: Belief) -> Action | None:
    """Return the certified completion, if there is one."""
    return Finish("completed") if certified(model, belief, "completed") else None


def last_word(model: Model, belief: Belief) -> Action:
    """Return the best ending: a certified finish, else a hand-off that names what is unknown, else stop."""
    for claim in ("completed", "withdrawn"):
        if certified(model, belief, claim):
            return Finish(claim)
    return HandOff(unknown_obligations(model, belief)) if model.template.handoff is not None else Stop()


def lacking(model: Model, belief: Belief) -> list[str]:
    """Return the obligations that are not certain to be fulfilled at the deadline and at the horizon."""
    ends = (model.template.deadline, model.template.horizon)
    return [
        name
        for name in model.template.obligations
        if not all(run.good(name, end) for _, run in belief.members for end in ends)
    ]


def soonest(model: Model, belief: Belief, wanted: Callable[[Belief], bool]) -> Wait | None:
    """Return the shortest wait after which something is so."""
    for instants in range(1, model.template.deadline - belief.time + 1):
        if wanted(model.step(belief, Wait(instants))[""]):
            return Wait(instants)
    return None


def lapsed(model: Model, belief: Belief, obligation: str) -> bool:
    """Return whether an obligation's approval is not valid now, as far as its own dates say."""
    name = model.template.obligations[obligation].approval
    if name is None:
        return False
    terms = model.template.approvals[name]
    return not (terms.start <= belief.time and (terms.until is None or belief.time < terms.until))


def undo(model: Model, belief: Belief, obligation: str) -> Action | None:
    """Return a compensation that removes an effect now, or could, in some compatible world."""
    now = belief.time
    before = dict(belief.members)
    for action in passing(model, belief):
        if isinstance(action, Compensate) and action.obligation == obligation:
            branches = model.step(belief, action).values()
            changed = [(run, before[world]) for branch in branches for world, run in branch.members]
            if any(run.count(obligation, now) < old.count(obligation, now) for run, old in changed):
                return action
    return None


def withdrawing(model: Model, belief: Belief) -> bool:
    """Return whether the workflow may end withdrawn and is on its way there: nothing else is allowed, or something was
    undone and is not there in any compatible world."""
    if "withdrawn" not in model.template.ends:
        return False
    undone = [name for name in model.template.obligations if any(r.recovery for r in sent(belief.entries, name, True))]
    return "completed" not in model.template.ends or any(
        all(run.count(name, belief.time) == 0 for _, run in belief.members) for name in undone
    )


def withdraw(model: Model, belief: Belief) -> Action | None:
    """Return the next step of a withdrawal: undo the last of what stands, or wait until that can be done or claimed."""
    if "withdrawn" not in model.template.ends or certified(model, belief, "withdrawn"):
        return None

    def ready(later: Belief) -> bool:
        return certified(model, later, "withdrawn") or _undo_last(model, later) is not None

    return _undo_last(model, belief) or soonest(model, belief, ready)


def _undo_last(model: Model, belief: Belief) -> Action | None:
    found = (undo(model, belief, name) for name in reversed(model.template.obligations))
    return next((action for action in found if action is not None), None)
