"""A trial of any suite: what became of one condition."""

from __future__ import annotations

from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Trial:
    """One rollout of one condition with its outcome, or with the error that left it without one.

    A suite's own trial says of what kind ``condition`` and ``outcome`` are, and adds what follows from them.
    """

    condition: Any
    phase: Any = field(default="fixed", kw_only=True)
    status: Status = field(default="completed", kw_only=True)
    outcome: Any = field(default=None, kw_only=True)
    usage: Usage = field(default_factory=Usage, kw_only=True)
    turns: int = field(default=0, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)
    error: TrialError | None = field(default=None, kw_only=True)
    events: list[dict[str, Any]] = field(default_factory=list, kw_only=True)

    @property
    def completed(self) -> bool:
        """Whether the trial has an outcome that may enter a numerator or denominator."""
        return self.status == "completed"
