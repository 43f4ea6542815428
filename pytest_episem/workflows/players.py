"""Controllers as agents: they see what is public, and act through the same tools as everybody."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

from pytest_episem.agents import PREFIX, InfrastructureError, import_attribute
from pytest_episem.episode import AgentEpisode, Episode, real_episode
from pytest_episem.errors import EpisemError
from pytest_episem.workflows.actions import Stop
from pytest_episem.workflows.controllers import CONTROLLERS
from pytest_episem.workflows.controllers.check import check_controller, checked
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.episode import PROPOSALS
from pytest_episem.workflows.recovery import Recovery, recovery_of
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.trial import Search

STOPPED = "I cannot establish more, and stop here.\nDisposition: stopped"


def play(name: str, make: Callable[[Model], Any], episode: Episode) -> None:
    """Let a fresh controller play a case to its end.

    Raises:
        InfrastructureError: what is made is no controller, or it chooses what is no action: a fault of whoever wrote
            it, not an action.
        EpisemError: the episode is no workflow's.
    """
    world = recovery_of(episode, name)
    controller = make(world.model)
    try:
        check_controller(controller, name)
        drive(controller, world, episode, make)
    except EpisemError as fault:
        raise InfrastructureError("agent", str(fault)) from None


def drive(controller: Any, world: Recovery, episode: Episode, make: Callable[[Model], Any] | None = None) -> None:
    """Let a controller act until the episode has ended; the world is told what its choosing took. Where trouble comes
    live, ``make`` gives another controller for what is compatible from then on.

    Raises:
        EpisemError: it chooses what is no action, or what no tool does.
    """
    before, selection, model = _counters(controller), list[float](), world.model
    spent = [0, 0, 0]
    while not episode.ended:
        asked = time.perf_counter()
        if make is not None and world.model is not model:
            spent = _added(spent, controller, before)
            controller, model = make(world.model), world.model
            check_controller(controller)
            before = _counters(controller)
        action = checked(controller.choose(world.belief), controller)
        selection.append(time.perf_counter() - asked)
        if isinstance(action, Stop):
            episode.finish(STOPPED)
        else:
            episode.turn([world.call_for(action)])
    world.search = Search(tuple(selection), *_added(spent, controller, before))


def _added(spent: list[int], controller: Any, before: tuple[int, int, int]) -> list[int]:
    counts = zip(spent, _counters(controller), before, strict=True)
    return [sum + after - start for sum, after, start in counts]


def _counters(controller: Any) -> tuple[int, int, int]:
    if isinstance(controller, Joint):
        return controller.cutoffs, controller.fallbacks, controller.nodes
    return 0, 0, 0


BEHAVIOURS: Mapping[str, Callable[[Episode], None]] = {
    name: functools.partial(play, PREFIX + name, kind) for name, kind in CONTROLLERS.items()
}
"""By name without prefix."""


class ControllerAgent:
    """A controller of the user's own as an agent: made anew for each case from the public model.

    Args:
        name: what it is called in records and messages.
        make: a class, or a function of a :class:`pytest_episem.workflows.support.Model`, that gives a controller.
    """

    turn_limit = PROPOSALS
    counts_requests = True

    def __init__(self, name: str, make: Callable[[Model], Any]) -> None:
        self.name = name
        self._make = make

    def play(self, episode: Episode | AgentEpisode) -> None:
        """Play a case to its end."""
        play(self.name, self._make, real_episode(episode))


def import_controller(spec: str, paths: tuple[Any, ...]) -> ControllerAgent:
    """Return the agent that ``MODULE:CLASS`` makes.

    Raises:
        EpisemError: it cannot be imported, or cannot be called.
    """
    made = import_attribute(spec, paths)
    if not callable(made):
        raise EpisemError(f"controller {spec!r} must be a class, or a function of a model that returns a controller")
    return ControllerAgent(spec, made)
