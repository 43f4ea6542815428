"""Joint planning: observation-contingent search over all obligations at once (workflow protocol, section 3).

Depth-first branch and bound over beliefs. Every belief has a value that is reached by a known policy (at first the best
exact rollout of the other controllers, or ending) and a bound that no policy can go below (at first that of
``bound``); the search closes the gap where it matters. A belief that the node limit cuts off keeps the rollout's value,
so that the plan is never worse over the support than any of the other controllers. What was searched is kept
with the model, and every decision has its own budget. A belief is decided once: deciding it again, after more search,
could send two of its worlds different ways, and the sum over both would be no plan's.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_episem.workflows.actions import Action, Finish, HandOff, Stop
from pytest_episem.workflows.controllers.base import Controller, completed, last_word
from pytest_episem.workflows.controllers.bound import LowerBound
from pytest_episem.workflows.controllers.greedy import Greedy
from pytest_episem.workflows.controllers.rollout import Rollout
from pytest_episem.workflows.controllers.rules import CapabilityRules, VerifyWaitRules
from pytest_episem.workflows.controllers.stop import ImmediateStop
from pytest_episem.workflows.controllers.vector import Vector, action_cost, ending_cost
from pytest_episem.workflows.shield import passing
from pytest_episem.workflows.support import Belief, Model

NODE_LIMIT = 2_000
"""Beliefs expanded for one decision before its search is cut off."""


@dataclass(slots=True)
class Plan:
    """A decision at a belief.

    Attributes:
        value: the vector over the belief's worlds when the plan is followed.
        bound: no policy has less.
        action: the first action.
        source: ``search``, or the controller whose rollout it follows.
    """

    value: Vector
    bound: Vector
    action: Action
    source: str = "search"

    @property
    def exact(self) -> bool:
        """Whether the value is the optimum; otherwise the search was cut off."""
        return self.bound >= self.value


class _Found:
    """What searches of one model with one node limit have found; it belongs to the model, for every planner of it."""

    def __init__(self, model: Model) -> None:
        others = (CapabilityRules, VerifyWaitRules, Greedy, ImmediateStop)
        self.rollouts = [Rollout(kind(model)) for kind in others]
        self.bounds = LowerBound(model)
        self.plans: dict[Belief, Plan] = {}
        self.decided: set[Belief] = set()
        self.lower: dict[Belief, Vector] = {}


class Joint(Controller):
    """``fresh``: without what earlier searches of the model found.

    Attributes: ``nodes`` expanded; ``decisions`` made; ``cutoffs`` among them, where the search was cut off; and
    ``fallbacks``, where a cut-off decision follows another controller's rollout."""

    name = "joint"

    def __init__(self, model: Model, node_limit: int = NODE_LIMIT, *, fresh: bool = False) -> None:
        super().__init__(model)
        self.node_limit = node_limit
        self.nodes = self.decisions = self.cutoffs = self.fallbacks = 0
        found = _Found(model)
        if not fresh:
            found = model.plans.setdefault((self.name, node_limit), found)
        self.rollouts = found.rollouts
        self._bounds = found.bounds
        self._plans = found.plans
        self._decided = found.decided
        self._lower = found.lower
        self._budget = 0

    def choose(self, belief: Belief) -> Action:
        plan = self.plan(belief)
        self.decisions += 1
        if not plan.exact:
            self.cutoffs += 1
            self.fallbacks += plan.source != "search"
        return plan.action

    def plan(self, belief: Belief) -> Plan:
        """Return the decision at a belief, searched with a budget of its own the first time."""
        plan = self._known(belief)
        if belief not in self._decided:
            self._budget = self.node_limit
            self._solve(belief, plan.value)
            self._decided.add(belief)
        return plan

    def _known(self, belief: Belief) -> Plan:
        plan = self._plans.get(belief)
        if plan is None:
            plan = self._plans[belief] = self._first(belief)
        return plan

    def _first(self, belief: Belief) -> Plan:
        """The best that needs no search: a certified completion, another controller, or ending here."""
        done = completed(self.model, belief)
        if done is not None:
            value = ending_cost(self.model, belief, Finish("completed"))
            return Plan(value, value, done)
        best = min(self.rollouts, key=lambda rollout: rollout.value(belief))
        plan = Plan(best.value(belief), self._least(belief), best.controller.choose(belief), best.controller.name)
        action = last_word(self.model, belief)
        assert isinstance(action, (Finish, HandOff, Stop))
        value = ending_cost(self.model, belief, action)
        return Plan(value, plan.bound, action) if value < plan.value else plan

    def _least(self, belief: Belief) -> Vector:
        """The best bound known for a belief."""
        plan = self._plans.get(belief)
        if plan is not None:
            return plan.bound
        found = self._lower.get(belief)
        if found is None:
            done = completed(self.model, belief) is not None
            found = self._lower[belief] = Vector() if done else self._bounds.of(belief)
        return found

    def _solve(self, belief: Belief, enough: Vector) -> None:
        """Close the gap at a belief, or show that its bound reaches ``enough``, or spend the budget."""
        plan = self._known(belief)
        if belief in self._decided or plan.exact or plan.bound >= enough or self._budget <= 0:
            return
        self._budget -= 1
        self.nodes += 1
        least = plan.value
        for guess, action in self._ordered(belief):
            target = min(enough, plan.value)
            least = min(least, guess if guess >= target else self._follow(belief, plan, action, target))
        plan.bound = max(plan.bound, min(least, plan.value))

    def _ordered(self, belief: Belief) -> list[tuple[Vector, Action]]:
        """The actions with their bounds, the most hopeful first."""
        guesses = [(self._reach(belief, action), action) for action in passing(self.model, belief)]
        return sorted(guesses, key=lambda item: item[0])

    def _reach(self, belief: Belief, action: Action) -> Vector:
        total = action_cost(self.model, belief, action)
        for branch in self.model.step(belief, action).values():
            total = total.plus(self._least(branch))
        return total

    def _follow(self, belief: Belief, plan: Plan, action: Action, target: Vector) -> Vector:
        """Search below an action; take it into the plan if it is better, and return its bound."""
        branches = list(self.model.step(belief, action).values())
        for branch in branches:
            bound = self._reach(belief, action)
            if bound >= target:
                return bound
            self._solve(branch, self._least(branch).plus(target.minus(bound)))
        value = action_cost(self.model, belief, action)
        for branch in branches:
            value = value.plus(self._known(branch).value)
        if value < plan.value:
            plan.value, plan.action, plan.source = value, action, "search"
        return self._reach(belief, action)
