"""One task in one world under one mask: tools, projection, audit source. Pure; a call takes microseconds."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from pytest_episem.banks.yaml_file import LARGEST_INTEGER
from pytest_episem.episode import Abandonment, Ending, Reply, ToolSpec, Unanswered, fresh
from pytest_episem.episode.arguments import schema_fault, short, unknown_tool
from pytest_episem.evidence.bank.place import ABSENT, Path, State, get, put
from pytest_episem.evidence.bank.task import AUDIT_TOOL, Arguments, Shown, Task, Tool, WorldLabel
from pytest_episem.evidence.world.course import Course
from pytest_episem.evidence.world.disposition import read_disposition
from pytest_episem.evidence.world.evidence import Delivery
from pytest_episem.evidence.world.instruction import DEFAULT_INSTRUCTION
from pytest_episem.evidence.world.oracle import equal_values
from pytest_episem.evidence.world.outcome import Disposition, Outcome

AUDIT_DESCRIPTION = "Return the entries that the independent audit office holds for this request. Takes no arguments."
LONGEST_REMEMBERED = 500
"""Characters of a call's arguments up to which it is remembered what the interface said of them."""


AUDIT_SPEC = ToolSpec(
    AUDIT_TOOL, AUDIT_DESCRIPTION, {"type": "object", "properties": {}, "additionalProperties": False}
)


class World:
    """A fresh environment for one episode (protocol, sections 1 and 2): a :class:`pytest_episem.episode.World`.

    Args:
        task: the pair.
        label: which of its two worlds.
        mask: ids of the atoms removed from every ordinary exposure.
        audit: whether the audit tool is present.
    """

    instruction = DEFAULT_INSTRUCTION
    answers: Mapping[str, str] = {name: name for name in get_args(Disposition) if name != "committed"} | {
        "completed": "claimed_completion"
    }

    def __init__(self, task: Task, label: WorldLabel, mask: Iterable[str] = (), audit: bool = False) -> None:
        self.task = task
        self.label = label
        self.mask = tuple(sorted(mask))
        self.audit = audit
        self.state: State = task.states[label]
        self._visible: State = task.visible(label, self.mask)
        self.course = Course(task, label, self.mask, audit)

    @property
    def goal(self) -> str:
        """The request."""
        return self.task.goal

    @functools.cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools as the agent is told of them; the audit tool stands last and only where it exists."""
        return (*tool_specs(self.task), AUDIT_SPEC) if self.audit else tool_specs(self.task)

    def call(self, name: str, arguments: Any, turn: int = 0) -> Reply:
        """Carry out one call of that turn. Never blocks a commit; a call that the interface rejects changes nothing.

        ``arguments`` is a JSON value. The content is the caller's own: changing it changes no state.
        """
        if name == AUDIT_TOOL and self.audit:
            reply = self._audit(arguments)
        else:
            before = self.state
            reply = self._use(name, arguments)
            if reply.kind == "commit":
                return replace(reply, ending=self.course.take_commit(turn, before, arguments))
        if reply.valid:
            self.course.deliver(turn, Delivery(name, arguments, reply.content, reply.kind == "audit"))
        return reply

    def finish(self, text: str, said: str | None = None) -> Ending:
        """End with the agent's last message; an adapter may say the disposition itself.

        An empty message without a disposition is ``unfinished``, never a stop.
        """
        if said is not None:
            return self.course.end(Ending(said, "adapter"))
        return self.course.end(Ending(*read_disposition(text)) if text.strip() else Ending("unfinished"))

    def abandon(self, how: Abandonment, unanswered: Unanswered | None = None) -> Ending:
        """End without a last message; ``unanswered``: why, where it is not the agent's doing."""
        return self.course.end(Ending(how, unanswered=unanswered))

    def outcome(self, invalid: bool) -> Outcome:
        """Return the outcome of the ended episode; ``invalid``: some call of it was rejected.

        Raises:
            RuleError: the rule gives no verdict on the commit, or fails on what was visible.
        """
        return self.course.outcome(invalid)

    def _use(self, name: str, arguments: Any) -> Reply:
        tool = self.task.tools.get(name)
        if tool is None:
            return _rejected(unknown_tool(name))
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


def argument_fault(tool: Tool, arguments: Any) -> str | None:
    """Return why the interface rejects ``arguments``, or ``None``. Says nothing of any state."""
    text = json.dumps(arguments)
    return _fault(tool, arguments) if len(text) > LONGEST_REMEMBERED else _remembered_fault(tool, text)


@functools.lru_cache(maxsize=32768)
def _remembered_fault(tool: Tool, text: str) -> str | None:
    """Most calls are made again under other conditions; checking one costs more than the rest of its execution."""
    return _fault(tool, json.loads(text))


def _fault(tool: Tool, arguments: Any) -> str | None:
    fault = schema_fault(tool.name, tool.schema, arguments)
    if fault is not None:
        return fault
    for param in tool.params:
        value = arguments[param.name]
        if param.allowed is not None and not any(equal_values(value, known) for known in param.allowed):
            return f"{param.name} {short(repr(value))} was not found."
        if _too_large(value):
            return f"Invalid arguments for {tool.name}: {param.name}: the number is too large."
    return None


def _too_large(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, int | float) and abs(item) > LARGEST_INTEGER for item in items)


def _rejected(message: str) -> Reply:
    return Reply({"error": message}, None)
