"""What an agent object gets to play: the episode without its world, which knows what is asked and the right answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from pytest_episem.episode.episode import Call, Episode, Observation
from pytest_episem.episode.usage import Usage
from pytest_episem.episode.world import Abandonment, ToolSpec, Unanswered


class AgentEpisode:
    """An episode as an agent object plays it: request, instruction, tools, turns, the end. It holds nothing of the
    condition: no world, no label, no mask, no verdict.

    Its methods may be called from several threads.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, episode: Episode) -> None:
        _REAL[self] = episode

    @property
    def goal(self) -> str:
        """The user's request."""
        return _REAL[self].goal

    @property
    def instruction(self) -> str:
        """The system instruction."""
        return _REAL[self].instruction

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools, each with ``name``, ``description``, ``parameters`` (JSON schema), ``openai()``, ``plain()``."""
        return _REAL[self].tools

    @property
    def usage(self) -> Usage:
        """What the rollout used so far, to be added to: requests, tokens, US dollars."""
        return _REAL[self].usage

    @property
    def turn_limit(self) -> int:
        """After the calls of that many turns the episode is over, unfinished."""
        return _REAL[self].turn_limit

    @property
    def turns(self) -> int:
        """How many turns there were."""
        return _REAL[self].turns

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return _REAL[self].ended

    @property
    def disposition(self) -> str | None:
        """How it ended, such as ``stopped``; ``None`` while it goes on."""
        return _REAL[self].disposition

    def turn(self, calls: Sequence[Call], text: str | None = None) -> list[Observation]:
        """Take one message with its calls, in order; without calls it is the last one.

        Returns one observation a call that was executed or rejected. What stands after the operation itself is not
        executed and has none.
        """
        return _REAL[self].turn(calls, text)

    def call(self, name: str, arguments: Any = None) -> dict[str, Any]:
        """Make one call, a turn of its own; ``arguments`` is a mapping or JSON text. Returns the observation."""
        return _REAL[self].call(name, arguments)

    def open_turn(self) -> None:
        """Begin a turn whose calls come one by one through ``take``."""
        _REAL[self].open_turn()

    def take(self, calls: Sequence[Call]) -> list[Observation]:
        """Execute calls in the turn that is open; returns what ``turn`` does."""
        return _REAL[self].take(calls)

    def close_turn(self) -> None:
        """End the open turn."""
        _REAL[self].close_turn()

    def finish(self, text: str, disposition: str | None = None) -> None:
        """End with the agent's last message; by its last line ``Disposition: …``, or as ``disposition`` says.

        Raises:
            ValueError: there is no such disposition.
        """
        _REAL[self].finish(text, disposition)

    def abandon(self, disposition: Abandonment, reason: str, unanswered: Unanswered | None = None) -> None:
        """End without a last message: ``unfinished`` or ``filtered``, with the reason for the log; ``unanswered`` where
        the model gave no whole answer: ``filter``, ``overflow``, ``cut`` or ``silent``.

        Raises:
            ValueError: another disposition.
        """
        _REAL[self].abandon(disposition, reason, unanswered)

    def note(self, event: str, **details: Any) -> None:
        """Add an event of the agent's own to the log. Decides nothing."""
        _REAL[self].note(event, **details)


_REAL: WeakKeyDictionary[AgentEpisode, Episode] = WeakKeyDictionary()
"""Not an attribute, so that nothing that reads, prints or copies an agent's episode comes upon the world."""


def real_episode(episode: Any) -> Episode:
    """Return the episode behind what an agent object or function got, or ``episode`` itself where it is one."""
    inner = getattr(episode, "_episode", episode)  # a function's view of it
    return _REAL[inner] if isinstance(inner, AgentEpisode) else inner
