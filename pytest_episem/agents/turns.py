"""Turns of an agent that shows only its calls: told by which observations were still out (protocol, section 2)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from pytest_episem.episode import AgentEpisode, Call, Episode, Observation

GRACE = 0.2
"""Seconds an observation is held back, so that calls of the same message that come a moment later find it out."""
OVER = {"error": "The conversation has ended."}
"""The observation of a call that came after the end."""


class UnseenTurns:
    """Takes the calls of one episode as they come, from any thread or task.

    A call opens a turn when every earlier observation has been given back. One that comes while an observation is
    still out cannot follow from it, so it shares its turn.
    """

    def __init__(self, episode: Episode | AgentEpisode) -> None:
        self._episode = episode
        self._lock = threading.Lock()
        self._out = 0

    def call(self, name: str, arguments: Any = None, grace: float = GRACE) -> Observation:
        """Make a call and return its observation ``grace`` seconds later."""
        with self._calling(name, arguments) as observation:
            if grace:
                time.sleep(grace)
        return observation

    async def acall(self, name: str, arguments: Any = None, grace: float = GRACE) -> Observation:
        """Make a call as ``call`` does, without blocking the event loop."""
        with self._calling(name, arguments) as observation:
            if grace:
                await asyncio.sleep(grace)
        return observation

    def call_all(self, calls: list[Call]) -> list[Observation]:
        """Make the calls of one message, in order, in one turn."""
        with self._turn():
            taken = self._episode.take(calls)
        return [*taken, *(Observation(call, dict(OVER), valid=False) for call in calls[len(taken) :])]

    @contextlib.contextmanager
    def _calling(self, name: str, arguments: Any) -> Iterator[Observation]:
        call = Call(name, arguments)
        with self._turn():
            taken = self._episode.take([call])
            yield taken[0] if taken else Observation(call, dict(OVER), valid=False)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with self._lock:
            if self._out == 0:
                self._episode.open_turn()
            self._out += 1
        try:
            yield
        finally:
            with self._lock:
                self._out -= 1
                if self._out == 0:
                    self._episode.close_turn()
