"""Greedy selection: the action that leaves the least open, one step ahead (workflow protocol, section 3)."""

from __future__ import annotations

from pytest_episem.workflows.actions import Action, Wait
from pytest_episem.workflows.controllers.base import (
    Controller,
    completed,
    lacking,
    lapsed,
    last_word,
    withdraw,
    withdrawing,
)
from pytest_episem.workflows.model import Template
from pytest_episem.workflows.shield import passing
from pytest_episem.workflows.support import Belief
from pytest_episem.workflows.timeline import Renewal, Run


class Greedy(Controller):
    """Counts what is open over all compatible worlds: an obligation not certain to be fulfilled once, and once more
    where it will not be, and its approval if that has lapsed. Takes the action after which the count is least, the
    cheaper one among equals; if none lowers it, waits for one that will; then withdraws, if that is an end."""

    name = "greedy"

    def choose(self, belief: Belief) -> Action:
        done = completed(self.model, belief)
        if done is not None:
            return done
        if not withdrawing(self.model, belief):
            action = self._best(belief) or self._wait(belief)
            if action is not None:
                return action
        return withdraw(self.model, belief) or last_word(self.model, belief)

    def _open(self, belief: Belief) -> int:
        end = self.model.template.horizon
        count = 0
        for name in lacking(self.model, belief):
            unmet = sum(1 for _, run in belief.members if not run.good(name, end))
            count += len(belief) + unmet
            if lapsed(self.model, belief, name):
                count += sum(1 for _, run in belief.members if not _renewed(run, self.model.template, name))
        return count

    def _best(self, belief: Belief) -> Action | None:
        now = self._open(belief)
        scored = [
            (self._after(belief, action), self.model.fee(action), order, action)
            for order, action in enumerate(passing(self.model, belief))
            if not isinstance(action, Wait)
        ]
        best = min(scored, key=lambda item: item[:3], default=None)
        return best[3] if best is not None and best[0] < now else None

    def _after(self, belief: Belief, action: Action) -> int:
        return sum(self._open(branch) for branch in self.model.step(belief, action).values())

    def _wait(self, belief: Belief) -> Action | None:
        for action in passing(self.model, belief):
            if isinstance(action, Wait):
                later = self.model.step(belief, action)[""]
                if completed(self.model, later) or self._best(later):
                    return action
        return None


def _renewed(run: Run, template: Template, obligation: str) -> bool:
    approval = template.obligations[obligation].approval
    return any(isinstance(e, Renewal) and e.granted and e.approval == approval for e in run.entries)
