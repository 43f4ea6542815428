"""Immediate stop: claims what needs nothing, and else does nothing (workflow protocol, section 3)."""

from __future__ import annotations

from pytest_episem.workflows.actions import Action, Finish, Stop
from pytest_episem.workflows.certificate import certified
from pytest_episem.workflows.controllers.base import Controller
from pytest_episem.workflows.support import Belief


class ImmediateStop(Controller):
    """Finishes if that is certified before anything was done, else stops."""

    name = "stop"

    def choose(self, belief: Belief) -> Action:
        for claim in self.model.template.ends:
            if certified(self.model, belief, claim):
                return Finish(claim)
        return Stop()
