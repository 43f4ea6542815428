"""From a family file to tasks: interpolation, atoms per element, tools, goal arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from pytest_episem.bank.family_file import AtomEntry, EachEntry, FamilyFile, InstanceEntry, ParamEntry, ToolEntry
from pytest_episem.bank.place import ABSENT, Path, State, dotted, fill, fill_value, get, merge, names_in, parse, put
from pytest_episem.bank.rule import ARGUMENTS, Rule, RuleError
from pytest_episem.bank.task import Atom, Param, Shown, Task, Tool, WorldLabel
from pytest_episem.errors import EpisemError, suggestion

_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", bool: "boolean", list: "array"}
LARGEST_INTEGER = 2**53 - 1


class FieldError(EpisemError):
    """A fault at one field of a family file, before file and instance are known."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def build_task(family: FamilyFile, instance_id: str, file: FilePath) -> Task:
    """Return the task of one instance.

    Raises:
        FieldError: a place that does not exist, a rule that does not compile, a fault in atoms or tools.
    """
    instance = family.instances[instance_id]
    states = _states(family, instance)
    state = states["unsafe"]
    lookup = _lookup(state)
    tools = {name: _tool(name, entry, state) for name, entry in family.tools.items()}
    commits = [tool for tool in tools.values() if tool.kind == "commit"]
    if len(commits) != 1:
        raise FieldError("tools", f"exactly one tool must be the commit, found {len(commits)}")
    collections = {shown.path for tool in tools.values() for shown in tool.shows if shown.fields is not None}
    return Task(
        id=f"{family.family}/{instance_id}",
        goal=_filled("goal", family.goal, lookup),
        statement=family.rule.statement,
        rule=_rule("rule.prohibited", family.rule.prohibited, state),
        equal=_rule("rule.equal", family.rule.equal, state) if family.rule.equal else None,
        tools=tools,
        commit=commits[0],
        goal_arguments={param.name: param.goal for param in commits[0].params},
        atoms=_atoms(family, states, collections),
        states=states,
        otherwise=_otherwise(family),
        file=file,
    )


def _states(family: FamilyFile, instance: InstanceEntry) -> dict[WorldLabel, State]:
    unsafe = merge(family.state, instance.state)
    _check_values("state", unsafe)
    if ARGUMENTS in unsafe:
        raise FieldError("state", f"{ARGUMENTS!r} is reserved for the commit's arguments")
    safe = unsafe
    for place, value in instance.safe.items():
        _existing(f"safe.{place}", safe, parse(place))
        safe = put(safe, parse(place), value)
    _check_values("safe", safe)
    return {"unsafe": unsafe, "safe": safe}


def _check_values(where: str, value: Any) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if "." in key or "{" in key:
                raise FieldError(f"{where}.{key}", "a key must not contain '.' or '{'")
            _check_values(f"{where}.{key}", inner)
    elif isinstance(value, list):
        if any(type(item) not in (str, int) for item in value) or len({type(item) for item in value}) > 1:
            raise FieldError(where, "a list holds plain texts or plain integers; keyed mappings hold objects")
    elif type(value) not in _JSON_TYPES:
        shown = "nothing (null)" if value is None else repr(value)
        raise FieldError(where, f"{shown} is not allowed; a value is a text, an integer, true/false or a list")


def _otherwise(family: FamilyFile) -> State:
    state: State = {}
    for place, value in family.rule.otherwise.items():
        state = put(state, parse(place), value)
    return state


def _rule(field: str, source: str, state: State) -> Rule:
    try:
        return Rule(source, allowed=state)
    except RuleError as error:
        raise FieldError(field, str(error)) from None


def _lookup(state: State, **local: Any) -> Callable[[str], Any]:
    def look(name: str) -> Any:
        value = local[name] if name in local else get(state, parse(name))
        if value is ABSENT or isinstance(value, Mapping):
            raise KeyError(name)
        return value

    return look


def _filled(field: str, text: Any, lookup: Callable[[str], Any]) -> Any:
    try:
        return fill(text, lookup) if isinstance(text, str) else fill_value(text, lookup)
    except KeyError as error:
        raise FieldError(field, f"{{{error.args[0]}}} names no value in the instance's state") from None


def _existing(field: str, state: State, path: Path) -> Any:
    value = get(state, path)
    if value is ABSENT:
        parent = get(state, path[:-1])
        near = suggestion(path[-1], parent) if isinstance(parent, Mapping) else ""
        raise FieldError(field, f"there is no place {dotted(path)} in the instance's state{near}")
    return value


def _atoms(family: FamilyFile, states: Mapping[WorldLabel, State], collections: set[Path]) -> dict[str, Atom]:
    atoms: dict[str, Atom] = {}
    for name, entry in family.atoms.items():
        for key in _keys(name, entry, states["unsafe"]):
            atom = _atom(name, entry, key, states, collections)
            if atom is None:
                continue
            if atom.id in atoms:
                raise FieldError(f"atoms.{name}", f"two atoms have the id {atom.id!r}")
            atoms[atom.id] = atom
    return atoms


def _keys(name: str, entry: AtomEntry, state: State) -> list[str | None]:
    if entry.each is None:
        return [None]
    collection = get(state, parse(entry.each), {})
    if not isinstance(collection, Mapping):
        raise FieldError(f"atoms.{name}.each", f"{entry.each} must be a mapping of keyed elements")
    if entry.where is None:
        return list(collection)
    try:
        where = Rule(entry.where, allowed=state)
        return [key for key in collection if where.holds(state, key=key)]
    except RuleError as error:
        raise FieldError(f"atoms.{name}.where", str(error)) from None


