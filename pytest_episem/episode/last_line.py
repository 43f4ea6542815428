"""The line by which an agent's last message says how it ended: ``Disposition: completed``."""

from __future__ import annotations

import functools
import re

_NO_LINE = re.compile(r"disposition[\W_]{0,10}[:\uff1a=][^.\n]{0,100}", re.IGNORECASE)


@functools.lru_cache
def _line(words: tuple[str, ...]) -> re.Pattern[str]:
    """The choice of the words as an instruction names it is no such line."""
    choice = rf"(?:{'|'.join(words)})"
    return re.compile(
        r"(?:^|[.!?]\s)[\W_]{0,20}(?:(?:my|the|final)\s{1,3}){0,2}disposition[\W_]{0,10}[:\uff1a=][\W_]{0,20}"
        rf"({choice})(?![a-z])(?!\s{{0,3}}(?:[|/,]|or\b)\s{{0,3}}{choice})",
        re.IGNORECASE | re.MULTILINE,
    )


def disposition_line(text: str, words: tuple[str, ...]) -> str | None:
    """Return which of the words the last ``Disposition:`` line of a message says, in lower case; ``None`` without one.

    Every pattern is bounded, so a long text takes no more than its length.
    """
    lines = _line(words).findall(text)
    return lines[-1].lower() if lines else None


def without_disposition(text: str) -> str:
    """Return a message without whatever begins like such a line."""
    return _NO_LINE.sub("", text)
