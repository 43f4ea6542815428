"""What is wrong with a bank file's shape, in words: the field as it stands in the file, and what belongs there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_episem.errors import suggestion

_WORDS = {
    "": " after validation",
    "a mapping": "a valid dictionary",
    "a text": "a valid string",
    "a number": "a valid integer",
    "true or false": "a valid boolean",
    "a list": "a valid list",
}


M = TypeVar("M", bound=BaseModel)


def pattern(form: Any) -> str:
    """Return the pattern of an annotated text type of a format."""
    return str(form.__metadata__[0].pattern)


@dataclass(frozen=True, slots=True)
class Shape(Generic[M]):
    """A format of bank files: its model, what the file holds in words, the models below it by their place (``*`` is
    any name or number), the name of the part whose entries problems are named after, and its text types in words."""

    model: type[M]
    holds: str
    below: Mapping[tuple[str, ...], type[BaseModel]]
    part: str
    forms: Mapping[str, str]

    def fields(self, place: tuple[str, ...]) -> list[str]:
        """Return the keys that belong at a place."""
        stars = tuple("*" if number % 2 else step for number, step in enumerate(place))
        model = self.below.get(stars) if stars else self.model
        return [field.alias or name for name, field in model.model_fields.items()] if model else []


@dataclass(frozen=True, slots=True)
class ShapeFault:
    """One wrong field: its place in the file and what is wrong with it."""

    place: tuple[str, ...]
    message: str


def shape_faults(shape: Shape[Any], content: Mapping[str, Any], error: ValidationError) -> list[ShapeFault]:
    """Return one fault a field, unknown keys before missing ones (a misspelt key explains a missing one).

    Where a field may be a text or a mapping, pydantic reports both attempts; the one that came further counts.
    """
    faults: dict[tuple[str, ...], dict[str, Any]] = {}
    for detail in error.errors(include_url=False):
        fault: dict[str, Any] = {**detail}
        place = tuple(_places(content, fault))
        known = faults.setdefault(place, fault)
        if known is not fault and known["type"].endswith("_type"):
            both = fault["type"].endswith("_type")
            faults[place] = fault | ({"msg": f"{known['msg']} or {_wanted(fault).removeprefix('be ')}"} if both else {})
    kept = [(place, fault) for place, fault in faults.items() if not _attempt(place, fault, faults)]
    kept.sort(key=lambda item: item[1]["type"] == "missing")
    return [ShapeFault(place, _message(shape, place, fault)) for place, fault in kept]


def _places(content: Any, fault: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of the file in a fault's location; what pydantic adds to it, names of types, is left out."""
    steps = list(fault["loc"])
    for number, step in enumerate(steps):
        if (step in content) if isinstance(content, Mapping) else isinstance(content, list) and isinstance(step, int):
            content = content[step]
        elif number < len(steps) - 1 or fault["type"] != "missing":
            continue
        yield str(step)


def _attempt(place: tuple[str, ...], fault: Mapping[str, Any], faults: Mapping[tuple[str, ...], Any]) -> bool:
    deeper = any(len(other) > len(place) and other[: len(place)] == place for other in faults)
    return deeper and fault["type"].endswith("_type")


def _message(shape: Shape[Any], place: tuple[str, ...], fault: Mapping[str, Any]) -> str:
    kind, value = fault["type"], fault["input"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return f"unknown key {place[-1]!r}{suggestion(place[-1], shape.fields(place[:-1]))}"
    if kind == "value_error":
        return str(fault["msg"]).removeprefix("Value error, ")
    if kind == "string_pattern_mismatch":
        return f"{value!r:.80} is not {shape.forms.get(fault['ctx']['pattern'], 'of the right form')}"
    said = f"must {_wanted(fault)}"
    return said if isinstance(value, Mapping | list) else f"{said}, not {value!r:.80}"


def _wanted(fault: Mapping[str, Any]) -> str:
    """Return what pydantic expected, in the words of the format."""
    said = re.sub(r" or instance of \w+", "", str(fault["msg"]).partition(" should ")[2] or str(fault["msg"]))
    for ours, theirs in _WORDS.items():
        said = said.replace(theirs, ours)
    return said
