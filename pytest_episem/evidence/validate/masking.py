"""Rows 4 and 5: a masked fact is gone. Nothing that an ordinary tool says depends on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.bank.family_file import ParamEntry
from pytest_episem.evidence.bank.place import ABSENT, dotted, parse
from pytest_episem.evidence.bank.task import WORLDS, Atom, Task, WorldLabel
from pytest_episem.evidence.validate.context import Context, Family, atom_field, canonical, each_task, overlaps
from pytest_episem.evidence.validate.facts import parameter_places
from pytest_episem.evidence.validate.observe import (
    Seen,
    all_exposures,
    exposed_in,
    observe,
    seen,
    with_state,
)
from pytest_episem.evidence.world.evidence import same

CODE = "non-interference"


@each_task(CODE)
def exposed(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """Some read shows the whole of every maskable fact, in both worlds."""
    for atom in task.atoms.values():
        reads = [e for e in task.exposures[atom.id] if task.tools[e.tool].kind == "read"]
        if not reads:
            message = f"no read shows {dotted(atom.place)}; a fact that nobody can see cannot be masked"
            yield family.problem(CODE, atom_field(family, atom), message, task.instance)
            continue
        for world in WORLDS:
            found = list(exposed_in(seen(context, task, world, ()), reads))
            if not any(value is not ABSENT for _, _, value in found):
                message = f"{world} world: no read gives a value for {dotted(atom.place)}"
                yield family.problem(CODE, atom_field(family, atom), message, task.instance)


@each_task(CODE)
def takes_or_uncovers(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """No tool's ids come from maskable facts (its errors would tell them), and no call writes over a masked place."""
    for tool in task.tools.values():
        for atom in task.atoms.values():
            for path, _ in tool.sets:
                if overlaps(path, atom.place):
                    message = f"the call would uncover the atom {atom.id!r}; set context places only"
                    yield family.problem(CODE, f"tools.{tool.name}.sets.{dotted(path)}", message, task.instance)
            if tool.kind != "commit":
                for param, place in parameter_places(family, tool.name):
                    if overlaps(place, atom.place):
                        message = f"the tool takes the atom {atom.id!r} as an argument; its errors would tell the value"
                        yield family.problem(CODE, f"tools.{tool.name}.needs.{param}", message, task.instance)
            for param, collection in _key_collections(family, tool.name):
                if _adds_keys(atom, collection):
                    message = f"takes keys of {dotted(collection)}, of which the atom {atom.id!r} is one"
                    yield family.problem(CODE, f"tools.{tool.name}.needs.{param}", message, task.instance)


def _key_collections(family: Family, tool: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for param, need in family.entry.tools[tool].needs.items():
        if isinstance(need, ParamEntry) and need.key_of:
            yield param, parse(need.key_of)


def _adds_keys(atom: Atom, collection: tuple[str, ...]) -> bool:
    """Whether masking the atom takes an element, or the whole collection, away."""
    return collection[: len(atom.place)] == atom.place or (atom.presence and atom.place[:-1] == collection)


@each_task(CODE)
def single_masks(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """Under each single mask the fact shows nowhere, and no candidate in its place changes a byte."""
    for atom in task.atoms.values():
        for world in WORLDS:
            errors = world == "unsafe"  # what the interface rejects is the same call in both
            base = observe(task, world, (atom.id,), errors)
            yield from _still_shown(family, task, atom, world, base)
            for value in _replacements(atom, world):
                changed = with_state(task, world, task.with_values(task.states[world], {atom.id: value}))
                difference = first_difference(base, observe(changed, world, (atom.id,), errors))
                if difference:
                    yield _interference(family, task, atom.id, world, difference)
                    break


def _replacements(atom: Atom, world: WorldLabel) -> list[Any]:
    """Return what to put in the atom's place: its other candidates, for a plain text one more."""
    value = atom.values[world]
    others = [candidate for candidate in atom.candidates if not same(candidate, value)]
    return others if others or not isinstance(value, str) else [f"{value} (another)"]


def _still_shown(
    family: Family, task: Task, atom: Atom, world: WorldLabel, answers: Sequence[Seen]
) -> Iterator[Problem]:
    for answer, exposure, value in exposed_in(answers, all_exposures(task, atom.id)):
        if value is not ABSENT:
            message = f"{world} world: masked, and {answer.tool} still shows {canonical(value)} at {exposure}"
            yield family.problem(CODE, atom_field(family, atom), message, task.instance)
            return


@each_task(CODE)
def all_critical(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """With all critical atoms masked, no combination of their candidates changes a byte."""
    atoms = [task.atoms[atom_id] for atom_id in task.critical]
    for world in WORLDS:
        base = seen(context, task, world, task.critical)
        known = {canonical(task.visible(world, task.critical))}
        for values in itertools.product(*(atom.candidates for atom in atoms)):
            chosen = dict(zip(task.critical, values, strict=True))
            changed = with_state(task, world, task.with_values(task.states[world], chosen))
            visible = canonical(changed.visible(world, task.critical))
            if visible in known:  # the tools are given the same bytes
                continue
            known.add(visible)
            difference = first_difference(base, observe(changed, world, task.critical))
            if difference:
                yield _interference(family, task, "", world, difference)
                return


def _interference(family: Family, task: Task, atom_id: str, world: WorldLabel, difference: str) -> Problem:
    masked = "it is masked" if atom_id else "all critical atoms are masked"
    field = atom_field(family, task.atoms[atom_id]) if atom_id else "atoms"
    message = f"{world} world: {masked}, and another value in its place changes what a tool says: {difference}"
    return family.problem(CODE, field, message, task.instance)


@each_task("indistinguishable")
def indistinguishable(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """With every critical atom masked, both worlds answer alike, byte for byte."""
    unsafe, safe = (seen(context, task, world, task.critical) for world in WORLDS)
    difference = first_difference(unsafe, safe)
    if difference:
        message = f"all critical atoms are masked, and the worlds still differ: {difference}"
        yield family.problem("indistinguishable", _tool_field(unsafe, safe), message, task.instance)


def _tool_field(one: Sequence[Seen], other: Sequence[Seen]) -> str:
    return next((f"tools.{a.tool}.shows" for a, b in zip(one, other, strict=False) if a.text != b.text), "tools")


def first_difference(one: Sequence[Seen], other: Sequence[Seen]) -> str:
    """Return the first answer that differs, in words, or ``""``."""
    for a, b in zip(one, other, strict=False):
        if (a.tool, a.arguments, a.valid, a.text) != (b.tool, b.arguments, b.valid, b.text):
            return f"{a} answers {_clip(a.text)} or {_clip(b.text)}"
    return "" if len(one) == len(other) else "the calls that are possible differ"


def _clip(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:160]}…"
