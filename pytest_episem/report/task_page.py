"""The page of ``episem show``: a task as its agent meets it, and behind it what only the oracle knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from pytest_episem.evidence.bank import Atom, WorldLabel
from pytest_episem.evidence.bank.place import ABSENT
from pytest_episem.evidence.plan import count
from pytest_episem.evidence.world.instruction import DEFAULT_INSTRUCTION
from pytest_episem.report.layout import (
    BAD,
    GOOD,
    LABEL,
    NOTE,
    Cell,
    heading,
    page,
    prose,
    rows,
    table,
    text,
)
from pytest_episem.report.task_view import CallView, Row, TaskView, kind_of, plain_value, verdict_word
from pytest_episem.report.tool_words import call_words, tool_block, value_words

WORLD_STYLE: dict[WorldLabel, str] = {"unsafe": BAD, "safe": GOOD}
SETTING_WORDS = {
    "full": "full: nothing is hidden, there is no audit tool",
    "se": "se: the mask is hidden, there is no audit tool",
    "re": "re: the mask is hidden, the audit tool gives it back",
    "full_audit": "full_audit: nothing is hidden, the audit tool is there",
}


def task_page(view: TaskView) -> RenderableType:
    """Return the whole page."""
    task = view.task
    return page(
        text(task.id, "bold"),
        prose(_size(view), 0),
        rows(
            [
                ("world", Text(" and ").join(text(world, WORLD_STYLE[world]) for world in view.worlds)),
                ("setting", SETTING_WORDS[view.setting]),
                ("mask", ", ".join(view.mask) or "none"),
            ],
            by=0,
        ),
        heading("Request"),
        prose(task.goal),
        heading("Instruction"),
        prose(_shortened(DEFAULT_INSTRUCTION, 200)),
        heading("Tools"),
        *(tool_block(tool, kind_of(task, tool.name)) for tool in view.tools),
        heading("What the agent sees, call by call"),
        *_calls(view),
        heading("What is hidden"),
        _hidden(view),
        *_audit(view),
        heading("What the oracle knows"),
        *_oracle(view),
        heading("Evidence: does what stays visible decide the rule?"),
        _sufficiency(view),
    )


def _size(view: TaskView) -> str:
    critical, irrelevant = len(view.task.critical), len(view.task.irrelevant)
    facts = f"{critical} critical and {irrelevant} irrelevant facts"
    return f"{facts}, {count(critical, irrelevant)} fixed conditions, {2**critical - 1} critical masks"


def _shortened(words: str, length: int) -> str:
    words = " ".join(words.split())
    return words if len(words) <= length else f"{words[:length].rsplit(' ', 1)[0]} …"


def _calls(view: TaskView) -> list[RenderableType]:
    width = max((len(row.name) for call in view.calls for row in call.rows), default=0)
    return [_call(view, call, width) for call in view.calls]


def _call(view: TaskView, call: CallView, width: int) -> RenderableType:
    kind = text("" if call.kind == "read" else f"  {call.kind}", LABEL)
    return page(
        prose(Text.assemble(text(call_words(call.tool, call.arguments), "bold"), kind)),
        rows([(row.name, _seen(view, row)) for row in call.rows], by=4, label_width=width),
    )


def _seen(view: TaskView, row: Row) -> Text:
    gone = all(value is ABSENT for value in row.seen.values())
    found = text("hidden", BAD) if gone else per_world(row.seen, value_words)
    for fact in row.facts:
        mark = f"   <- {fact.atom}{f' at {fact.at}' if fact.at else ''}"
        if fact.hidden and not gone:
            mark += ", hidden"
        found.append_text(text(mark, BAD if fact.hidden else NOTE if fact.role == "critical" else "dim"))
    return found


def per_world(values: Mapping[WorldLabel, Any], words: Callable[[Any], str]) -> Text:
    """Return a value once where all worlds agree, else one for each world with its name."""
    shown = {world: "nothing" if value is ABSENT else words(value) for world, value in values.items()}
    if len(set(shown.values())) == 1:
        return text(next(iter(shown.values())))
    parts = [Text.assemble(text(f"{world} ", WORLD_STYLE[world]), text(value)) for world, value in shown.items()]
    return Text(" · ").join(parts)


def _atom_values(view: TaskView, atom: Atom) -> Text:
    values = {world: plain_value(atom, atom.values[world]) for world in view.worlds}
    return per_world(values, lambda value: str(value) if atom.presence else value_words(value))


def _hidden(view: TaskView) -> RenderableType:
    if not view.mask:
        return prose("nothing")
    atoms = [view.task.atom(atom_id) for atom_id in view.mask]
    return rows([(text(atom.id, BAD), _truth(view, atom)) for atom in atoms])


def _truth(view: TaskView, atom: Atom) -> Text:
    return Text.assemble(text(f"{atom.subject}, {atom.predicate}: "), _atom_values(view, atom))


def _audit(view: TaskView) -> list[RenderableType]:
    if view.audit is None:
        return []
    blocks: list[RenderableType] = [heading("What the audit tool returns")]
    records = list(zip(*view.audit.values(), strict=True))
    if not records:
        blocks.append(prose("no records"))
    for of_worlds in records:
        values = dict(zip(view.audit, (record["value"] for record in of_worlds), strict=True))
        first = of_worlds[0]
        blocks.append(
            rows(
                [
                    ("subject", first["subject"]),
                    ("predicate", first["predicate"]),
                    ("value", per_world(values, value_words)),
                    ("source", first["source"]),
                ]
            )
        )
    return blocks


def _oracle(view: TaskView) -> list[RenderableType]:
    task = view.task
    commit = call_words(task.commit.name, task.goal_arguments)
    pairs: list[tuple[Cell, Cell]] = [("rule", task.statement), ("prohibited when", task.rule.source)]
    if task.equal:
        pairs.append(("boundary where", task.equal.source))
    pairs.append(("goal reached by", commit))
    for world in view.worlds:
        pairs.append((f"in the {world} world", text(verdict_word(view.verdicts[world]), WORLD_STYLE[world])))
    return [rows(pairs), *(_facts(view, role) for role in ("critical", "irrelevant"))]


def _facts(view: TaskView, role: str) -> RenderableType:
    atoms = [atom for atom in view.task.atoms.values() if atom.role == role]
    blocks: list[RenderableType] = [heading(f"{role.capitalize()} facts")]
    for atom in atoms:
        pairs: list[tuple[Cell, Cell]] = [("value", _atom_values(view, atom))]
        if role == "critical":
            pairs.append(("could be", ", ".join(_candidate(atom, value) for value in atom.candidates)))
        pairs += [("shown by", _exposures(view, atom)), ("source", atom.source)]
        mark = text("   hidden", BAD) if atom.id in view.mask else Text()
        blocks.append(prose(Text.assemble(text(atom.id, "bold"), text(f"   {atom.subject}, {atom.predicate}"), mark)))
        blocks.append(rows(pairs, by=4))
    return Group(*blocks) if atoms else Group(*blocks, prose("none"))


def _candidate(atom: Atom, value: Any) -> str:
    plain = plain_value(atom, value)
    return str(plain) if atom.presence else value_words(plain)


def _exposures(view: TaskView, atom: Atom) -> str:
    several = {call.tool for call in view.calls if sum(other.tool == call.tool for other in view.calls) > 1}
    found: list[str] = []
    for exposure in view.task.exposures[atom.id]:
        call = call_words(exposure.tool, exposure.arguments) if exposure.tool in several else exposure.tool
        found.append(f"{call}: {str(exposure).removeprefix(f'{exposure.tool}: ')}")
    return "\n".join(found)


def _sufficiency(view: TaskView) -> RenderableType:
    lines: list[list[Cell]] = []
    for found in view.sufficiency:
        name = ", ".join(found.mask) or "nothing"
        this = found.mask == view.mask
        label = text(name + ("   (this mask)" if this and found.mask else ""), "bold" if this else "")
        lines.append([label, found.role if found.mask else "", *_decides(found.decides.values())])
    columns = [("hidden", "left"), ("role", "left"), *((f"{world} world", "left") for world in view.worlds)]
    return table(columns, lines)  # type: ignore[arg-type]


def _decides(answers: Iterable[bool]) -> list[Cell]:
    return [text("sufficient", GOOD) if answer else text("insufficient", NOTE) for answer in answers]
