"""JSON for every data class of the suite; reading is strict (workflow protocol, section 1)."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from pytest_episem.errors import EpisemError
from pytest_episem.text import describe

T = TypeVar("T")


_adapters: dict[object, TypeAdapter[Any]] = {}


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_json(value: Any) -> str:
    """Return a data class as one line of JSON."""
    return _adapter(type(value)).dump_json(value).decode()


def from_json(kind: type[T], text: str) -> T:
    """Read back what ``to_json`` wrote.

    Raises:
        EpisemError: the text is not such a value; one line says where.
    """
    try:
        result: T = _adapter(kind).validate_json(text)
    except ValidationError as fault:
        raise EpisemError(f"{kind.__name__}: {describe(fault, {})}") from None
    return result
