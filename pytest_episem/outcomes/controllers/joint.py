"""Joint planning: observation-contingent search over all obligations at once (outcome protocol, section 3).

Iterative deepening over beliefs. A belief where the depth ends is valued by the best exact rollout of the other
controllers, so that the plan is never worse over the support than any of them: each of their actions is among those
searched, and deepening only lowers a value. The plan is made anew at every decision; what was searched before is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_episem.outcomes.actions import Action, Finish, HandOff, Stop
from pytest_episem.outcomes.controllers.base import Controller, completed, last_word
from pytest_episem.outcomes.controllers.greedy import Greedy
from pytest_episem.outcomes.controllers.rollout import Rollout
from pytest_episem.outcomes.controllers.rules import CapabilityRules, VerifyWaitRules
from pytest_episem.outcomes.controllers.stop import ImmediateStop
from pytest_episem.outcomes.controllers.vector import Vector, action_cost, ending_cost
from pytest_episem.outcomes.shield import passing
from pytest_episem.outcomes.support import Belief, Model

NODE_LIMIT = 2_000
"""Beliefs expanded for one decision before its search is cut off."""


@dataclass(slots=True)
class Plan:
    """A decision with its vector; ``exact`` if nothing below it was cut off; ``source`` names the controller that a
    cut-off decision follows, or is ``search``."""

    value: Vector
    action: Action
    exact: bool
    source: str = "search"


class _OutOfNodes(Exception):
    pass


class Joint(Controller):
    """Attributes: ``nodes`` expanded, ``decisions`` made, ``cutoffs`` among them that were not searched to the end, and
    ``fallbacks`` that were taken from another controller's rollout."""

    name = "joint"

    def __init__(self, model: Model, node_limit: int = NODE_LIMIT) -> None:
        super().__init__(model)
        self.node_limit = node_limit
        self.nodes = self.decisions = self.cutoffs = self.fallbacks = 0
        others = (CapabilityRules, VerifyWaitRules, Greedy, ImmediateStop)
        self._rollouts = [Rollout(kind(model)) for kind in others]
        self._exact: dict[Belief, Plan] = {}
        self._plans: dict[Belief, Plan] = {}
        self._layer: dict[tuple[Belief, int], Plan] = {}
        self._budget = 0

    def choose(self, belief: Belief) -> Action:
        plan = self.plan(belief)
        self.decisions += 1
        self.cutoffs += not plan.exact
        self.fallbacks += plan.source != "search"
        return plan.action

    def plan(self, belief: Belief) -> Plan:
        """Return the decision at a belief, with the vector that following the plan has over its worlds at most."""
        found = self._plans.get(belief)
        if found is None:
            found = self._plans[belief] = self._deepen(belief)
        return found

    def _deepen(self, belief: Belief) -> Plan:
        best = self._leaf(belief)
        self._budget = self.node_limit
        depth = 0
        while not best.exact:
            depth += 1
            try:
                best = self._search(belief, depth)
            except _OutOfNodes:
                break
        return best

    def _leaf(self, belief: Belief) -> Plan:
        known = self._exact.get(belief)
        if known is not None:
            return known
        done = completed(self.model, belief)
        if done is not None:
            return Plan(ending_cost(self.model, belief, Finish("completed")), done, exact=True)
        rollout = min(self._rollouts, key=lambda rollout: rollout.value(belief))
        return Plan(rollout.value(belief), rollout.controller.choose(belief), False, rollout.controller.name)

    def _search(self, belief: Belief, depth: int) -> Plan:
        if depth == 0 or belief in self._exact:
            return self._leaf(belief)
        found = self._layer.get((belief, depth))
        if found is None:
            found = self._layer[belief, depth] = self._expand(belief, depth)
            if found.exact:
                self._exact[belief] = found
        return found

    def _expand(self, belief: Belief, depth: int) -> Plan:
        leaf = self._leaf(belief)
        if leaf.exact:
            return leaf
        self._spend()
        best, exact = self._end(belief), True
        for action in passing(self.model, belief):
            plan = self._follow(belief, action, depth, best.value)
            exact = exact and plan.exact
            if plan.value < best.value:
                best = plan
        best = Plan(best.value, best.action, exact)
        return best if exact or best.value < leaf.value else Plan(best.value, leaf.action, False, leaf.source)

    def _spend(self) -> None:
        if self._budget <= 0:
            raise _OutOfNodes
        self._budget -= 1
        self.nodes += 1

    def _end(self, belief: Belief) -> Plan:
        action = last_word(self.model, belief)
        assert isinstance(action, (Finish, HandOff, Stop))
        return Plan(ending_cost(self.model, belief, action), action, exact=True)

    def _follow(self, belief: Belief, action: Action, depth: int, bound: Vector) -> Plan:
        """Return an action's plan; it stops short, with a partial sum, where that cannot be better than ``bound``."""
        total, exact = action_cost(self.model, belief, action), True
        for branch in self.model.step(belief, action).values():
            if total >= bound:
                break
            below = self._search(branch, depth - 1)
            total, exact = total.plus(below.value), exact and below.exact
        return Plan(total, action, exact)
