"""From a family file to tasks: interpolation, atoms per element, tools, goal arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from pytest_episem.errors import EpisemError, suggestion
from pytest_episem.evidence.bank.family_file import (
    AtomEntry,
    EachEntry,
    FamilyFile,
    InstanceEntry,
    ParamEntry,
    ToolEntry,
)
from pytest_episem.evidence.bank.place import (
    ABSENT,
    Path,
    State,
    dotted,
    fill,
    fill_value,
    get,
    merge,
    names_in,
    parse,
    put,
    words,
)
from pytest_episem.evidence.bank.rule import ARGUMENTS, Rule, RuleError
from pytest_episem.evidence.bank.rule_cost import MOST_STEPS
from pytest_episem.evidence.bank.task import AUDIT_TOOL, Atom, Param, Shown, Task, Tool, WorldLabel

_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", bool: "boolean", list: "array"}
_ATOM_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MOST_CRITICAL, MOST_COMBINATIONS, MOST_CALLS = 12, 100_000, 100
"""A larger task is refused: every mask is tried, every combination of candidates is judged, every call is listed."""
MOST_TASK_STEPS = 1_000_000_000
"""Steps of a rule over all combinations of candidates: minutes at the very worst."""
LONGEST_TEXT, MOST_ENTRIES = 10_000, 1_000
"""Characters of a text of a state, and of one with its places filled in; entries of a mapping or list of a state."""


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
    states = _states(family, family.instances[instance_id])
    state, otherwise = states["unsafe"], _otherwise(family)
    tools = {name: _tool(name, entry, state) for name, entry in family.tools.items()}
    _check_tools(tools, states)
    commits = [tool for tool in tools.values() if tool.kind == "commit"]
    if len(commits) != 1:
        raise FieldError("tools", f"exactly one tool must be the commit, found {len(commits)}")
    names = merge(otherwise, state)
    task = Task(
        id=f"{family.family}/{instance_id}",
        goal=_filled("goal", family.goal, _lookup(state)),
        statement=family.rule.statement,
        rule=_rule("rule.prohibited", family.rule.prohibited, names),
        equal=_rule("rule.equal", family.rule.equal, names) if family.rule.equal else None,
        tools=tools,
        commit=commits[0],
        goal_arguments={param.name: param.goal for param in commits[0].params},
        atoms=_atoms(family, states, {path for tool in tools.values() for _, path in _listed(tool)}),
        states=states,
        otherwise=otherwise,
        file=file,
    )
    _check_cost(task)
    return task


def _check_cost(task: Task) -> None:
    """Refuse a task whose rules could take for ever, evaluated once or for all that its hidden facts could be."""
    values = [task.otherwise, *task.states.values(), *(atom.candidates for atom in task.atoms.values())]
    combinations = math.prod(len(atom.candidates) for atom in task.atoms.values() if atom.role == "critical")
    for field, rule in (("rule.prohibited", task.rule), ("rule.equal", task.equal)):
        steps = rule.steps(values, task.goal_arguments) if rule else 0
        if steps > MOST_STEPS:
            raise FieldError(field, f"takes up to {steps:,} steps on this instance, at most {MOST_STEPS:,} are allowed")
        if steps * combinations > MOST_TASK_STEPS:
            message = f"takes up to {steps:,} steps for each of {combinations:,} combinations of critical atoms"
            raise FieldError(field, f"{message}, together at most {MOST_TASK_STEPS:,} are allowed")


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
    if isinstance(value, Mapping | list) and len(value) > MOST_ENTRIES:
        raise FieldError(where, f"has {len(value):,} entries; at most {MOST_ENTRIES:,} are allowed")
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise FieldError(where, f"is a text of {len(value):,} characters; at most {LONGEST_TEXT:,} are allowed")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if set(key) & set(".{}"):
                raise FieldError(f"{where}.{key}", "a key must not contain '.', '{' or '}'")
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


def _rule(field: str, source: str, names: Mapping[str, Any]) -> Rule:
    try:
        return Rule(source, allowed=names)
    except RuleError as error:
        raise FieldError(field, str(error)) from None


def _lookup(state: State, **local: Any) -> Callable[[str], Any]:
    def look(name: str) -> Any:
        value = local[name] if name in local else get(state, parse(name))
        if value is ABSENT:
            raise KeyError(f"{{{name}}} names no value in the instance's state{_near(state, parse(name))}")
        if isinstance(value, Mapping):
            raise KeyError(f"{{{name}}} names several values; allowed: {', '.join(f'{name}.{key}' for key in value)}")
        return value

    return look


def _filled(field: str, text: Any, lookup: Callable[[str], Any]) -> Any:
    length = 0

    def measured(name: str) -> Any:
        nonlocal length
        value = lookup(name)
        length += len(words(value))
        if length > LONGEST_TEXT:
            raise KeyError(f"has more than {LONGEST_TEXT:,} characters with its places filled in")
        return value

    try:
        return fill(text, measured) if isinstance(text, str) else fill_value(text, measured)
    except KeyError as error:
        raise FieldError(field, error.args[0]) from None


def _existing(field: str, state: State, path: Path) -> Any:
    value = get(state, path)
    if value is ABSENT:
        raise FieldError(field, f"there is no place {dotted(path)} in the instance's state{_near(state, path)}")
    return value


def _near(state: Any, path: Path) -> str:
    """Suggest a name for the first step of ``path`` that does not exist."""
    for step in path:
        if not isinstance(state, Mapping) or not state:
            return ""
        if step not in state and step[0] != "{":
            return suggestion(step, state)
        state = state[step] if step in state else next(iter(state.values()))
    return ""


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
    critical = [atom for atom in atoms.values() if atom.role == "critical"]
    combinations = math.prod(len(atom.candidates) for atom in critical)
    if len(critical) > MOST_CRITICAL or combinations > MOST_COMBINATIONS:
        message = f"{len(critical)} critical atoms with {combinations} combinations are too many to check"
        raise FieldError("atoms", message)
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
        where = Rule(entry.where, allowed={*state, "key"})
        steps = where.steps(state) * len(collection)
        if steps > MOST_STEPS:
            raise RuleError(f"takes up to {steps:,} steps on this instance, at most {MOST_STEPS:,} are allowed")
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
    atom_id = _filled(field, name, lookup)
    if not _ATOM_ID.fullmatch(atom_id):
        raise FieldError(field, f"gives the id {atom_id!r}; an id has small letters and digits, joined by '-'")
    return Atom(
        id=atom_id,
        template=name,
        role=entry.role,
        place=place,
        presence=presence,
        subject=_filled(f"{field}.subject", entry.subject, lookup),
        predicate=_filled(f"{field}.predicate", entry.predicate, lookup),
        source=_filled(f"{field}.source", entry.source, lookup),
        values=values,
        candidates=(True, ABSENT) if presence else _candidates(f"{field}.could_be", entry, values, lookup),
    )


def _candidates(
    field: str, entry: AtomEntry, values: Mapping[WorldLabel, Any], lookup: Callable[[str], Any]
) -> tuple[Any, ...]:
    could_be = _filled(field, entry.could_be, lookup)
    for value in could_be:
        _check_values(field, value)
    return _distinct([values["unsafe"], values["safe"], *could_be])


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
    if name == AUDIT_TOOL:
        raise FieldError(field, "is the name of the audit tool; take another")
    calls = math.prod(len(param.allowed) for param in params if param.allowed is not None)
    if calls > MOST_CALLS:
        raise FieldError(f"{field}.needs", f"{calls} different calls are too many; at most {MOST_CALLS}")
    return Tool(
        name=name,
        kind=entry.kind,
        description=entry.description,
        params=params,
        sets=tuple((parse(place), text) for place, text in entry.sets.items()),
        shows=tuple(_shown(f"{field}.shows.{key}", key, show, params) for key, show in entry.shows.items()),
    )


def _check_tools(tools: Mapping[str, Tool], states: Mapping[WorldLabel, State]) -> None:
    """A place that a tool sets holds a text, and one whose elements it lists is a mapping, in both worlds."""
    for name, tool in tools.items():
        for state in states.values():
            for path, _ in tool.sets:
                field = f"tools.{name}.sets.{dotted(path)}"
                if not isinstance(_existing(field, state, path), str):
                    raise FieldError(field, "holds no text in the state; a tool sets a text where there was one")
            for shown, path in _listed(tool):
                if not isinstance(get(state, path, {}), Mapping):
                    message = f"{dotted(path)} must be a mapping of keyed elements"
                    raise FieldError(f"tools.{name}.shows.{shown.name}", message)


def _listed(tool: Tool) -> Iterator[tuple[Shown, Path]]:
    """Yield every collection whose elements ``tool`` lists, with the list."""
    for shown in tool.shows:
        if shown.fields is not None:
            for call in tool.calls():
                yield shown, shown.at(call)


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
            field, f"its value {sample!r:.60} is not of type {entry.type or 'string, integer, boolean or array'}"
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
            yield FieldError(f"atoms.{name}", f"no instance has the place {entry.place}{_near_any(tasks, entry.place)}")
    for name, tool in family.tools.items():
        for key, show in tool.shows.items():
            place = show if isinstance(show, str) else show.each
            known = (_reaches(task, path) for task in tasks for path in _paths(task, name, key))
            if tasks and not any(known):
                message = f"no instance has the place {place}{_near_any(tasks, place)}"
                yield FieldError(f"tools.{name}.shows.{key}", message)


def _near_any(tasks: list[Task], place: str) -> str:
    return next(filter(None, (_near(task.states["unsafe"], parse(place)) for task in tasks)), "")


def _paths(task: Task, tool_name: str, key: str) -> list[Path]:
    tool = task.tools[tool_name]
    shown = next(shown for shown in tool.shows if shown.name == key)
    if any(param.allowed is None for param in tool.params):
        return [shown.path[: next((n for n, step in enumerate(shown.path) if step[0] == "{"), None)]]
    return [shown.at(call) for call in tool.calls()]


def _reaches(task: Task, path: Path) -> bool:
    return any(get(state, path) is not ABSENT for state in task.states.values())
