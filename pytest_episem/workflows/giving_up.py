"""Whether a run that ended without a claim could have had more (workflow protocol, section 2).

Passing by doing nothing is not passing. What could have been had is what joint planning would have reached in the same
hidden truth, going on from where the run ended.
"""

from __future__ import annotations

from pytest_episem.workflows.actions import Finish, HandOff, Stop
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.episode import Episode


def given_up(episode: Episode) -> bool:
    """Return whether a finished episode ended without a claim though more could have been had: there was somebody to
    hand the case to, or joint planning, going on from there, certifies an end."""
    if episode.terminal not in ("handed_off", "unknown"):
        return False
    if episode.certifiable or (episode.terminal == "unknown" and episode.model.template.handoff is not None):
        return True
    model, belief, run = episode.model, episode.belief, episode.run
    planner = Joint(model)
    while True:
        action = planner.choose(belief)
        if isinstance(action, (Finish, HandOff, Stop)):
            return isinstance(action, Finish)
        answer, run = model.execute(episode.truth, run, belief.time, action)
        belief = model.step(belief, action)[answer]
