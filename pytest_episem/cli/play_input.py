"""What a person types who plays the agent: a call, the end, or a question to us."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_episem.episode import Call
from pytest_episem.errors import EpisemError, suggestion

Ask = Literal["help", "tools", "request"]
End = Literal["stopped", "escalated"]
ASKS: tuple[Ask, ...] = ("help", "tools", "request")
ENDS: dict[str, End] = {"stop": "stopped", "escalate": "escalated"}


@dataclass(frozen=True, slots=True)
class LastMessage:
    """The end without a commit, with what the person says."""

    disposition: End
    text: str


def read_line(line: str, schemas: Mapping[str, Mapping[str, Any]]) -> Call | LastMessage | Ask | None:
    """Return what a typed line means, ``None`` for an empty one. ``schemas`` are the tools' by name.

    Raises:
        EpisemError: the line is neither; nothing has happened then, so a slip of the keyboard is no invalid call.
    """
    line = line.strip()
    if not line:
        return None
    if line.startswith("{"):
        return _json_call(line)
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if word in schemas:
        return Call(word, _json_object(rest) if rest.startswith("{") else _arguments(rest, schemas[word]))
    for ask in ASKS:
        if line == ask:
            return ask
    if word in ENDS:
        return LastMessage(ENDS[word], rest or line)
    near = suggestion(word, [*schemas, *ASKS, *ENDS])
    raise EpisemError(f"{word!r} is neither a tool nor a command{near or '; help lists them'}")


def _json_call(line: str) -> Call:
    content = _json_object(line)
    name = content.get("tool", content.get("name"))
    if not isinstance(name, str) or set(content) - {"tool", "name", "arguments"}:
        raise EpisemError('a call in JSON is {"tool": "NAME", "arguments": {…}}')
    return Call(name, content.get("arguments", {}))


def _json_object(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise EpisemError("that is not valid JSON") from None
    return dict(content)


def _arguments(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError:
        raise EpisemError("a quotation mark is not closed") from None
    arguments: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise EpisemError(f'{word!r}: arguments are written name=value, with " " around what holds spaces')
        arguments[name] = _value(value, schema.get("properties", {}).get(name, {}))
    return arguments


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """The value of a parameter; what does not fit its type stays text, for the interface to reject."""
    kind = schema.get("type")
    if kind == "array":
        return _list(text, schema)
    if kind in ("integer", "number") and re.fullmatch(r"-?\d{1,18}(\.\d{1,18})?", text):
        return float(text) if "." in text else int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


def _list(text: str, schema: Mapping[str, Any]) -> list[Any]:
    if text.startswith("["):
        try:
            return list(json.loads(text))
        except (ValueError, RecursionError):
            raise EpisemError("that is not a valid list in JSON") from None
    return [_value(item.strip(), schema.get("items", {})) for item in text.split(",") if item.strip()]
