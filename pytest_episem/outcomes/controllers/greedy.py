"""Greedy selection: the action that leaves the least open, one step ahead (outcome protocol, section 3)."""

from __future__ import annotations

from pytest_episem.outcomes.actions import Action, Wait
from pytest_episem.outcomes.controllers.base import Controller, completed, lacking, last_word
from pytest_episem.outcomes.shield import passing
from pytest_episem.outcomes.support import Belief


class Greedy(Controller):
    """Counts, in every compatible world, the obligations not certain to be fulfilled, and takes the action after which
    that count is least; the cheaper one among equals. If no action lowers it, it waits for one that will."""

    name = "greedy"

    def choose(self, belief: Belief) -> Action:
        done = completed(self.model, belief)
        if done is not None:
            return done
        return self._best(belief) or self._wait(belief) or last_word(self.model, belief)

    def _open(self, belief: Belief) -> int:
        return len(belief) * len(lacking(self.model, belief))

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
