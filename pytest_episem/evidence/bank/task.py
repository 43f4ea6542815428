"""A task as everything else uses it: two states, a rule, tools, and the atoms with every place that shows them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias

from pytest_episem.errors import UnknownName
from pytest_episem.evidence.bank.family_file import ToolKind
from pytest_episem.evidence.bank.place import ABSENT, Path, State, drop, get, merge, put
from pytest_episem.evidence.bank.rule import Rule

WorldLabel = Literal["unsafe", "safe"]
WORLDS: tuple[WorldLabel, ...] = ("unsafe", "safe")
Role = Literal["critical", "irrelevant"]
Arguments: TypeAlias = Mapping[str, Any]
AUDIT_TOOL = "query_audit_records"
"""The name of the tool that asks the audit source; no bank may use it for one of its own."""


@dataclass(frozen=True, slots=True)
class Element:
    """One step of a response path: the entry of a list whose ``field`` equals ``key`` (``field`` empty: itself)."""

    field: str
    key: str

    def __str__(self) -> str:
        return f"[{self.key}]"


ResponsePath: TypeAlias = tuple[str | Element, ...]


@dataclass(frozen=True, slots=True)
class Exposure:
    """One place where an ordinary tool shows an atom: the call, the path in its response, the part of the value.

    ``part`` is the path inside the atom's value that stands there; ``()`` is the whole value.
    """

    tool: str
    arguments: Arguments
    path: ResponsePath
    part: Path = ()

    def __str__(self) -> str:
        return f"{self.tool}: " + "".join(f".{step}" if isinstance(step, str) else str(step) for step in self.path)[1:]


@dataclass(frozen=True, slots=True)
class Param:
    """A tool's parameter. ``allowed`` holds the identifiers that exist; ``None`` means any value of the schema."""

    name: str
    schema: Mapping[str, Any]
    allowed: tuple[Any, ...] | None
    goal: Any = ABSENT


@dataclass(frozen=True)
class Shown:
    """One key of a response: the value at ``path``, or a list over the elements of the collection at ``path``.

    ``fields`` maps the names in a list entry to places in the element (``None``: the element's key); a list of
    plain values has the single name ``""``. In ``path``, a step ``{name}`` stands for an argument.
    """

    name: str
    path: Path
    fields: Mapping[str, Path | None] | None = None

    def at(self, arguments: Arguments) -> Path:
        """Return ``path`` with the call's arguments in it: the numbers 25 and 25.0 name one place."""
        if not self.takes_arguments:
            return self.path
        return tuple(_step(arguments[step[1:-1]]) if step[0] == "{" else step for step in self.path)

    @functools.cached_property
    def takes_arguments(self) -> bool:
        """Whether a step of ``path`` stands for an argument."""
        return any(step[0] == "{" for step in self.path)

    @property
    def key_field(self) -> str | None:
        """The name under which a list entry shows its key; ``None`` where it shows none."""
        return next((name for name, place in (self.fields or {}).items() if place is None), None)


def _step(argument: Any) -> str:
    whole = isinstance(argument, float) and argument.is_integer()
    return str(int(argument) if whole else argument)


@dataclass(frozen=True, eq=False)
class Tool:
    """An ordinary tool of a task; the same in both worlds and under every mask."""

    name: str
    kind: ToolKind
    description: str
    params: tuple[Param, ...]
    sets: tuple[tuple[Path, str], ...]
    shows: tuple[Shown, ...]

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {param.name: dict(param.schema) for param in self.params},
            "required": [param.name for param in self.params],
            "additionalProperties": False,
        }

    def calls(self) -> Iterator[dict[str, Any]]:
        """Yield every valid set of arguments; none where a parameter is not an identifier."""
        names = [param.name for param in self.params]
        for values in itertools.product(*(param.allowed or () for param in self.params)):
            yield dict(zip(names, values, strict=True))


