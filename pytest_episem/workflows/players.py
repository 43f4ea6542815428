"""Controllers as agents: they see what is public, and act through the same tools as everybody."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from pytest_episem.agents import PREFIX
from pytest_episem.episode import Episode
from pytest_episem.workflows.actions import Stop
from pytest_episem.workflows.controllers import CONTROLLERS, Controller
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.recovery import recovery_of
from pytest_episem.workflows.support import Model

STOPPED = "I cannot establish more, and stop here.\nDisposition: stopped"


def play(name: str, make: Callable[[Model], Controller], episode: Episode) -> None:
    """Let a fresh controller play a case to its end. What its search cost is an event, ``search``.

    Raises:
        EpisemError: the episode is no workflow's, or the controller wants what no tool does.
    """
    world = recovery_of(episode, name)
    controller = make(world.model)
    while not episode.ended:
        action = controller.choose(world.belief)
        if isinstance(action, Stop):
            episode.finish(STOPPED)
        else:
            episode.turn([world.call_for(action)])
    if isinstance(controller, Joint):
        spent = {"cutoffs": controller.cutoffs, "fallbacks": controller.fallbacks, "nodes": controller.nodes}
        episode.note("search", **spent)


BEHAVIOURS: Mapping[str, Callable[[Episode], None]] = {
    name: functools.partial(play, PREFIX + name, kind) for name, kind in CONTROLLERS.items()
}
"""By name without prefix."""
