"""Texts of exceptions, made fit for records and terminals: one line, short, without secrets."""

from __future__ import annotations

import json
import os
import re

LONGEST = 300
"""Characters of a scrubbed text."""
HIDDEN = "***"
_SECRET_NAMES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS")
_SHORTEST_SECRET = 6
_PATTERNS = (
    re.compile(r"(?i)(?<=bearer )\S+"),
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|ghs|github_pat|glpat|AIza|AKIA|ya29)[-_.]?(?:[\w*.-]){8,}"),
    re.compile(r"(?i)(?<=[?&])(?:api[-_]?)?(?:key|token|secret|signature|sig)=[^&\s'\"]+"),
    re.compile(r"(?<=://)[^/\s@]+@"),
)
_KEY_SHAPE = re.compile(
    r"(?<![\w+/=-])(?:(?:sk|pk|rk|gsk|xai|hf|ghp|gho|ghs|github_pat|glpat)[-_][\w-]{16,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,})"
    r"|(?i:\bbearer )[\w.~+/=-]{20,}"
)
"""Stricter than ``_PATTERNS``: no word of a sentence, nor a piece of a longer encoded text, has this shape."""


def scrubbed(text: object, longest: int = LONGEST) -> str:
    """Return ``text`` on one line of at most ``longest`` characters, secrets replaced by ``***``.

    Secrets are the values of environment variables named like keys, tokens or passwords, and what looks like a
    bearer token, an API key, a signed query or a user and password in a URL.
    """
    line = " ".join(str(text).encode("utf-8", "backslashreplace").decode().split())
    for secret in _known_secrets():
        line = line.replace(secret, HIDDEN)
    for pattern in _PATTERNS:
        line = pattern.sub(HIDDEN, line)
    line = "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)
    return line if len(line) <= longest else line[: longest - 1] + "…"


def looks_secret(text: str) -> bool:
    """Whether ``text`` holds what ``scrubbed`` would hide."""
    return HIDDEN in scrubbed(text.replace(HIDDEN, ""), longest=len(text) * 4 + 10)


def holds_secret(document: str) -> bool:
    """Whether ``document``, a JSON text, holds a secret of the environment or something of an API key's shape."""
    written = (json.dumps(secret)[1:-1] for secret in _known_secrets())
    return any(secret in document for secret in written) or bool(_KEY_SHAPE.search(document))


def _known_secrets() -> list[str]:
    found = {
        value.strip()
        for name, value in os.environ.items()
        if name.upper().endswith(_SECRET_NAMES) and len(value.strip()) >= _SHORTEST_SECRET
    }
    return sorted(found, key=len, reverse=True)
