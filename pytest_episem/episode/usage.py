"""What one rollout cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Usage:
    """Requests and tokens of one rollout as the provider reported them; ``None`` is unknown, never 0."""

    requests: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    cached_requests: int = 0