def _atom(
    name: str, entry: AtomEntry, key: str | None, states: Mapping[WorldLabel, State], collections: set[Path]
) -> Atom | None:
    field = f"atoms.{name}"
    state = states["unsafe"]
    lookup = _lookup(state) if key is None else _lookup(state, key=key)
    place = parse(_filled(field, entry.place, lookup))
    if get(state, place) is ABSENT:
        return None  # an optional fact that this instance does not state
    presence = place[:-1] in collections
    values: dict[WorldLabel, Any] = {}
    for world, of_world in states.items():
        value = _existing(field, of_world, place)
        values[world] = True if presence else value
    could_be = [] if presence else _filled(f"{field}.could_be", entry.could_be, lookup)
    return Atom(
        id=_filled(field, name, lookup),
        template=name,
        role=entry.role,
        place=place,
        presence=presence,
        subject=_filled(f"{field}.subject", entry.subject, lookup),
        predicate=_filled(f"{field}.predicate", entry.predicate, lookup),
        source=_filled(f"{field}.source", entry.source, lookup),
        values=values,
        candidates=(True, ABSENT) if presence else _distinct([values["unsafe"], values["safe"], *could_be]),
    )


def _distinct(values: list[Any]) -> tuple[Any, ...]:
    distinct: list[Any] = []
    for value in values:
        if not any(type(value) is type(other) and value == other for other in distinct):
            distinct.append(value)
    return tuple(distinct)


def _tool(name: str, entry: ToolEntry, state: State) -> Tool:
    field = f"tools.{name}"
    params = tuple(_param(f"{field}.needs.{param}", param, need, state) for param, need in entry.needs.items())
    if entry.kind != "commit" and any(param.allowed is None for param in params):
        raise FieldError(f"{field}.needs", "a read or prepare tool takes identifiers only ('of' or 'key_of')")
    for place in entry.sets:
        _existing(f"{field}.sets.{place}", state, parse(place))
    return Tool(
        name=name,
        kind=entry.kind,
        description=entry.description,
        params=params,
        sets=tuple((parse(place), text) for place, text in entry.sets.items()),
        shows=tuple(_shown(f"{field}.shows.{key}", key, show, params) for key, show in entry.shows.items()),
    )


def _param(field: str, name: str, need: str | ParamEntry, state: State) -> Param:
    entry = ParamEntry(of=need) if isinstance(need, str) else need
    allowed: tuple[Any, ...] | None = None
    goal: Any = ABSENT
    if entry.of:
        goal = _existing(field, state, parse(entry.of))
        allowed = (goal,)
    if entry.key_of:
        collection = _existing(field, state, parse(entry.key_of))
        if not isinstance(collection, Mapping):
            raise FieldError(field, f"{entry.key_of} must be a mapping of keyed elements")
        allowed = tuple(collection)
    if entry.goal:
        goal = _existing(field, state, parse(entry.goal))
    sample = goal if goal is not ABSENT else allowed[0] if allowed else ""
    return Param(name, _param_schema(field, entry, sample), allowed, goal)


def _param_schema(field: str, entry: ParamEntry, sample: Any) -> dict[str, Any]:
    kind = entry.type or _JSON_TYPES.get(type(sample))
    if kind is None or kind != _JSON_TYPES.get(type(sample)):
        raise FieldError(
            field, f"its value {sample!r} is not of type {entry.type or 'string, integer, boolean or array'}"
        )
    schema: dict[str, Any] = {"type": kind}
    if entry.about:
        schema["description"] = entry.about
    if kind == "array":
        items = (entry.items or {}).get("type") or (_JSON_TYPES[type(sample[0])] if sample else "string")
        schema |= {"items": {"type": items}, "minItems": 1, "uniqueItems": True}
    if entry.one_of:
        schema["enum"] = list(entry.one_of)
    if entry.minimum is not None:
        schema["minimum"] = entry.minimum
    return schema


def _shown(field: str, name: str, show: str | EachEntry, params: tuple[Param, ...]) -> Shown:
    fields: dict[str, Path | None] | None = None
    place = show if isinstance(show, str) else show.each
    if not isinstance(show, str):
        entries = {"": show.as_} if isinstance(show.as_, str) else show.as_
        fields = {key: None if inner == "key" else parse(inner) for key, inner in entries.items()}
        if None not in fields.values():
            raise FieldError(field, "one name under 'as' must show the element's 'key'")
    known = {param.name for param in params}
    for inner in names_in(place):
        if inner not in known:
            raise FieldError(field, f"{{{inner}}} is not a parameter of the tool{suggestion(inner, known)}")
    return Shown(name, parse(place), fields)


def nowhere(family: FamilyFile, tasks: list[Task]) -> Iterator[FieldError]:
    """Yield a fault for each atom and each shown place that no instance has: a misspelling would pass unnoticed."""
    built = {atom.template for task in tasks for atom in task.atoms.values()}
    for name, entry in family.atoms.items():
        if name not in built and not entry.where:
            yield FieldError(f"atoms.{name}", f"no instance has the place {entry.place}")
    for name, tool in family.tools.items():
        for key, show in tool.shows.items():
            place = show if isinstance(show, str) else show.each
            known = [task for task in tasks if any(_reaches(task, path) for path in _paths(task, name, key))]
            if tasks and not known:
                yield FieldError(f"tools.{name}.shows.{key}", f"no instance has the place {place}")


def _paths(task: Task, tool_name: str, key: str) -> list[Path]:
    tool = task.tools[tool_name]
    shown = next(shown for shown in tool.shows if shown.name == key)
    if any(param.allowed is None for param in tool.params):
        return [shown.path[: next((n for n, step in enumerate(shown.path) if step[0] == "{"), None)]]
    return [shown.at(call) for call in tool.calls()]


def _reaches(task: Task, path: Path) -> bool:
    return any(get(state, path) is not ABSENT for state in task.states.values())
