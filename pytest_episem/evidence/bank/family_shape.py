"""The format of family files, with its types in words."""

from __future__ import annotations

from pydantic import BaseModel

from pytest_episem.banks.schema_fault import Shape, pattern
from pytest_episem.evidence.bank.family_file import (
    AtomEntry,
    AtomName,
    EachEntry,
    FamilyFile,
    FamilyName,
    InstanceEntry,
    Name,
    ParamEntry,
    PlaceText,
    RuleEntry,
    Slug,
    ToolEntry,
)

_FORMS = {
    pattern(PlaceText): "a place such as request.amount",
    pattern(Name): "a name of small letters, digits and '_'",
    pattern(Slug): "an id of small letters and digits, joined by '-'",
    pattern(AtomName): "an atom's name: small letters and digits, joined by '-', {key} for the element's key",
    pattern(FamilyName): "of the form domain/family in small letters and digits, joined by '-'",
}
_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    ("rule",): RuleEntry,
    ("atoms", "*"): AtomEntry,
    ("tools", "*"): ToolEntry,
    ("tools", "*", "needs", "*"): ParamEntry,
    ("tools", "*", "shows", "*"): EachEntry,
    ("instances", "*"): InstanceEntry,
}
FAMILY = Shape(FamilyFile, "the keys family, rule, goal …", _MODELS, "instances", _FORMS)
