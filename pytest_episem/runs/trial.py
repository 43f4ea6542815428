"""A trial of any suite: what became of one condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pytest_episem.episode import Usage

Status = Literal["completed", "error"]


@dataclass(slots=True)
class TrialError:
    """Why a trial has no outcome: an infrastructure fault, never the agent's behaviour."""

    kind: str
    message: str


class Condition(Protocol):
    """What is played: hashable, the key of its trial. ``id`` is what people read."""

    @property
    def suite(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def repeat(self) -> int: ...

    @property
    def id(self) -> str: ...

    def __hash__(self) -> int: ...


class Trial(Protocol):
    """One rollout of one condition with its outcome, or with the error that left it without one.

    ``condition`` and ``outcome`` are the suite's own; the rest is the same for all.
    """

    condition: Any
    phase: Any
    status: Status
    outcome: Any
    usage: Usage
    turns: int
    seconds: float
    error: TrialError | None
    events: list[dict[str, Any]]

    @property
    def completed(self) -> bool:
        """Whether the trial has an outcome that may enter a numerator or denominator."""
