"""The terminal summary."""

from __future__ import annotations

from typing import Any


def summary_lines(summary: Any, width: int, colour: bool) -> list[str]:
    six = summary.six
    return [f"{name}: {e.value} n={e.numerator}/{e.denominator} cov={e.coverage}" for name, e in six.items()]
