"""The optimum by complete enumeration, to check joint planning on small templates (workflow protocol, section 3).

It shares neither bounds, nor depths, nor rollouts with the planner: every passing action, every wait length and every
ending of every belief is valued, and the least vector kept.
"""

from __future__ import annotations

from pytest_episem.workflows.actions import Finish, HandOff, Stop
from pytest_episem.workflows.certificate import certified
from pytest_episem.workflows.controllers.vector import ZERO, Vector, action_cost, ending_cost
from pytest_episem.workflows.shield import passing
from pytest_episem.workflows.support import Belief, Model


class Exhaustive:
    """``value`` is the least vector that any policy behind the shield has over the worlds of a belief."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.values: dict[Belief, Vector] = {}
        """What was valued so far."""

    def value(self, belief: Belief) -> Vector:
        """Return the optimum from a belief onward."""
        found = self.values.get(belief)
        if found is None:
            found = self.values[belief] = min(self._values(belief))
        return found

    def _values(self, belief: Belief) -> list[Vector]:
        endings: list[Finish | HandOff | Stop] = [HandOff(), Stop()]
        endings += [Finish(end) for end in self.model.template.ends if certified(self.model, belief, end)]
        values = [ending_cost(self.model, belief, ending) for ending in endings]
        for action in passing(self.model, belief):
            below = [self.value(branch) for branch in self.model.step(belief, action).values()]
            values.append(sum_of([action_cost(self.model, belief, action), *below]))
        return values


def sum_of(vectors: list[Vector]) -> Vector:
    """Return the sum of vectors."""
    total = ZERO
    for vector in vectors:
        total = total.plus(vector)
    return total
