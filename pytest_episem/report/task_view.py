"""Everything there is to know of one task under one setting and mask: what the agent sees and what the oracle knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_episem.episode import ToolSpec
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import WORLDS, Atom, Exposure, Task, Tool, WorldLabel
from pytest_episem.evidence.bank.place import ABSENT
from pytest_episem.evidence.bank.task import Element, Role, Shown
from pytest_episem.evidence.condition import MaskRole, Setting
from pytest_episem.evidence.plan import mask_role
from pytest_episem.evidence.world import Verdict, World, evidence_of, judge
from pytest_episem.evidence.world.instruction import DEFAULT_INSTRUCTION
from pytest_episem.evidence.world.world import audit_records

SHOW_SCHEMA = "episem.show/1"
MASKED: tuple[Setting, ...] = ("se", "re")
AUDITED: tuple[Setting, ...] = ("re", "full_audit")


@dataclass(frozen=True, slots=True)
class ShownFact:
    """A maskable fact in a response: where it stands and whether the mask removed it."""

    atom: str
    role: Role
    at: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a response: ``seen`` is what the agent gets there in each world (``ABSENT`` where nothing is)."""

    name: str
    seen: dict[WorldLabel, Any]
    facts: tuple[ShownFact, ...]


@dataclass(frozen=True, slots=True)
class CallView:
    """One ordinary call in a fresh environment, with its response in each world shown."""

    tool: str
    kind: str
    arguments: dict[str, Any]
    responses: dict[WorldLabel, dict[str, Any]]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """Whether what a mask leaves visible decides the rule, in each world (protocol, section 6)."""

    mask: tuple[str, ...]
    role: MaskRole
    decides: dict[WorldLabel, bool]


