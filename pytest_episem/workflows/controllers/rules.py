"""The two rule sets: look and wait before acting, or use what the provider promises (workflow protocol, section 3).

Both go through the obligations in their order and take the first rule that applies; when none applies anywhere they
wait until one does, then repair or withdraw, then say their last word. They differ in which rule comes first:

- verify-and-wait asks before anything else and sends only what it knows to be missing, under a new key;
- capability rules resend under the old key wherever deduplication makes that harmless, and ask only if they must.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from pytest_episem.workflows.actions import Action, Attempt, Query, Revalidate
from pytest_episem.workflows.answers import GRANTED
from pytest_episem.workflows.controllers.base import (
    Controller,
    completed,
    lacking,
    lapsed,
    last_word,
    soonest,
    undo,
    withdraw,
    withdrawing,
)
from pytest_episem.workflows.shield import passing, sent
from pytest_episem.workflows.support import Belief
from pytest_episem.workflows.timeline import Renewal

Rule: TypeAlias = Callable[["_Rules", Belief, str], Action | None]


class _Rules(Controller):
    rules: ClassVar[tuple[Rule, ...]]

    def choose(self, belief: Belief) -> Action:
        done = completed(self.model, belief)
        if done is not None:
            return done
        if not withdrawing(self.model, belief):
            action = self._next(belief) or soonest(self.model, belief, self._ready)
            if action is not None:
                return action
        return withdraw(self.model, belief) or last_word(self.model, belief)

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
        action = Revalidate(self.model.template.obligations[name].approval or "")
        if action not in passing(self.model, belief) or GRANTED not in self.model.step(belief, action):
            return None
        end = self.model.template.horizon
        missing = all(not run.count(name, end) for _, run in belief.members)
        wanted = missing and lapsed(self.model, belief, name) and not self._renewed(belief, action.approval)
        return action if wanted or self._fulfils(belief, action, name) else None

    def _renewed(self, belief: Belief, approval: str) -> bool:
        entries = [entry for _, run in belief.members for entry in run.entries if isinstance(entry, Renewal)]
        return any(renewal.granted and renewal.approval == approval for renewal in entries)

    def repair(self, belief: Belief, name: str) -> Action | None:
        """Undo a second effect, or one that should not be, where every compatible world has it."""
        if all(run.count(name, belief.time) and not run.good(name, belief.time) for _, run in belief.members):
            return undo(self.model, belief, name)
        return None


class VerifyWaitRules(_Rules):
    """Ask first; wait while asking can still help; send only what is certain to be missing."""

    name = "verify-wait"
    rules = (_Rules.ask, _Rules.repair, _Rules.send_new, _Rules.send_again, _Rules.renew)


class CapabilityRules(_Rules):
    """Use the strongest promise: the remembered key, then what is certain, then a question."""

    name = "capability"
    rules = (_Rules.send_again, _Rules.send_new, _Rules.repair, _Rules.ask, _Rules.renew)
