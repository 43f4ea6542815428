"""What one rollout cost."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

LARGEST = 10**15
"""No rollout has more requests or tokens, nor costs more dollars."""


@dataclass(slots=True)
class Usage:
    """Requests and tokens of one rollout as the provider reported them; ``None`` is unknown, never 0."""

    requests: int | None = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    cached_requests: int = 0

    def sound(self) -> tuple[Usage, str]:
        """Return the usage with every amount as records hold it, and what is wrong with the first that is none.

        An agent of one's own may have put anything there; what is no amount is left out.
        """
        kept, wrong = Usage(), ""
        for field in fields(self):
            given = getattr(self, field.name)
            try:
                amount = amount_of(field.name, given)
            except TypeError as fault:
                wrong = wrong or str(fault)
            else:
                if amount is not None:
                    setattr(kept, field.name, amount)
        return kept, wrong


def amount_of(name: str, value: Any) -> float | None:
    """Return an amount of ``Usage`` as records hold it: ``812.0`` is 812, ``None`` is unknown.

    Raises:
        TypeError: it is no number from 0 up, or a count that is not whole.
    """
    if value is None:
        return None
    cost = name == "cost_usd"
    number = _float(value) if cost else _whole(value)
    if number is None or not 0 <= number <= LARGEST:
        raise TypeError(f"{name}={_shown(value)}: an amount is a {'' if cost else 'whole '}number from 0 up")
    return number


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        number = _float(value)
        return int(number) if number is not None and number.is_integer() else None


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not (isinstance(value, int | float | Decimal) or hasattr(value, "__index__")):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _shown(value: Any) -> str:
    try:
        text = ascii(value)
    except Exception:
        text = type(value).__name__
    return text if len(text) <= 40 else f"{text[:39]}…"
