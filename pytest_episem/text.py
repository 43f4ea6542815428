"""Reading untrusted JSON: strict, finite numbers only, every fault one printable line."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from pytest_episem.errors import EpisemError, suggestion
from pytest_episem.scrub import without_commands

MAX_DEPTH = 100
_MOST_BITS = 4096
"""Of a whole number; Python writes and reads none of more than 4,300 digits."""


def load_json(text: str | bytes, once: bool = False) -> Any:
    """Parse ``text`` as JSON; ``ValueError`` with a short reason for anything else, NaN and infinities included.

    With ``once`` a key that stands twice in an object is refused too, where somebody may have edited the text.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once if once else None)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text") from None
    except json.JSONDecodeError as fault:
        raise ValueError(f"not valid JSON: {fault.msg} at column {fault.colno}") from None
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {printable(twice)!r} stands twice")
    return found


def dump_json(value: Any) -> str:
    """Return ``value`` as one line of ASCII JSON, so that lone surrogates survive any encoding.

    A model may send anything as an argument, and an agent note anything in the log: a number JSON cannot hold, and
    an object that is none, becomes the string that names it, and what is nested too deeply to be read back is cut.
    """
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value), ensure_ascii=True, allow_nan=False)


def printable(text: object) -> str:
    """Return ``text`` on one line without control characters or surrogates, fit for any terminal."""
    return escaped(" ".join(str(text).split()))


def escaped(line: str) -> str:
    """Return ``line`` with control characters, line ends and lone surrogates escaped; its spaces stay.

    What a CI runner would take for a command is drawn apart.
    """
    line = line.encode("utf-8", "backslashreplace").decode()
    return without_commands(
        line if line.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)
    )


def describe(fault: ValidationError, keys: Mapping[str, list[str]]) -> str:
    """Return the first fault of a failed validation in a few words; ``keys`` names what each object may hold."""
    first, *more = fault.errors(include_url=False, include_context=False, include_input=False)
    path = [str(part) for part in first["loc"]]
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        words = f"unknown key {'.'.join(path)!r}{suggestion(path[-1], keys.get('.'.join(path[:-1]), []))}"
    elif first["type"] == "missing":
        words = f"key {'.'.join(path)!r} is missing"
    else:
        message = first["msg"].removeprefix("Value error, ")
        words = f"{'.'.join(path)}: {message}" if path else message
    return printable(words + (f" (and {len(more)} more)" if more else ""))


def check_schema(document: Any, known: str, where: str) -> dict[str, Any]:
    """Return ``document`` if it is an object of the schema ``known``, else raise ``EpisemError``."""
    if not isinstance(document, dict):
        raise EpisemError(f"{where}: expected a JSON object of schema {known!r}")
    found = document.get("schema")
    if found != known:
        raise EpisemError(f"{where}: unknown schema {printable(repr(found))}; this version reads {known!r}")
    return document


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number a record may hold")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse(text[:20])
    return number


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if depth > MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {key if isinstance(key, str) else described(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"(a number of {value.bit_length()} bits)"
    return value if value is None or isinstance(value, str | int | float) else described(value)


def described(value: object) -> str:
    """Return any object in a few words, also one whose ``repr`` fails."""
    try:
        return reprlib.repr(value)
    except Exception:
        return type(value).__name__
