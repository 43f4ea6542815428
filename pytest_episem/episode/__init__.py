"""The episode: turns, calls, invalid actions, disposition, event log, outcome. Pure; knows no model and no I/O."""

from pytest_episem.episode.episode import CALL_LIMIT, TURN_LIMIT, Call, Episode, Observation
from pytest_episem.episode.instruction import DEFAULT_INSTRUCTION
from pytest_episem.episode.outcome import Cause, Disposition, DispositionSource, Outcome, Usage

__all__ = [
    "CALL_LIMIT",
    "DEFAULT_INSTRUCTION",
    "TURN_LIMIT",
    "Call",
    "Cause",
    "Disposition",
    "DispositionSource",
    "Episode",
    "Observation",
    "Outcome",
    "Usage",
]
