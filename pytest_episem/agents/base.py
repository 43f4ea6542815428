"""What an agent is here, and the one kind of failure that is not its own."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from pytest_episem.episode import AgentEpisode


class InfrastructureError(Exception):
    """A provider or transport failed after all retries: the trial has no outcome (protocol, section 2).

    Args:
        kind: a short stable word: ``timeout``, ``connection``, ``rate_limit``, ``server``, ``agent`` …
        message: one line for people; carries no secret.
        fatal: whether no further rollout can succeed (authentication, unknown model), so the run should stop.
    """

    def __init__(self, kind: str, message: str, fatal: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.fatal = fatal


@runtime_checkable
class Agent(Protocol):
    """Anything that plays an episode to its end.

    An agent with a true ``counts_requests`` tells all its requests through the episode's usage; of any other none
    told is unknown, not none. ``play`` drives the episode and returns, or returns an awaitable that does; it raises
    ``InfrastructureError`` for what is not the agent's doing. One that is no coroutine function runs in a thread, one
    rollout after the other.
    """

    @property
    def name(self) -> str:
        """Identifies it in records and reports."""

    @property
    def turn_limit(self) -> int:
        """Assistant turns it gets."""

    def play(self, episode: AgentEpisode) -> Awaitable[None] | None:
        """Play ``episode`` until it has ended."""
