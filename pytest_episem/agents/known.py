"""The built-in agents of every suite. Their values are known beforehand (protocol, section 9); they need no network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_episem.episode import TURN_LIMIT, Episode
from pytest_episem.errors import UnknownName
from pytest_episem.suite import suites

PREFIX = "episem/"


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """A built-in agent: a name and what it does."""

    name: str
    behaviour: Callable[[Episode], None]
    turn_limit: int = TURN_LIMIT

    def play(self, episode: Episode) -> None:
        """Play ``episode`` to its end, at once."""
        self.behaviour(episode)


def known_agent(name: str) -> KnownAgent:
    """Return the built-in agent ``episem/<behaviour>``.

    Raises:
        UnknownName: there is none of that name.
    """
    for suite in suites():
        behaviour = suite.behaviours().get(name.removeprefix(PREFIX))
        if behaviour is not None:
            return KnownAgent(name, behaviour)
    raise UnknownName("built-in agent", name, known_agent_names())


def known_agent_names() -> list[str]:
    """Return the names of the built-in agents."""
    return [PREFIX + name for suite in suites() for name in suite.behaviours()]