@dataclass(frozen=True)
class TaskView:
    """A task as ``episem show`` presents it; ``worlds`` are those asked for."""

    task: Task
    worlds: tuple[WorldLabel, ...]
    setting: Setting
    mask: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    calls: tuple[CallView, ...]
    audit: dict[WorldLabel, list[dict[str, Any]]] | None
    verdicts: dict[WorldLabel, Verdict]
    sufficiency: tuple[Sufficiency, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, schema ``episem.show/1``."""
        task = self.task
        return {
            "schema": SHOW_SCHEMA,
            "task": task.id,
            "domain": task.domain,
            "family": task.family,
            "worlds": list(self.worlds),
            "setting": self.setting,
            "mask": list(self.mask),
            "request": task.goal,
            "instruction": DEFAULT_INSTRUCTION,
            "tools": [
                {"name": tool.name, "kind": kind_of(task, tool.name), "description": tool.description}
                | {"parameters": dict(tool.parameters)}
                for tool in self.tools
            ],
            "calls": [
                {"tool": call.tool, "kind": call.kind, "arguments": call.arguments, "responses": dict(call.responses)}
                for call in self.calls
            ],
            "hidden": [self._atom(task.atom(atom_id)) for atom_id in self.mask],
            "audit": self.audit,
            "oracle": {
                "statement": task.statement,
                "prohibited": task.rule.source,
                "equal": task.equal.source if task.equal else None,
                "commit": {"tool": task.commit.name, "arguments": dict(task.goal_arguments)},
                "verdicts": {world: verdict_word(verdict) for world, verdict in self.verdicts.items()},
                "critical": [self._atom(task.atom(atom_id)) for atom_id in task.critical],
                "irrelevant": [self._atom(task.atom(atom_id)) for atom_id in task.irrelevant],
            },
            "sufficiency": [
                {"mask": list(found.mask), "mask_role": found.role, "sufficient": dict(found.decides)}
                for found in self.sufficiency
            ],
        }

    def _atom(self, atom: Atom) -> dict[str, Any]:
        return {
            "id": atom.id,
            "role": atom.role,
            "subject": atom.subject,
            "predicate": atom.predicate,
            "source": atom.source,
            "presence": atom.presence,
            "values": {world: plain_value(atom, atom.values[world]) for world in self.worlds},
            "candidates": [plain_value(atom, value) for value in atom.candidates],
            "exposures": [exposure_dict(exposure) for exposure in self.task.exposures[atom.id]],
        }


def view_task(
    task: Task, worlds: Sequence[WorldLabel] = WORLDS, setting: Setting = "full", mask: Iterable[str] = ()
) -> TaskView:
    """Return the view of a task.

    Raises:
        EpisemError: a mask that the task, its roles or the setting does not allow.
    """
    mask = checked_mask(task, setting, mask)
    audited = setting in AUDITED
    return TaskView(
        task=task,
        worlds=tuple(worlds),
        setting=setting,
        mask=mask,
        tools=World(task, worlds[0], mask, audited).tools,
        calls=tuple(
            _call(task, tool, arguments, worlds, mask)
            for tool in task.tools.values()
            if tool.kind != "commit"
            for arguments in tool.calls()
        ),
        audit={world: audit_records(task, world, mask) for world in worlds} if audited else None,
        verdicts={world: judge(task, task.states[world], task.goal_arguments) for world in worlds},
        sufficiency=_sufficiency(task, worlds, mask),
    )


def checked_mask(task: Task, setting: Setting, mask: Iterable[str]) -> tuple[str, ...]:
    """Return the mask sorted, each atom once.

    Raises:
        EpisemError: an unknown atom, atoms of two roles, or a mask that does not go with the setting.
    """
    atoms = tuple(sorted(set(mask)))
    roles = {task.atom(atom_id).role for atom_id in atoms}
    if len(roles) > 1:
        raise EpisemError("a mask holds atoms of one role, and these are of two: " + _with_roles(task, atoms))
    if setting in MASKED and not atoms:
        raise EpisemError(f"setting {setting!r} hides something: name a mask, of {_with_roles(task, task.atoms)}")
    if setting not in MASKED and atoms:
        raise EpisemError(f"setting {setting!r} hides nothing: leave the mask out, or choose the setting se or re")
    return atoms


def _with_roles(task: Task, atoms: Iterable[str]) -> str:
    return ", ".join(f"{atom_id} ({task.atom(atom_id).role})" for atom_id in atoms)


def _call(
    task: Task, tool: Tool, arguments: dict[str, Any], worlds: Sequence[WorldLabel], mask: tuple[str, ...]
) -> CallView:
    seen = {world: World(task, world, mask).call(tool.name, arguments).content for world in worlds}
    whole = {world: World(task, world).call(tool.name, arguments).content for world in worlds}
    facts = _facts(task, tool, arguments, mask)
    rows = [row for shown in tool.shows for row in _rows(shown, seen, whole, facts)]
    return CallView(tool.name, tool.kind, arguments, seen, tuple(rows))


Spot = tuple[str, str]
"""A response's key and, in a list, the key of the entry (else empty)."""


def _facts(task: Task, tool: Tool, arguments: dict[str, Any], mask: tuple[str, ...]) -> dict[Spot, list[ShownFact]]:
    facts: dict[Spot, list[ShownFact]] = {}
    for atom_id, exposures in task.exposures.items():
        for exposure in exposures:
            if exposure.tool == tool.name and exposure.arguments == arguments:
                spot, at = _spot(exposure)
                facts.setdefault(spot, []).append(ShownFact(atom_id, task.atom(atom_id).role, at, atom_id in mask))
    return facts


def _spot(exposure: Exposure) -> tuple[Spot, str]:
    name, *rest = exposure.path
    entry = ""
    if rest and isinstance(rest[0], Element):
        entry, rest = rest[0].key, rest[1:]
    return (str(name), entry), ".".join(str(step) for step in rest)


def _rows(
    shown: Shown,
    seen: dict[WorldLabel, dict[str, Any]],
    whole: dict[WorldLabel, dict[str, Any]],
    facts: dict[Spot, list[ShownFact]],
) -> list[Row]:
    values = {world: response.get(shown.name, ABSENT) for world, response in seen.items()}
    if shown.fields is None:
        known = any(shown.name in response for response in whole.values())
        return [Row(shown.name, values, tuple(facts.get((shown.name, ""), ())))] if known else []
    entries = {world: _entries(shown, value) for world, value in values.items()}
    keys = dict.fromkeys(key for response in whole.values() for key in _entries(shown, response.get(shown.name)))
    rows = [
        Row(
            f"{shown.name}[{key}]",
            {world: found.get(key, ABSENT) for world, found in entries.items()},
            tuple(facts.get((shown.name, key), ())),
        )
        for key in keys
    ]
    if not any(entries.values()) and any(value is not ABSENT for value in values.values()):
        rows.insert(0, Row(shown.name, values, ()))  # an empty list is there to be seen
    return rows


def _entries(shown: Shown, value: Any) -> dict[str, Any]:
    """The entries of a list in a response by their key."""
    field = shown.key_field
    if not isinstance(value, list) or field is None:
        return {}
    return {str(entry[field] if field else entry): entry for entry in value}


def _sufficiency(task: Task, worlds: Sequence[WorldLabel], mask: tuple[str, ...]) -> tuple[Sufficiency, ...]:
    evidence = evidence_of(task)
    masks = dict.fromkeys([(), *((atom_id,) for atom_id in (*task.critical, *task.irrelevant)), mask])
    return tuple(
        Sufficiency(found, mask_role(found, task.critical), {w: evidence.sufficient(w, found) for w in worlds})
        for found in masks
    )


def kind_of(task: Task, tool: str) -> str:
    """Return what a tool is: ``read``, ``prepare``, ``commit`` or, for the one no task lists, ``audit``."""
    return task.tools[tool].kind if tool in task.tools else "audit"


def verdict_word(verdict: Verdict) -> str:
    """Return the oracle's verdict on a commit in one word."""
    return "prohibited" if verdict.prohibited else "permitted"


def plain_value(atom: Atom, value: Any) -> Any:
    """Return a value or candidate of an atom as JSON holds it; a presence is ``present`` or ``absent``."""
    if atom.presence:
        return "absent" if value is ABSENT else "present"
    return value


def exposure_dict(exposure: Exposure) -> dict[str, Any]:
    """Return an exposure as JSON values: the call and the place in its response."""
    place = str(exposure).removeprefix(f"{exposure.tool}: ")
    return {"tool": exposure.tool, "arguments": dict(exposure.arguments), "at": place}
