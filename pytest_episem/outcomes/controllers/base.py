"""What a controller is, and what all of them ask of a belief (outcome protocol, section 3).

A controller decides from the belief alone: it remembers nothing, so that its value from any belief onward can be
computed exactly and cached.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from pytest_episem.outcomes.actions import Action, Finish, HandOff, Stop, Wait
from pytest_episem.outcomes.certificate import certified, unknown_obligations
from pytest_episem.outcomes.support import Belief, Model


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
