"""Places: where a fact lies in a state. Paths, reading, replacing, removing, and text with ``{places}`` in it.

A state is a nested mapping of text, integers, booleans and lists; it is never changed in place: ``put`` and ``drop``
return a new root that shares what did not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str, ...]
State: TypeAlias = Mapping[str, Any]

_BRACES = re.compile(r"\{([^{}]*)\}")
ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "absent"})()
"""Stands for a place that does not exist: the removed half of a presence atom's candidates."""


def parse(place: str) -> Path:
    """Return the keys of a dotted place: ``"request.amount"`` is ``("request", "amount")``."""
    return tuple(place.split("."))


def dotted(path: Path) -> str:
    """Return a path as people write it."""
    return ".".join(path)


def get(state: Any, path: Path, default: Any = ABSENT) -> Any:
    """Return the value at ``path``, or ``default`` where the path does not exist."""
    for key in path:
        if not isinstance(state, dict) or key not in state:
            return default
        state = state[key]
    return state


def put(state: State, path: Path, value: Any) -> State:
    """Return ``state`` with ``value`` at ``path``; the order of existing keys is kept. ``ABSENT`` removes."""
    if value is ABSENT:
        return drop(state, path)
    head, rest = path[0], path[1:]
    if rest:
        inner = state.get(head)
        value = put(inner if isinstance(inner, Mapping) else {}, rest, value)
    return {**state, head: value}


def drop(state: State, path: Path) -> State:
    """Return ``state`` without the place ``path``; unchanged where it does not exist."""
    head, rest = path[0], path[1:]
    if head not in state:
        return state
    if not rest:
        return {key: value for key, value in state.items() if key != head}
    if not isinstance(state[head], Mapping):
        return state
    return {**state, head: drop(state[head], rest)}


def merge(base: State, over: State) -> State:
    """Return ``base`` with ``over`` laid on it, mapping by mapping."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def names_in(text: str) -> list[str]:
    """Return what stands in braces in ``text``, in order."""
    return _BRACES.findall(text)


def fill(text: str, lookup: Callable[[str], Any]) -> str:
    """Return ``text`` with every ``{name}`` replaced by the words for ``lookup(name)``."""
    return _BRACES.sub(lambda found: words(lookup(found.group(1))), text)


def fill_value(value: Any, lookup: Callable[[str], Any]) -> Any:
    """Like ``fill`` for any value; a text that is one ``{name}`` alone becomes the value itself, with its type."""
    if isinstance(value, list):
        return [fill_value(item, lookup) for item in value]
    if isinstance(value, Mapping):
        return {key: fill_value(item, lookup) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    whole = _BRACES.fullmatch(value)
    return lookup(whole.group(1)) if whole else fill(value, lookup)


def words(value: Any) -> str:
    """Return a value as it reads in a sentence: a list as ``a, b and c``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        items = [words(item) for item in value]
        return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)
    return str(value)
