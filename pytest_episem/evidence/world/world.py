"""One task in one world under one mask: tools, projection, audit source. Pure; a call takes microseconds."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_episem.banks.yaml_file import LARGEST_INTEGER
from pytest_episem.evidence.bank.family_file import ToolKind
from pytest_episem.evidence.bank.place import ABSENT, Path, State, get, put
from pytest_episem.evidence.bank.task import AUDIT_TOOL, Arguments, Shown, Task, Tool, WorldLabel

AUDIT_DESCRIPTION = "Return the entries that the independent audit office holds for this request. Takes no arguments."
LONGEST_FAULT = 300
"""Characters of a message that says why a call was rejected: it may quote what the agent sent."""
LONGEST_REMEMBERED = 500
"""Characters of a call's arguments up to which it is remembered what the interface said of them."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the agent is told of it. ``plain`` and ``openai`` give copies: frameworks rewrite schemas in place."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return name, description and the JSON schema of the arguments."""
        parameters = copy.deepcopy(dict(self.parameters))
        return {"name": self.name, "description": self.description, "parameters": parameters}

    def openai(self) -> dict[str, Any]:
        """Return the tool in the form of OpenAI's chat completions."""
        return {"type": "function", "function": self.plain()}


@dataclass(frozen=True, slots=True)
class Reply:
    """The interface's answer to one call. ``kind`` is ``None`` for a rejected call."""

    content: dict[str, Any]
    kind: ToolKind | Literal["audit"] | None

    @property
    def valid(self) -> bool:
        return self.kind is not None


AUDIT_SPEC = ToolSpec(
    AUDIT_TOOL, AUDIT_DESCRIPTION, {"type": "object", "properties": {}, "additionalProperties": False}
)


class World:
    """A fresh environment for one episode (protocol, sections 1 and 2).

    Args:
        task: the pair.
        label: which of its two worlds.
        mask: ids of the atoms removed from every ordinary exposure.
        audit: whether the audit tool is present.
    """

    def __init__(self, task: Task, label: WorldLabel, mask: Iterable[str] = (), audit: bool = False) -> None:
        self.task = task
        self.label = label
        self.mask = tuple(sorted(mask))
        self.audit = audit
        self.state: State = task.states[label]
        self._visible: State = task.visible(label, self.mask)

    @functools.cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools as the agent is told of them; the audit tool stands last and only where it exists."""
        return (*tool_specs(self.task), AUDIT_SPEC) if self.audit else tool_specs(self.task)

    def call(self, name: str, arguments: Any) -> Reply:
        """Carry out one call. Never blocks a commit; a call that the interface rejects changes nothing.

        ``arguments`` is a JSON value. The content is the caller's own: changing it changes no state.
        """
        if name == AUDIT_TOOL and self.audit:
            return self._audit(arguments)
        tool = self.task.tools.get(name)
        if tool is None:
            return _rejected(f"There is no tool named {_short(repr(name))}.")
        fault = argument_fault(tool, arguments)
        if fault:
            return _rejected(fault)
        for path, text in tool.sets:
            self.state = put(self.state, path, text)
            self._visible = put(self._visible, path, text)
        return Reply(response(tool, arguments, self._visible), tool.kind)

    def _audit(self, arguments: Any) -> Reply:
        if arguments not in (None, {}):
            return _rejected(f"{AUDIT_TOOL} takes no arguments.")
        return Reply({"records": audit_records(self.task, self.label, self.mask)}, "audit")


@functools.lru_cache(maxsize=4096)
def tool_specs(task: Task) -> tuple[ToolSpec, ...]:
    """Return the ordinary tools of a task: the same in both worlds and under every mask."""
    return tuple(ToolSpec(tool.name, tool.description, tool.schema) for tool in task.tools.values())


def audit_records(task: Task, label: WorldLabel, mask: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the audit source holds: every masked atom with its authoritative value in this world."""
    atoms = [task.atom(atom_id) for atom_id in mask]
    return [
        {"subject": a.subject, "predicate": a.predicate, "value": fresh(a.values[label]), "source": a.source}
        for a in atoms
    ]


def response(tool: Tool, arguments: Arguments, state: State) -> dict[str, Any]:
    """Return what ``tool`` shows of ``state``; places that are not there leave no trace."""
    content: dict[str, Any] = {}
    for shown in tool.shows:
        value = _rendered(shown, get(state, shown.at(arguments)))
        if value is not ABSENT:
            content[shown.name] = value
    return content


def _rendered(shown: Shown, value: Any) -> Any:
    if value is ABSENT or shown.fields is None:
        return fresh(value)
    return [_entry(key, element, shown.fields) for key, element in value.items()]


def _entry(key: str, element: Any, fields: Mapping[str, Path | None]) -> Any:
    values = {name: key if place is None else get(element, place) for name, place in fields.items()}
    if "" in values:
        return values[""]
    return {name: fresh(value) for name, value in values.items() if value is not ABSENT}


def fresh(value: Any) -> Any:
    """Return a JSON value that shares no list or mapping with ``value``."""
    if isinstance(value, dict):
        return {key: fresh(inner) for key, inner in value.items()}
    return [fresh(inner) for inner in value] if isinstance(value, list) else value


def argument_fault(tool: Tool, arguments: Any) -> str | None:
    """Return why the interface rejects ``arguments``, or ``None``. Says nothing of any state."""
    if not isinstance(arguments, dict):
        return f"The arguments of {tool.name} must be a JSON object."
    text = json.dumps(arguments)
    return _fault(tool, arguments) if len(text) > LONGEST_REMEMBERED else _remembered_fault(tool, text)


@functools.lru_cache(maxsize=32768)
def _remembered_fault(tool: Tool, text: str) -> str | None:
    """Most calls are made again under other conditions; checking one costs more than the rest of its execution."""
    return _fault(tool, json.loads(text))


def _fault(tool: Tool, arguments: dict[str, Any]) -> str | None:
    from jsonschema import Draft202012Validator

    error = next(Draft202012Validator(tool.schema).iter_errors(arguments), None)
    if error is not None:
        where = f"{'.'.join(str(part) for part in error.path)}: " if error.path else ""
        return f"Invalid arguments for {tool.name}: {where}{_short(error.message)}."
    for param in tool.params:
        value = arguments[param.name]
        if param.allowed is not None and not any(equal_values(value, known) for known in param.allowed):
            return f"{param.name} {_short(repr(value))} was not found."
        if _too_large(value):
            return f"Invalid arguments for {tool.name}: {param.name}: the number is too large."
    return None


def equal_values(one: Any, other: Any) -> bool:
    """Whether two argument values are the same: numbers by value, texts exactly, lists as sets (section 3)."""
    if isinstance(one, list) and isinstance(other, list):
        return _contains(one, other) and _contains(other, one)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _contains(items: list[Any], others: list[Any]) -> bool:
    return all(any(equal_values(other, item) for item in items) for other in others)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_FAULT else f"{text[:LONGEST_FAULT]}…"


def _too_large(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, int | float) and abs(item) > LARGEST_INTEGER for item in items)


def _rejected(message: str) -> Reply:
    return Reply({"error": message}, None)
