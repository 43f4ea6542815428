"""The built-in agents of every suite. Their values are known beforehand (protocol, section 9); they need no network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from pytest_episem.episode import TURN_LIMIT, AgentEpisode, Episode, real_episode
from pytest_episem.errors import UnknownName
from pytest_episem.suite import Suite, suite, suites

PREFIX = "episem/"


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """A built-in agent: a name and what it does."""

    name: str
    behaviour: Callable[[Episode], None]
    turn_limit: int = TURN_LIMIT
    counts_requests: ClassVar[bool] = True
    """It sends none."""

    def play(self, episode: Episode | AgentEpisode) -> None:
        """Play ``episode`` to its end, at once."""
        self.behaviour(real_episode(episode))


def known_agent(name: str, of: str | None = None) -> KnownAgent:
    """Return the built-in agent ``episem/<behaviour>``, of the suite of that name or of any.

    Raises:
        UnknownName: there is none of that name.
    """
    for found in _suites(of):
        behaviour = found.behaviours().get(name.removeprefix(PREFIX))
        if behaviour is not None:
            return KnownAgent(name, behaviour, found.turn_limit)
    raise UnknownName("built-in agent", name, known_agent_names(of))


def known_agent_names(of: str | None = None) -> list[str]:
    """Return the names of the built-in agents of the suite of that name, or of all."""
    return [PREFIX + name for found in _suites(of) for name in found.behaviours()]


def _suites(name: str | None) -> list[Suite]:
    return suites() if name is None else [suite(name)]
