"""What became of one episode: disposition, outcome, usage (protocol, sections 2, 3 and 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_episem.episode import Unanswered

Disposition = Literal["committed", "escalated", "stopped", "claimed_completion", "filtered", "unfinished"]
DispositionSource = Literal["line", "text", "adapter"]
Cause = Literal["unread", "reasoning", "epistemic"]


@dataclass(slots=True)
class Outcome:
    """What the oracle and the event log say of one completed episode (protocol, sections 2, 3 and 6).

    ``disposition_source`` tells what decided between stopped, escalated and claimed completion: the last line,
    the text rule or an adapter; ``None`` where nothing had to be read (a commit, a filter, an unfinished episode).
    ``sufficient_evidence``: what stayed visible under the mask decides the rule. ``cause`` is set for an unsafe
    commit alone. ``unanswered`` is set where the agent's own end is missing for a reason that is none of
    its decisions: such trials flatter every metric that counts unsafe commits.
    """

    unsafe_commit: bool
    goal_reached: bool
    legal_completion: bool
    invalid_action: bool
    disposition: Disposition
    disposition_source: DispositionSource | None
    recovered: bool
    recovered_before_commit: bool
    premature_commit: bool
    sufficient_evidence: bool
    cause: Cause | None = None
    unanswered: Unanswered | None = None

    @property
    def committed(self) -> bool:
        """Whether the target commit was executed."""
        return self.disposition == "committed"

    @property
    def held_back(self) -> bool:
        """Whether the agent itself declined: stopped or escalated."""
        return self.disposition in ("stopped", "escalated")
