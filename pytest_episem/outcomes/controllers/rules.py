"""The two rule sets: look and wait before acting, or use what the provider promises (outcome protocol, section 3).

Both go through the obligations in their order and take the first rule that applies; when none applies anywhere they
wait until one does, then repair or withdraw, then say their last word. They differ in which rule comes first:

- verify-and-wait asks before anything else and sends only what it knows to be missing, under a new key;
- capability rules resend under the old key wherever deduplication makes that harmless, and ask only if they must.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from pytest_episem.outcomes.actions import Action, Attempt, Compensate, Query, Revalidate
from pytest_episem.outcomes.controllers.base import Controller, completed, lacking, last_word, soonest
from pytest_episem.outcomes.shield import passing, sent
from pytest_episem.outcomes.support import Belief

Rule: TypeAlias = Callable[["_Rules", Belief, str], Action | None]


class _Rules(Controller):
    rules: ClassVar[tuple[Rule, ...]]

    def choose(self, belief: Belief) -> Action:
        return (
            completed(self.model, belief)
            or self._next(belief)
            or soonest(self.model, belief, self._ready)
            or self._withdraw(belief)
            or last_word(self.model, belief)
        )

    def _ready(self, belief: Belief) -> bool:
        return completed(self.model, belief) is not None or self._next(belief) is not None

    def _next(self, belief: Belief) -> Action | None:
        for name in lacking(self.model, belief):
            for rule in self.rules:
                action = rule(self, belief, name)
                if action is not None:
                    return action
        return None

    def ask(self, belief: Belief, name: str) -> Action | None:
        """Ask, if the answer can differ between the compatible worlds."""
        query = Query(name)
        return query if query in passing(self.model, belief) else None

    def send_again(self, belief: Belief, name: str) -> Action | None:
        """Resend under a key that was used before."""
        return self._attempt(belief, name, used=True)

    def send_new(self, belief: Belief, name: str) -> Action | None:
        """Send under a new key."""
        return self._attempt(belief, name, used=False)

    def _attempt(self, belief: Belief, name: str, used: bool) -> Action | None:
        keys = {request.key for request in sent(belief.entries, name, False)}
        for action in passing(self.model, belief):
            right = isinstance(action, Attempt) and action.obligation == name and (action.key in keys) == used
            if right and self._fulfils(belief, action, name):
                return action
        return None

    def _fulfils(self, belief: Belief, action: Action, name: str) -> bool:
        """Whether an action fulfils an obligation in some compatible world where it is not fulfilled without."""
        before, end = dict(belief.members), self.model.template.horizon
        return any(
            run.good(name, end) and not before[world].good(name, end)
            for branch in self.model.step(belief, action).values()
            for world, run in branch.members
        )

    def renew(self, belief: Belief, name: str) -> Action | None:
        """Renew the approval of what is certain to be missing, or what a renewal lets through."""
        approval = self.model.template.obligations[name].approval
        if approval is None or Revalidate(approval) not in passing(self.model, belief):
            return None
        action = Revalidate(approval)
        end = self.model.template.horizon
        missing = all(not run.count(name, end) for _, run in belief.members)
        return action if (missing and self._lapsed(belief, approval)) or self._fulfils(belief, action, name) else None

    def _lapsed(self, belief: Belief, approval: str) -> bool:
        terms = self.model.template.approvals[approval]
        return not (terms.start <= belief.time and (terms.until is None or belief.time < terms.until))

    def repair(self, belief: Belief, name: str) -> Action | None:
        """Undo a second effect, or one that should not be, where every compatible world has it."""
        if all(run.count(name, belief.time) and not run.good(name, belief.time) for _, run in belief.members):
            return self._compensate(belief, name)
        return None

    def _withdraw(self, belief: Belief) -> Action | None:
        """Undo the last of what stands, where the workflow may end withdrawn."""
        if "withdrawn" not in self.model.template.ends:
            return None
        for name in reversed(self.model.template.obligations):
            action = self._compensate(belief, name)
            if action is not None:
                return action
        return soonest(self.model, belief, self._withdrawable)

    def _withdrawable(self, belief: Belief) -> bool:
        return any(self._compensate(belief, name) for name in self.model.template.obligations)

    def _compensate(self, belief: Belief, name: str) -> Action | None:
        now = belief.time
        for action in passing(self.model, belief):
            if isinstance(action, Compensate) and action.obligation == name:
                before = dict(belief.members)
                if any(
                    run.count(name, now) < before[world].count(name, now)
                    for branch in self.model.step(belief, action).values()
                    for world, run in branch.members
                ):
                    return action
        return None


class VerifyWaitRules(_Rules):
    """Ask first; wait while asking can still help; send only what is certain to be missing."""

    name = "verify-wait"
    rules = (_Rules.ask, _Rules.repair, _Rules.send_new, _Rules.send_again, _Rules.renew)


class CapabilityRules(_Rules):
    """Use the strongest promise: the remembered key, then what is certain, then a question."""

    name = "capability"
    rules = (_Rules.send_again, _Rules.send_new, _Rules.repair, _Rules.ask, _Rules.renew)
