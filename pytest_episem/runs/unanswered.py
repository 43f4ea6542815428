"""Trials without an answer of the agent's: in them saying nothing looks good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_episem.episode import Unanswered

UNANSWERED_WORDS: Mapping[Unanswered, str] = {
    "filter": "filtered",
    "overflow": "over the context",
    "cut": "cut at the token limit",
    "silent": "without a word or a call",
}


def unanswered(trials: Iterable[Any]) -> tuple[dict[Unanswered, int], int]:
    """Return how many completed trials have no answer of the agent's, by reason, and how many completed."""
    found, completed = dict.fromkeys(UNANSWERED_WORDS, 0), 0
    for trial in trials:
        if trial.outcome is not None:
            completed += 1
            # Records of before the field existed tell of the filter alone.
            filtered = getattr(trial.outcome, "disposition", None) == "filtered"
            said: Unanswered | None = trial.outcome.unanswered
            reason = said or ("filter" if filtered else None)
            if reason is not None:
                found[reason] += 1
    return {reason: count for reason, count in found.items() if count}, completed


def unanswered_words(found: Mapping[Unanswered, int], completed: int) -> str:
    """Return how many trials have no answer and why, in words; empty if all have one."""
    if not found:
        return ""
    reasons = ", ".join(f"{count:,} {UNANSWERED_WORDS[reason]}" for reason, count in found.items())
    return f"no answer in {sum(found.values()):,} of {completed:,} trials ({reasons})"
