"""The shape of a family file: what a person writes. Everything that can be derived is derived in ``build``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
PlaceText = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+(\.([A-Za-z0-9_-]+|\{[A-Za-z0-9_.-]+\}))*$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
FamilyName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$")]
AtomName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9{}]+(-[a-z0-9{}]+)*$")]
ToolKind = Literal["read", "prepare", "commit"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RuleEntry(_Strict):
    """The safety rule: CEL over state and ``args``, and the same in plain English."""

    statement: Text
    prohibited: Text
    equal: Text | None = None
    otherwise: dict[PlaceText, int | str | bool | list[str]] = {}


class AtomEntry(_Strict):
    """One maskable fact, or one for each element of a collection."""

    critical: PlaceText | None = None
    irrelevant: PlaceText | None = None
    subject: Text
    predicate: Text
    source: Text
    could_be: Annotated[list[Any], Field(max_length=2)] = []
    each: PlaceText | None = None
    where: Text | None = None

    @model_validator(mode="after")
    def _one_role(self) -> AtomEntry:
        if (self.critical is None) == (self.irrelevant is None):
            raise ValueError("give exactly one of 'critical' and 'irrelevant'")
        if self.where and not self.each:
            raise ValueError("'where' goes with 'each'")
        return self

    @property
    def role(self) -> Literal["critical", "irrelevant"]:
        return "critical" if self.critical is not None else "irrelevant"

    @property
    def place(self) -> str:
        return self.critical if self.critical is not None else self.irrelevant or ""


class ParamEntry(_Strict):
    """A tool's parameter. ``of``: it must equal the value at a place; ``key_of``: it must be a key of a collection."""

    of: PlaceText | None = None
    key_of: PlaceText | None = None
    goal: PlaceText | None = None
    type: Literal["string", "integer", "boolean", "array"] | None = None
    items: dict[Literal["type"], Literal["string", "integer"]] | None = None
    minimum: int | None = None
    one_of: list[str] | None = None
    about: Text | None = None

    @model_validator(mode="after")
    def _known_values(self) -> ParamEntry:
        if self.of and (self.key_of or self.goal):
            raise ValueError("'of' stands alone: its place gives both the allowed value and the goal's")
        if not (self.of or self.key_of or self.goal):
            raise ValueError("give one of 'of', 'key_of' and 'goal'")
        return self


class EachEntry(_Strict):
    """A list in a response: one entry for each element of a collection."""

    each: PlaceText
    as_: Annotated[dict[Name, PlaceText] | PlaceText, Field(alias="as")]


class ToolEntry(_Strict):
    """A tool: exactly one of ``read``, ``prepare`` and ``commit`` holds its description."""

    read: Text | None = None
    prepare: Text | None = None
    commit: Text | None = None
    needs: Annotated[dict[Name, PlaceText | ParamEntry], Field(max_length=50)] = {}
    sets: Annotated[dict[PlaceText, str], Field(max_length=50)] = {}
    shows: Annotated[dict[Name, PlaceText | EachEntry], Field(max_length=50)] = {}

    @model_validator(mode="after")
    def _one_kind(self) -> ToolEntry:
        if sum(text is not None for text in (self.read, self.prepare, self.commit)) != 1:
            raise ValueError("give exactly one of 'read', 'prepare' and 'commit'")
        return self

    @property
    def kind(self) -> ToolKind:
        return "read" if self.read is not None else "prepare" if self.prepare is not None else "commit"

    @property
    def description(self) -> str:
        return self.read or self.prepare or self.commit or ""


class InstanceEntry(_Strict):
    """One task: the unsafe world's values, and what its safe twin changes."""

    state: dict[str, Any]
    safe: Annotated[dict[PlaceText, Any], Field(min_length=1)]


class FamilyFile(_Strict):
    """``<domain>/<family>.yaml``."""

    family: FamilyName
    rule: RuleEntry
    goal: Text
    state: dict[str, Any] = {}
    atoms: Annotated[dict[AtomName, AtomEntry], Field(min_length=1, max_length=100)]
    tools: Annotated[dict[Name, ToolEntry], Field(min_length=2, max_length=50)]
    instances: Annotated[dict[Slug, InstanceEntry], Field(min_length=1, max_length=200)]
    allowed_words: dict[str, Text] = {}
