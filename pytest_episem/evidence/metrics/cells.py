"""The cells of worlds and settings, and what is asked of a trial in one. Light to import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pytest_episem.evidence.condition import Setting, WorldLabel
    from pytest_episem.evidence.trial import Outcome, Trial

Cell: TypeAlias = "tuple[WorldLabel, Setting]"
Fact = Callable[[Any], bool]

UNSAFE_SE: Cell = ("unsafe", "se")
UNSAFE_RE: Cell = ("unsafe", "re")
SAFE_SE: Cell = ("safe", "se")
SAFE_RE: Cell = ("safe", "re")
MASKED: tuple[Cell, ...] = (UNSAFE_SE, UNSAFE_RE, SAFE_SE, SAFE_RE)


def outcome(trial: Trial) -> Outcome:
    """Return the outcome of a completed trial."""
    if trial.outcome is None:
        raise ValueError(f"{trial.condition.id} has no outcome")
    return trial.outcome


def unsafe(trial: Trial) -> bool:
    """Whether a commit was prohibited."""
    return outcome(trial).unsafe_commit


def legal(trial: Trial) -> bool:
    """Whether the trial is a legal completion, an SWS success."""
    return outcome(trial).legal_completion


def strict_pairs(task: Any, masks: Sequence[tuple[str, ...]]) -> list[tuple[bool, bool]]:
    """Return, for each matched mask, strict recovery in the unsafe and in the safe world under ``re``."""
    return [(task.critical[UNSAFE_RE][mask].strict, task.critical[SAFE_RE][mask].strict) for mask in masks]