@dataclass(frozen=True, eq=False)
class Atom:
    """One maskable fact: an evidence atom (paper, section 3.2; protocol, section 1).

    ``template``: its name in the file, before keys. ``presence``: the fact is that a list element is there, and
    masking removes the element. ``values`` per world (``True`` for a presence atom). ``candidates``: what it could be
    as far as anyone can tell, four at most (protocol, section 6); ``ABSENT`` is a presence atom's other candidate.
    """

    id: str
    template: str
    role: Role
    place: Path
    presence: bool
    subject: str
    predicate: str
    source: str
    values: Mapping[WorldLabel, Any]
    candidates: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Task:
    """One pair of worlds with one request, one rule, one tool set and one target commit."""

    id: str
    goal: str
    statement: str
    rule: Rule
    equal: Rule | None
    tools: Mapping[str, Tool]
    commit: Tool
    goal_arguments: Arguments
    atoms: Mapping[str, Atom]
    states: Mapping[WorldLabel, State]
    otherwise: State
    file: FilePath

    @property
    def domain(self) -> str:
        return self.id.split("/")[0]

    @property
    def family(self) -> str:
        """The family's name without its domain."""
        return self.id.split("/")[1]

    @property
    def instance(self) -> str:
        return self.id.split("/")[2]

    @functools.cached_property
    def critical(self) -> tuple[str, ...]:
        """Ids of the critical atoms, sorted."""
        return tuple(sorted(atom.id for atom in self.atoms.values() if atom.role == "critical"))

    @functools.cached_property
    def irrelevant(self) -> tuple[str, ...]:
        """Ids of the irrelevant atoms, sorted."""
        return tuple(sorted(atom.id for atom in self.atoms.values() if atom.role == "irrelevant"))

    def atom(self, atom_id: str) -> Atom:
        """Return one atom.

        Raises:
            UnknownName: the task has no such atom.
        """
        if atom_id not in self.atoms:
            raise UnknownName(f"atom of {self.id}", atom_id, self.atoms)
        return self.atoms[atom_id]

    def visible(self, world: WorldLabel, mask: Iterable[str]) -> State:
        """Return the state as ordinary tools see it: every masked place is gone (protocol, section 2)."""
        state = self.states[world]
        for atom_id in mask:
            state = drop(state, self.atom(atom_id).place)
        return state

    def prohibited(self, state: State, arguments: Arguments) -> bool:
        """Return the oracle's verdict on a commit with ``arguments`` in the complete ``state``.

        Raises:
            RuleError: the rule gives no verdict on these values.
        """
        return self.rule.holds(merge(self.otherwise, state), arguments)

    @functools.cached_property
    def reads(self) -> tuple[tuple[Tool, dict[str, Any]], ...]:
        """Every read with every valid set of arguments, in the order of the file."""
        return tuple((tool, call) for tool in self.tools.values() if tool.kind == "read" for call in tool.calls())

    @functools.cached_property
    def exposures(self) -> Mapping[str, tuple[Exposure, ...]]:
        """For each atom every place where a read or prepare tool shows it."""
        found: dict[str, list[Exposure]] = {atom_id: [] for atom_id in self.atoms}
        for tool in self.tools.values():
            if tool.kind == "commit":
                continue
            for call, shown, atom in itertools.product(tool.calls(), tool.shows, self.atoms.values()):
                found[atom.id] += [Exposure(tool.name, call, *spot) for spot in spots(shown, shown.at(call), atom)]
        return {atom_id: tuple(exposures) for atom_id, exposures in found.items()}

    def with_values(self, state: State, values: Mapping[str, Any]) -> State:
        """Return ``state`` with atoms replaced by candidates (``ABSENT`` removes, ``True`` keeps a presence)."""
        for atom_id, value in values.items():
            atom = self.atoms[atom_id]
            if atom.presence and value is not ABSENT:
                value = get(self.states["unsafe"], atom.place)
            state = put(state, atom.place, value)
        return state


def spots(shown: Shown, base: Path, atom: Atom) -> Iterator[tuple[ResponsePath, Path]]:
    """Yield (response path, part of the atom's value) for each place where ``shown`` at ``base`` shows ``atom``."""
    place = atom.place
    if shown.fields is None:
        if place[: len(base)] == base:
            yield (shown.name, *place[len(base) :]), ()
        elif base[: len(place)] == place:
            yield (shown.name,), base[len(place) :]
        return
    if len(place) <= len(base) or place[: len(base)] != base:
        return
    key, inner = place[len(base)], place[len(base) + 1 :]
    element = Element(shown.key_field or "", key)
    if atom.presence and not inner:
        yield (shown.name, element), ()
        return
    for name, field_path in shown.fields.items():
        step = (name,) if name else ()
        if field_path is not None and field_path[: len(inner)] == inner:
            yield (shown.name, element, *step), field_path[len(inner) :]
        elif field_path is not None and inner[: len(field_path)] == field_path:
            yield (shown.name, element, *step, *inner[len(field_path) :]), ()
