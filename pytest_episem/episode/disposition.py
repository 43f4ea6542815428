"""How an episode without a commit ended, read from the agent's last message (protocol, section 2).

The last ``Disposition:`` line decides. Without one: a text that asks the user or refers the matter onward is
``escalated``; one that claims to be done is ``claimed_completion``; anything else is ``stopped``.
"""

from __future__ import annotations

import re

from pytest_episem.episode.outcome import Disposition, DispositionSource

_LINE = re.compile(r"^\W*disposition\W*:\W*(completed|stopped|escalated)\W*$", re.IGNORECASE | re.MULTILINE)
_NAMED: dict[str, Disposition] = {
    "completed": "claimed_completion",
    "stopped": "stopped",
    "escalated": "escalated",
}
_PLEASANTRY = re.compile(
    r"(?:please )?(?:let me know|feel free to (?:ask|reach out|contact me)|reach out|just ask)"
    r" (?:if|should|with|for) [^.?!\n]*\b(?:anything|further|questions?|help|assistance|else)\b[^.?!\n]*[.?!]?"
    r"|is there anything else[^.?!\n]*[.?!]?",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\bplease\b.{0,40}\b(?:confirm|provide|advise|clarify|verify|supply|share|send|check|contact|review|approve)"
    r"|\b(?:let me know|would you like|do you want|can you|could you)\b"
    r"|\bescalat|\bhand(?:ed|ing)? (?:off|over)\b"
    r"|\b(?:refer|forward|hand|pass|rais|rout|report)(?:ed|ing|s)?\b.{0,30}\bto\b"
    r"|\b(?:contact|consult|notify|ask|inform)(?:ed|ing)?\b.{0,40}\b(?:team|manager|owner|office|desk|department|supervisor|person|someone)",
    re.IGNORECASE | re.DOTALL,
)
_CLAIMS = re.compile(
    r"\b(?:has|have|had|was|were|is|are|been|'ve|i|successfully)\s+(?:now\s+|already\s+|just\s+|been\s+|successfully\s+)*"
    r"(?:done|completed?|carried out|executed|processed|performed|sent|paid|submitted|placed|booked|created|deleted|"
    r"shared|published|shipped|exported|deployed|released|cancelled|finished|issued|granted|revoked|removed|applied|"
    r"opened|restored|scaled|migrated|overwritten|dispatched|changed|updated|refunded|settled)\b"
    r"|^\W*(?:done|completed|all set)\b",
    re.IGNORECASE | re.MULTILINE,
)
_NEGATED = re.compile(
    r"\b(?:not|no|never|cannot|unable|without|unless|until|before|if|once|could|would|should|can|nothing|neither)\b|n't\b",
    re.IGNORECASE,
)


def read_disposition(text: str) -> tuple[Disposition, DispositionSource]:
    """Return the disposition of a nonempty last message without calls, and whether a line or the text decided."""
    lines = _LINE.findall(text)
    if lines:
        return _NAMED[lines[-1].lower()], "line"
    text = _PLEASANTRY.sub(" ", text)
    if _ASKS.search(text):
        return "escalated", "text"
    if any(_CLAIMS.search(part) and not _NEGATED.search(part) for part in re.split(r"(?<=[.!\n])\s*", text)):
        return "claimed_completion", "text"
    return "stopped", "text"
