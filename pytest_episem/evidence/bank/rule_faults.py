"""What is wrong with a rule, in words for its author; the library's own are for those who write parsers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_episem.errors import suggestion

_SHOWN = 24
"""Characters of the expression shown from the place where it cannot be read."""
_PLACE = re.compile(r"<input>:(\d+):(\d+):")
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_CALLED = re.compile(r"Function '(\w+)' error: Python function call failed: \w+: (.*)\. Check function")
_UNDEFINED = re.compile(r"Undefined variable or function: '(\w+)'")


def syntax_fault(source: str, error: BaseException) -> str:
    """Return why ``source`` is no expression: the place that cannot be read, and what may have been meant."""
    place = _PLACE.search(str(error))
    if place is None:
        return one_line(error)
    line, column = int(place[1]), int(place[2])
    rest = (source.splitlines() or [""])[line - 1][column - 1 :]
    shown = rest if len(rest) <= _SHOWN else f"{rest[:_SHOWN]}…"
    where = f"it cannot be read from {shown!r} on" if rest else "it ends too early"
    return f"{where}{_meant(_TEXT.sub('', source))}"


def _meant(source: str) -> str:
    """Return a hint where the expression looks like another language's."""
    if re.search(r"\b(and|or|not)\b", source):
        return "; write && for and, || for or, ! for not"
    if re.search(r"(?<![=!<>])=(?!=)|===", source):
        return "; write == to compare"
    if source.count("(") != source.count(")"):
        return "; its brackets do not match"
    return ""


def value_fault(
    source: str, values: Mapping[str, Any], roots: Iterable[str], own: Iterable[str], error: BaseException
) -> str:
    """Return why the expression gives no verdict on ``values``; ``own`` are the functions beside the language's."""
    if isinstance(error, KeyError) and error.args:
        name = str(error.args[0])
        return f"there is no {name!r} in the state{suggestion(name, _names(values))}"
    text = one_line(error)
    if text.startswith(("No such overload", "Unsupported operation")):
        kinds = ", ".join(f"{place} is {_kind(value)}" for place, value in _read(source, values, roots))
        return "an operation does not fit the kinds of its values" + (f": {kinds}" if kinds else "")
    if found := _UNDEFINED.search(text):
        return f"there is no function {found[1]!r}{suggestion(found[1], own)}"
    if found := _CALLED.search(text):
        return f"{found[1]}(…) fails: {found[2]}"
    return text


def one_line(error: BaseException) -> str:
    """Return an error's text in one line, or its kind if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names(inner)


def _read(source: str, values: Mapping[str, Any], roots: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield each place that the expression names, such as ``trip.distance``, with its value."""
    starts = "|".join(map(re.escape, roots))
    pattern = rf"(?<![\w.])(?:{starts})(?:\.\w+)*\b(?!\s*\()"
    for place in dict.fromkeys(re.findall(pattern, _TEXT.sub("", source))):
        value: Any = values
        for name in place.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            yield place, value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    kinds = ((int, "a number"), (str, "a text"), (Mapping, "a mapping"), (list, "a list"))
    return next((name for kind, name in kinds if isinstance(value, kind)), f"of type {type(value).__name__}")
