"""What came back for one request: an answer, or that there is none and why, with what the provider said of it."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_episem.agents.messages import Answer
from pytest_episem.episode import Abandonment


class Withheld(Exception):
    """No answer, and that is an outcome of the episode: a content filter on the request, a context overflow."""

    def __init__(self, disposition: Abandonment, reason: str) -> None:
        super().__init__(reason)
        self.disposition = disposition
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply.

    ``answer`` is the model's; where it is ``None`` the request was withheld, with ``disposition`` and ``reason``.
    Tokens and US dollars are what the provider and the price list said when it was made; ``None`` is unknown.
    ``left_out`` names the sampling arguments that the model had refused.
    """

    answer: Answer | None
    disposition: Abandonment | None = None
    reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    served_model: str = ""
    left_out: tuple[str, ...] = ()

    def taken(self) -> Answer:
        """Return the answer.

        Raises:
            Withheld: there is none, and that is the outcome.
        """
        if self.answer is None:
            raise Withheld(self.disposition or "unfinished", self.reason)
        return self.answer
