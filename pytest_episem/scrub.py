"""Texts of others made fit to be written: without secrets, and without what a terminal or a CI runner would act on."""

from __future__ import annotations

import base64
import functools
import html
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

LONGEST = 300
"""Characters of a scrubbed text."""
HIDDEN = "***"
_SHORTEST_SECRET = 6
_SHORTEST_LINE = 16
"""Characters from which one line of a secret of several lines is a secret of its own."""
_SECRET_NAME = re.compile(
    r"(?:(?:^|_)KEY|TOKEN|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|CREDENTIALS?|_PWD|_PASS|_PAT)(?:_?\d+)?$"
    r"|SECRET|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|(?:AUTH|ACCESS|BEARER)_?TOKEN|PASSWORD_"
)
"""In upper case: what a variable that holds a secret is called, numbered or not."""
_ORDINARY = {"anonymous", "default", "disable", "disabled", "enable", "enabled", "optional", "private", "public"}
_ORDINARY |= {"required", "unknown", "nothing"}
"""Values from six letters up that say something about a secret and are none."""
_ADDRESS_NAME = re.compile(r"(?:UR[IL]|DSN|PROXY|BASE|ENDPOINT)(?:_?\d+)?$")
"""Variables whose value may be an address with a password in it."""
_LOGIN = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_PATTERNS = (
    re.compile(r"(?i)(?<=bearer )\S+"),
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|ghs|github_pat|glpat|AIza|AKIA|ya29)[-_.]?(?:[\w*.-]){8,}"),
    re.compile(r"(?i)(?<=[?&])(?:api[-_]?)?(?:key|token|secret|signature|sig)=[^&\s'\"]+"),
    re.compile(r"(?<=://)[^/\s@]+@"),
)
_KEY_SHAPE = re.compile(
    r"(?<![\w+/=-])(?:(?:sk|pk|rk|gsk|xai|hf|ghp|gho|ghs|github_pat|glpat)[-_][\w-]{16,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,})"
    r"|(?i:(?<=\bbearer ))[\w.~+/=-]{20,}"
)
"""Stricter than ``_PATTERNS``: no word of a sentence, nor a piece of a longer encoded text, has this shape."""
_SHAPE_SIGNS = [
    *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "xai-", "hf_", "hf-", "gho", "ghp", "ghs", "xai_", "_pat", "glpat"),
    *("AKIA", "AIza", "earer ", "EARER "),
]
"""One of these stands in whatever ``_KEY_SHAPE`` finds, and is much sooner looked for."""
_COMMANDS = "error|warning|notice|debug|group|endgroup|add-m|remove-m|stop-c|set-|save-s|add-path|echo|internal-|vso"
_COMMAND = re.compile(rf"##+(?=[\w.-]*\[)|(?<!\S):{{2,}}|:{{2,}}(?=\s*(?:{_COMMANDS}))", re.IGNORECASE)
"""What GitHub's runner and its like may take for a command: ``##[name]`` anywhere, ``::name::`` at the start of a line,
which may be anywhere once a terminal has broken it."""


def scrubbed(text: object, longest: int = LONGEST) -> str:
    """Return ``text`` on one line of at most ``longest`` characters, secrets replaced by ``***``.

    Secrets are the values of environment variables named like keys, tokens or passwords, and what looks like a
    bearer token, an API key, a signed query or a user and password in a URL.
    """
    line = " ".join(_without_known(str(text).encode("utf-8", "backslashreplace").decode()).split())
    for pattern in _PATTERNS:
        line = pattern.sub(HIDDEN, line)
    line = without_commands("".join(c if c.isprintable() else repr(c)[1:-1] for c in line))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def without_secrets(value: Any) -> Any:
    """Return a text, or a JSON value with all its texts, without the secrets of the environment and API keys.

    Nothing else changes: a transcript stays what it was. Texts lose no line end and no spaces.
    """
    known = _known()
    return _hide_in(value, known)


def without_known_secrets(text: str) -> str:
    """Return a whole document without the secrets of the environment, however it encodes them."""
    return _without_known(text)


def without_commands(line: str) -> str:
    """Return one line in which a CI runner finds no command: the marks of one are drawn apart, ``: :error: :``."""
    if "::" not in line and "##" not in line:
        return line
    return _COMMAND.sub(lambda mark: " ".join(mark[0]), line)


