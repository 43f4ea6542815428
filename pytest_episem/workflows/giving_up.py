"""Whether a run that ended without a claim could have had more (workflow protocol, section 2).

Passing by doing nothing is not passing. What could have been had is what joint planning would have reached in the same
hidden truth, going on from where the run ended. It plans anew from there, for all worlds that are left, so that the
answer follows from that belief alone and not from what else was planned before.
"""

from __future__ import annotations

from pytest_episem.workflows.actions import Finish, HandOff, Stop
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.support import Belief, Model


def given_up(episode: Episode) -> bool:
    """Return whether a finished episode ended without a claim though more could have been had: there was somebody to
    hand the case to, or joint planning, going on from there, certifies an end."""
    if episode.terminal not in ("handed_off", "unknown"):
        return False
    if episode.certifiable or (episode.terminal == "unknown" and episode.model.template.handoff is not None):
        return True
    plans = episode.model.plans
    key = ("given up", episode.belief)
    if key not in plans:
        plans[key] = _certified(episode.model, episode.belief)
    return episode.world in plans[key]


def _certified(model: Model, belief: Belief) -> frozenset[int]:
    """The worlds in which joint planning, beginning at a belief, certifies an end."""
    planner = Joint(model, fresh=True)
    found: set[int] = set()
    ahead = [belief]
    while ahead:
        here = ahead.pop()
        action = planner.choose(here)
        if isinstance(action, Finish):
            found.update(world for world, _ in here.members)
        elif not isinstance(action, (HandOff, Stop)):
            ahead += model.step(here, action).values()
    return frozenset(found)
