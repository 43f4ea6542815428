"""The objective: a vector compared from left to right, summed over worlds (workflow protocol, section 3)."""

from __future__ import annotations

from typing import NamedTuple

from pytest_episem.workflows.actions import Action, Finish, HandOff, Stop, Wait
from pytest_episem.workflows.support import Belief, Model


class Vector(NamedTuple):
    """Sums over the compatible worlds; less is better, compared from left to right."""

    uncertified: int = 0
    unknown: int = 0
    handed_off: int = 0
    missed: int = 0
    fee: int = 0
    actions: int = 0
    time: int = 0

    def plus(self, other: Vector) -> Vector:
        """Return the sum of two vectors."""
        return Vector(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: Vector) -> Vector:
        """Return the difference of two vectors; its parts may be negative, and it still compares from the left."""
        return Vector(*(a - b for a, b in zip(self, other, strict=True)))


ZERO = Vector()


def action_cost(model: Model, belief: Belief, action: Action) -> Vector:
    """Return what an action itself costs, over all worlds of a belief; finish and stop cost nothing."""
    worlds = len(belief)
    acts = 0 if isinstance(action, (Finish, Stop)) else worlds
    time = worlds * action.instants if isinstance(action, Wait) else 0
    return Vector(fee=worlds * model.fee(action), actions=acts, time=time)


def ending_cost(model: Model, belief: Belief, action: Finish | HandOff | Stop) -> Vector:
    """Return the whole cost of ending here, over all worlds of a belief. A finish must be certified."""
    worlds = len(belief)
    missed = sum(1 for _, run in belief.members if not run.goal)
    handed = isinstance(action, HandOff) and model.template.handoff is not None
    return Vector(
        uncertified=0 if action == Finish("completed") else worlds,
        unknown=0 if handed or isinstance(action, Finish) else worlds,
        handed_off=worlds if handed else 0,
        missed=missed,
        actions=worlds if isinstance(action, HandOff) else 0,
    )
