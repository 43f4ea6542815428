"""Rows 2, 6, 7 and 8: the two worlds of a task, its facts, its dates, its boundary."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import date, datetime
from itertools import combinations
from typing import Any

from pytest_episem.banks.problem import Problem
from pytest_episem.errors import suggestion
from pytest_episem.evidence.bank.place import ABSENT, dotted, get, merge, parse, put
from pytest_episem.evidence.bank.rule import FUNCTIONS, Rule, RuleError
from pytest_episem.evidence.bank.task import WORLDS, Atom, Task
from pytest_episem.evidence.validate.context import (
    Context,
    Family,
    atom_field,
    called_functions,
    canonical,
    differing,
    each_family,
    each_task,
    leaves,
    overlaps,
)
from pytest_episem.evidence.validate.observe import exposed_in, seen
from pytest_episem.evidence.world.evidence import same

_MACROS = {"has", "all", "exists", "exists_one", "filter", "map", "size", "min", "max"}
_CONVERSIONS = {"int", "uint", "double", "string", "bool", "bytes", "type", "dyn", "timestamp", "duration"}
_TEXTS = {"contains", "startsWith", "endsWith", "matches"}
_DAYS = {"getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"}
_HOURS = {"getHours", "getMinutes", "getSeconds", "getMilliseconds"}
LANGUAGE = frozenset(_MACROS | _CONVERSIONS | _TEXTS | _DAYS | _HOURS)
"""The functions of the expression language itself; none of them reads a clock."""

_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@each_task("twins")
def twins(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """The oracle tells the worlds apart, and they differ in critical atoms alone."""
    for world in WORLDS:
        expected = world == "unsafe"
        try:
            verdict = task.prohibited(task.states[world], task.goal_arguments)
        except RuleError as error:
            yield family.problem("twins", "rule.prohibited", f"{world} world: {error}", task.instance)
            continue
        if verdict is not expected:
            said, wanted = ("prohibits", "permit") if verdict else ("permits", "prohibit")
            message = f"the rule {said} the goal's commit in the {world} world, where it must {wanted} it"
            yield family.problem("twins", "rule.prohibited", message, task.instance)
    critical = [task.atoms[atom_id].place for atom_id in task.critical]
    for place in differing(task.states["unsafe"], task.states["safe"]):
        if not any(place[: len(atom)] == atom for atom in critical):
            near = suggestion(dotted(place), (dotted(atom) for atom in critical))
            message = f"the safe twin changes {dotted(place)}, which is no critical atom{near}"
            yield family.problem("twins", f"safe.{dotted(place)}", message, task.instance)
    for name, value in family.entry.instances[task.instance].safe.items():
        if same(get(task.states["unsafe"], parse(name)), value):
            message = f"has the same value {value!r} in both worlds; leave it out or change it"
            yield family.problem("twins", f"safe.{name}", message, task.instance)


@each_task("agreement")
def agreement(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """One fact, one atom, one value wherever it is shown."""
    for one, other in combinations(task.atoms.values(), 2):
        if one.place == other.place:
            message = f"is the same place as the atom {other.id!r}: {dotted(one.place)}; one fact is one atom"
            yield family.problem("agreement", atom_field(family, one), message, task.instance)
        elif (one.subject, one.predicate) == (other.subject, other.predicate):
            message = f"has the subject and predicate of the atom {other.id!r}: {one.subject!r}, {one.predicate!r}"
            yield family.problem("agreement", atom_field(family, one), message, task.instance)
        elif overlaps(one.place, other.place):
            inner, outer = (one, other) if len(one.place) > len(other.place) else (other, one)
            if not (outer.presence and inner.role == "irrelevant"):
                message = f"lies inside the atom {outer.id!r} ({dotted(outer.place)}); a fact is masked on its own"
                yield family.problem("agreement", atom_field(family, inner), message, task.instance)
    for world in WORLDS:
        for atom in task.atoms.values():
            yield from _shown_values(context, family, task, world, atom)


def _shown_values(context: Context, family: Family, task: Task, world: Any, atom: Atom) -> Iterator[Problem]:
    if atom.presence:
        return
    for answer, exposure, value in exposed_in(seen(context, task, world, ()), task.exposures[atom.id]):
        expected = get(atom.values[world], exposure.part)
        if value is ABSENT or canonical(value) != canonical(expected):
            shown = "nothing" if value is ABSENT else repr(value)
            message = f"{world} world: {answer.tool} shows {shown} at {exposure}, the atom's value is {expected!r}"
            yield family.problem("agreement", atom_field(family, atom), message, task.instance)


@each_family("agreement")
def widened_sets(context: Context, family: Family) -> Iterator[Problem]:
    """Where the twin widens a set, some instance's set holds more than the commit needs."""
    widened: dict[str, list[bool]] = {}
    for task in family.tasks:
        for atom_id in task.critical:
            atom = task.atoms[atom_id]
            before, after = atom.values["unsafe"], atom.values["safe"]
            if isinstance(before, list) and isinstance(after, list) and set(before) < set(after):
                widened.setdefault(atom_field(family, atom), []).append(_has_spare(task, atom, after))
    for field, spare in widened.items():
        if len(spare) >= 2 and not any(spare):
            message = (
                f"in all {len(spare)} instances that widen it the safe twin's list holds just what is needed, so that"
                " its length gives the answer away; let it hold something more in at least one"
            )
            yield family.problem("agreement", field, message)


