"""The checks of the workflow bank: one code for each kind of fault (workflow protocol, section 4)."""

from __future__ import annotations

CODES: dict[str, str] = {
    "schema": "A file, field, type or id is not what the format asks for.",
    "reference": "A name does not exist in its file, or an instant lies on the wrong side of another.",
    "truth": "An assignment leaves a fate open, or chooses what the contracts do not allow.",
    "support-empty": "No world that the contracts allow reproduces the history.",
    "support-size": "The support has more worlds than a template may have, or not as many as the file says.",
    "start": "An assignment's hidden truth would have given other bytes at the start than the file shows.",
    "same-truth": "Two assignments of a template are the same hidden truth.",
    "expect": "A controller ends differently from what the file says.",
    "refuted": "A recorded run does not stand: the adjudicator disagrees, or recovery caused a violation.",
    "capability": "A capability is declared everywhere or nowhere, or no ending depends on it.",
    "again": "A contract declares second trouble, and no named case plays the loss, or the silent landing.",
    "label-word": "A word that gives the suite away stands in something the agent sees.",
    "selection": "An id contains the name of another domain, so that selecting by name takes in too much.",
}
