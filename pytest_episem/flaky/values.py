"""Arguments and answers of tools: copied as they were sent, compared, and shown."""

from __future__ import annotations

import copy
import dataclasses
import enum
import reprlib
import types
from collections.abc import Iterable
from typing import Any

from pytest_episem.text import printable

_SINGLE = (type(None), type, enum.Enum, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
"""What is itself, and equal to nothing else."""


def as_sent(value: Any) -> Any:
    """Return lists, dicts and the like copied, to be sent once more. Any other object, a session or a context, is
    itself: what is done to it must be seen."""
    try:
        if type(value) in (list, set, frozenset, tuple):
            return type(value)(as_sent(item) for item in value)
        if type(value) is dict:
            return {key: as_sent(item) for key, item in value.items()}
    except RecursionError:  # it holds itself
        pass
    return value


def copied(value: Any) -> Any:
    """Return a value as it is now, to be written down: copied, as far as it is made of data alone."""
    if incomparable(value):
        return as_sent(value) if isinstance(value, dict | list | tuple) else value
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def incomparable(value: Any) -> str:
    """Return the name of a type within ``value`` whose objects nobody can tell to be the same; else ``""``."""
    try:
        return _incomparable(value)
    except RecursionError:
        return type(value).__name__


def _incomparable(value: Any) -> str:
    if isinstance(value, dict):
        return _first(_incomparable(item) for item in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return _first(_incomparable(item) for item in value)
    found = _first(_incomparable(getattr(value, name, None)) for name in _field_names(type(value), value))
    if found:
        return found
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


def _field_names(kind: Any, value: Any) -> list[str]:
    """Return the names of the fields of a dataclass, a pydantic model or an attrs class; of no other."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [field.name for field in kind.__attrs_attrs__]
    return list(vars(value)) if hasattr(kind, "model_fields") else []


def _first(names: Iterable[str]) -> str:
    return next((name for name in names if name), "")


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxlong, self.maxother = 4, 100, 60, 100
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 12


_SHORT = _Short()