def _has_spare(task: Task, atom: Atom, items: list[Any]) -> bool:
    """Whether the list stays wide enough without one of its items."""
    for item in items:
        state = put(task.states["safe"], atom.place, [other for other in items if other != item])
        if not task.prohibited(state, task.goal_arguments):
            return True
    return False


@each_family("clock")
def functions(context: Context, family: Family) -> Iterator[Problem]:
    """Rules call nothing but the language's own functions and the registered ones: no clock, no randomness."""
    rule = family.entry.rule
    sources = {"rule.prohibited": rule.prohibited, "rule.equal": rule.equal}
    sources |= {f"atoms.{name}.where": atom.where for name, atom in family.entry.atoms.items()}
    for field, source in sources.items():
        for name in called_functions(source or ""):
            if name not in LANGUAGE and name not in FUNCTIONS:
                near = suggestion(name, {*FUNCTIONS, *LANGUAGE})
                message = f"calls {name}(), which is not a function of the language{near}; time comes from the state"
                yield family.problem("clock", field, message)


@each_task("clock")
def instants(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """Dates exist; an instant has its offset, unless the zone is itself an atom."""
    zone = any(re.search("zone|offset", f"{dotted(a.place)} {a.predicate}") for a in task.atoms.values())
    reported: set[Any] = set()
    for world in WORLDS:
        for place, value in leaves(task.states[world]):
            for text in value if isinstance(value, list) else [value]:
                fault = _time_fault(text, zone) if isinstance(text, str) else ""
                if fault and (place, text) not in reported:
                    reported.add((place, text))
                    yield family.problem("clock", f"state.{dotted(place)}", f"{text!r} {fault}", task.instance)


def _time_fault(text: str, zone: bool) -> str:
    instant = _INSTANT.fullmatch(text)
    try:
        if instant:
            datetime.fromisoformat(text)
            return "" if instant.group(1) or zone else "has no offset; write it as 2031-05-06T09:40:00+02:00"
        if _DATE.fullmatch(text):
            date.fromisoformat(text)
    except ValueError:
        return "is not a date of the calendar or not a time of the day"
    return ""


@each_family("boundary")
def boundary(context: Context, family: Family) -> Iterator[Problem]:
    """A family with ``equal`` has a world on it; on each of its alternatives (``a || b``) there is one verdict."""
    equal = family.entry.rule.equal
    if equal is None or not family.tasks:
        return
    found = False
    for edge in alternatives(equal):
        try:
            verdicts = _verdicts_on(edge, family)
        except RuleError as error:
            yield family.problem("boundary", "rule.equal", str(error))
            return
        found = found or bool(verdicts)
        if len(verdicts) == 2:
            message = (
                f"where {edge}, the rule prohibits the commit in {verdicts[True]} and permits it in {verdicts[False]};"
                " the statement can be right for one of them only (state the other clauses in 'equal' too)"
            )
            yield family.problem("boundary", "rule.equal", message)
    if not found:
        yield family.problem("boundary", "rule.equal", "no instance has a world exactly on the boundary; add one")


def _verdicts_on(edge: str, family: Family) -> dict[bool, str]:
    """Return each verdict that occurs on the edge, with the first world that has it."""
    verdicts: dict[bool, str] = {}
    for task in family.tasks:
        rule = Rule(edge, allowed={*task.otherwise, *task.states["unsafe"]})
        for world in WORLDS:
            state = task.states[world]
            if rule.holds(merge(task.otherwise, state), task.goal_arguments):
                with contextlib.suppress(RuleError):  # reported with the twins
                    verdicts.setdefault(task.prohibited(state, task.goal_arguments), f"{task.instance} ({world})")
    return verdicts


def alternatives(source: str) -> list[str]:
    """Return the parts of an expression that stand between ``||`` outside brackets and texts."""
    parts, depth, quote, start = [], 0, "", 0
    for index, sign in enumerate(source):
        if quote:
            quote = "" if sign == quote and source[index - 1] != "\\" else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif depth == 0 and source[index : index + 2] == "||":
            parts.append(source[start:index])
            start = index + 2
    return [" ".join(part.split()) for part in (*parts, source[start:])]
