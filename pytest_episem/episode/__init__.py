"""The episode over any world: turns, calls, invalid actions, the end, the event log. Pure; knows no model, no I/O."""

from pytest_episem.episode.episode import CALL_LIMIT, TURN_LIMIT, Call, Episode, Observation
from pytest_episem.episode.face import AgentEpisode, real_episode
from pytest_episem.episode.usage import Usage
from pytest_episem.episode.world import Abandonment, Ending, Reply, ToolSpec, Unanswered, World, fresh

__all__ = [
    "CALL_LIMIT",
    "TURN_LIMIT",
    "Abandonment",
    "AgentEpisode",
    "Call",
    "Ending",
    "Episode",
    "Observation",
    "Reply",
    "ToolSpec",
    "Unanswered",
    "Usage",
    "World",
    "fresh",
    "real_episode",
]