def fit_to_print(text: str) -> str:
    """Return a text of many lines, such as a traceback, without secrets, surrogates or commands of a CI runner.

    Its colours and its layout stay.
    """
    plain = without_secrets(text.encode("utf-8", "backslashreplace").decode())
    if "::" not in plain and "##" not in plain:
        return str(plain)
    return "".join(without_commands(line) for line in plain.splitlines(keepends=True))


def looks_secret(text: str) -> bool:
    """Whether ``text`` holds what ``scrubbed`` would hide."""
    return HIDDEN in scrubbed(text.replace(HIDDEN, ""), longest=len(text) * 4 + 10)


def holds_secret(document: str) -> bool:
    """Whether ``document``, a JSON text, holds a secret of the environment or something of an API key's shape."""
    return _hide_shapes(_without_known(document)) != document


def _hide_in(value: Any, known: _Known) -> Any:
    if isinstance(value, str):
        return _hide_shapes(known.hide(value))
    if isinstance(value, dict):
        return {_hide_in(key, known): _hide_in(item, known) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hide_in(item, known) for item in value]
    return value


def _hide_shapes(text: str) -> str:
    return _KEY_SHAPE.sub(HIDDEN, text) if any(sign in text for sign in _SHAPE_SIGNS) else text


def _without_known(text: str) -> str:
    return _known().hide(text)


class _Known:
    """The secrets of the environment, in every form in which a text may hold them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        whole = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
        self._texts = [form for form in whole if not _is_word(form)]
        self._words = [re.compile(rf"(?<!\w){form}(?!\w)") for form in whole if _is_word(form)]
        self._spread = [_spread(secret) for secret in secrets if len(secret.split()) > 1]

    def hide(self, text: str) -> str:
        """Return ``text`` with each of them replaced."""
        for spread in self._spread:
            text = spread.sub(HIDDEN, text)
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        for word in self._words:
            text = word.sub(HIDDEN, text)
        return text


def _is_word(text: str) -> bool:
    """Whether a secret is made as ordinary words and numbers are, and so is not looked for inside longer ones."""
    return len(text) < 12 and (text.isalpha() or text.isdigit())


def _spread(secret: str) -> re.Pattern[str]:
    """Return the pattern of a secret of several lines or words, however its lines are joined or indented."""
    return re.compile(r"(?:[\s|>]|\bE\b|\\+[nrt])+".join(map(re.escape, secret.split())))


def _forms(secret: str) -> Iterator[str]:
    for part in (secret, *(line for line in map(str.strip, secret.splitlines()) if _own_line(line))):
        written = json.dumps(part)[1:-1]
        yield from (part, written, json.dumps(written)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1])
        yield from (repr(part)[1:-1], html.escape(part), base64.b64encode(part.encode("utf-8", "replace")).decode())
        octets = part.encode("utf-8", "replace")
        for coded in (quote(octets), quote(octets, safe=""), quote_plus(octets)):
            yield from (coded, re.sub(r"%..", lambda found: found[0].lower(), coded))


def _own_line(line: str) -> bool:
    return len(line) >= _SHORTEST_LINE and not line.startswith("-----")


def _known() -> _Known:
    return _known_of(tuple(_secrets()))


@functools.lru_cache(maxsize=8)
def _known_of(secrets: tuple[str, ...]) -> _Known:
    return _Known(secrets)


def _secrets() -> Iterator[str]:
    for name in list(os.environ):
        if _named_secret(name):
            yield from _serious(os.environ.get(name, ""))
        elif _named_address(name):
            yield from (word for found in _LOGIN.findall(os.environ.get(name, "")) for word in _serious(found))


def _serious(value: str) -> list[str]:
    value = value.strip()
    return [] if _ordinary(value) else [value]


@functools.lru_cache(maxsize=4096)
def _named_secret(name: str) -> bool:
    return _SECRET_NAME.search(name.upper()) is not None


@functools.lru_cache(maxsize=4096)
def _named_address(name: str) -> bool:
    return _ADDRESS_NAME.search(name.upper()) is not None


@functools.lru_cache(maxsize=256)
def _ordinary(value: str) -> bool:
    """Whether a value is no secret, whatever its name: a short one, a word, a small number, a path of this machine."""
    if len(value) < _SHORTEST_SECRET or value.lower() in _ORDINARY or (value.isdigit() and len(value) < 8):
        return True
    return os.path.isabs(value) and os.path.exists(value)
