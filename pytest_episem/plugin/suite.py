"""The shipped suite's two tests; ``collect`` makes one item a condition and one a task's boundary of them."""

from __future__ import annotations

from typing import Any


def condition(episem_rollout: Any, episem_oracle: Any) -> None:
    """One condition: let the agent play, ask the oracle."""
    episem_oracle.check(episem_rollout)


def boundary(episem_agent: Any, request: Any) -> None:
    """One task's adaptive boundary search (protocol, section 4)."""
    from pytest_episem.plugin import get_face

    get_face(request.config).check_boundary(request.node.task_id, episem_agent)
