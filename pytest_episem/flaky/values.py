"""Arguments and answers of tools: copied as they were sent, compared, and shown."""

from __future__ import annotations

import copy
import dataclasses
import enum
import reprlib
import types
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_episem.text import printable

_SINGLE = (type(None), type, enum.Enum, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
"""What is itself, and equal to nothing else."""


def copied(value: Any) -> Any:
    """Return plain data copied, all the way down. What else an argument holds, a session or a client, is itself."""
    if type(value) in (list, set, frozenset, tuple):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    if not _is_record(value):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def incomparable(value: Any) -> str:
    """Return the name of a type within ``value`` whose objects nobody can tell to be the same; else ``""``."""
    if isinstance(value, dict):
        return _first(incomparable(item) for item in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return _first(incomparable(item) for item in value)
    if _is_record(value):
        return _first(incomparable(item) for item in _fields(value))
    if isinstance(value, _SINGLE) or getattr(type(value), "__eq__", None) is not object.__eq__:
        return ""
    return type(value).__name__


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal; what fails to compare, or does not say yes or no, is not."""
    try:
        return bool(one is other or one == other)
    except Exception:
        return False


def shown(value: Any) -> str:
    """Return a value on one printable line, cut where it is long, also where its ``repr`` fails."""
    try:
        return printable(_SHORT.repr(value))
    except Exception:
        return f"<{type(value).__name__}>"


def shown_arguments(arguments: dict[str, Any]) -> str:
    """Return arguments as a call is written."""
    return ", ".join(f"{printable(name)}={shown(value)}" for name, value in arguments.items())


def _is_record(value: Any) -> bool:
    kind = type(value)
    return (
        dataclasses.is_dataclass(kind)
        or hasattr(kind, "model_fields")
        or hasattr(kind, "__attrs_attrs__")
        or isinstance(value, dict | list | set | frozenset | tuple)
    )


def _fields(value: Any) -> Iterator[Any]:
    names = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else vars(value)
    yield from (getattr(value, name, None) for name in names)


def _first(names: Iterable[str]) -> str:
    return next((name for name in names if name), "")


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxlong, self.maxother = 4, 100, 60, 100
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 12


_SHORT = _Short()
