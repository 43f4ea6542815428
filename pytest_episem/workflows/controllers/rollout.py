"""The exact value of a controller from any belief onward (workflow protocol, section 3)."""

from __future__ import annotations

from pytest_episem.workflows.actions import Finish, HandOff, Stop
from pytest_episem.workflows.controllers.base import Controller
from pytest_episem.workflows.controllers.vector import Vector, action_cost, ending_cost
from pytest_episem.workflows.support import Belief


class Rollout:
    """A controller's vectors, each computed once by following all its answers."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self._known: dict[Belief, Vector] = {}

    def value(self, belief: Belief) -> Vector:
        """Return the controller's vector over the worlds of a belief."""
        found = self._known.get(belief)
        if found is None:
            found = self._known[belief] = self._follow(belief)
        return found

    def _follow(self, belief: Belief) -> Vector:
        action = self.controller.choose(belief)
        model = self.controller.model
        if isinstance(action, (Finish, HandOff, Stop)):
            return ending_cost(model, belief, action)
        total = action_cost(model, belief, action)
        for branch in model.step(belief, action).values():
            total = total.plus(self.value(branch))
        return total
