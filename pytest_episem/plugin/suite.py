"""What the shipped suite's items call. Their rollouts happen in the items' set-up, so that an infrastructure error is
an error and not a failure; they ask for one session-wide fixture alone, since there are thousands of them."""

from __future__ import annotations

from typing import Any


def agent_under_test(episem_agent: Any) -> Any:
    """Have pytest provide the agent: the chosen one, or the repository's own override."""
