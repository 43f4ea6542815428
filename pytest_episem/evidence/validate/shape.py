"""Rows 1, 15 and 16: what does not load, ids, types, encoding, fresh states, counts."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pytest_episem.banks.folder import LARGEST_FILE
from pytest_episem.banks.problem import Problem
from pytest_episem.errors import suggestion
from pytest_episem.evidence.bank.build import nowhere
from pytest_episem.evidence.bank.family_file import EachEntry, ParamEntry
from pytest_episem.evidence.bank.place import ABSENT, Path, dotted, names_in, parse
from pytest_episem.evidence.bank.task import WORLDS, Task
from pytest_episem.evidence.validate.context import (
    Context,
    Family,
    atom_field,
    called_functions,
    canonical,
    each_family,
    each_task,
    leaves,
)
from pytest_episem.evidence.validate.observe import has_goal, observe
from pytest_episem.evidence.validate.report import Count
from pytest_episem.files import read_regular

COUNTS_FILE = "counts.csv"
SHIPPED_TOTALS = Count(pairs=300, families=60, critical=944, irrelevant=419, masks=3352)
FEWEST_READS = 3
PARTIAL_TEXT = frozenset({"contains", "startsWith", "endsWith", "matches"})


def load_faults(context: Context) -> Iterator[Problem]:
    """Everything that keeps a file or an instance from being read."""
    yield from context.faults


def unique_instances(context: Context) -> Iterator[Problem]:
    """An instance's id occurs once in the bank."""
    where: dict[str, list[str]] = {}
    for family in context.neighbours:
        for instance in family.entry.instances:
            where.setdefault(instance, []).append(family.name)
    for family in context.families:
        for instance in family.entry.instances:
            others = [name for name in where[instance] if name != family.name]
            if others:
                message = f"the id {instance!r} is also in {others[0]}; an instance's id is unique in the bank"
                yield family.problem("schema", f"instances.{instance}", message, instance)


@each_family("schema")
def tool_kinds(context: Context, family: Family) -> Iterator[Problem]:
    """At least three reads; exactly one commit is the loader's check."""
    reads = [name for name, tool in family.entry.tools.items() if tool.kind == "read"]
    if len(reads) < FEWEST_READS:
        message = f"{len(reads)} read tools ({', '.join(reads)}); at least {FEWEST_READS}, along who holds which facts"
        yield family.problem("schema", "tools", message)


@each_family("schema")
def used_places(context: Context, family: Family) -> Iterator[Problem]:
    """An optional place is stated by some instance: a tool shows it there, and its atom exists there."""
    if len(family.tasks) < len(family.entry.instances):
        return  # the one that does not load may be the one that states it
    found = {field: place for field, place in _optional(family) if not _stated(family, field, place)}
    for field, place in found.items():
        message = f"no instance states the place {place}{_near(family, place)}"
        yield family.problem("schema", field, message)
    for error in nowhere(family.entry, list(family.tasks)):  # what the loader refuses as well
        if error.field not in found:
            yield family.problem("schema", error.field, str(error))


def _optional(family: Family) -> Iterator[tuple[str, str]]:
    """Yield (field, place) of every atom and of everything shown."""
    for name, atom in family.entry.atoms.items():
        yield f"atoms.{name}", atom.place
    for name, tool in family.entry.tools.items():
        for key, show in tool.shows.items():
            for label, place in _shown_places(key, show):
                yield f"tools.{name}.shows.{label}", place


def _stated(family: Family, field: str, place: str) -> bool:
    if field.startswith("atoms."):
        return any(f"atoms.{atom.template}" == field for task in family.tasks for atom in task.atoms.values())
    return any(_exists(task, place) for task in family.tasks)


@each_family("schema")
def unused_values(context: Context, family: Family) -> Iterator[Problem]:
    """Everything that a state holds is used by a tool, the rule, an atom or the request; else it is a slip."""
    used = [parse(place) for place in _used_places(family)]
    rule = family.entry.rule
    sources = [rule.prohibited, rule.equal, *(atom.where for atom in family.entry.atoms.values())]
    rules = " ".join(source for source in sources if source)
    words = {*re.findall(r"\w+", rules), *(f"{name}[" for name in re.findall(r"(\w+)\[", rules))}
    reported: set[Path] = set()
    for task in family.tasks:
        shared = {place for place, _ in leaves(family.entry.state)}
        for place, _ in leaves(task.states["unsafe"]):
            in_rule = place[-1] in words or (len(place) > 1 and f"{place[-2]}[" in words)
            if place in reported or in_rule or any(_meets(place, pattern) for pattern in used):
                continue
            reported.add(place)
            names = sorted({dotted(pattern) for pattern in used})
            near = get_close_matches(dotted(place), names, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            message = f"no tool, rule, atom or request uses this value{hint}"
            instance = "" if place in shared else task.instance
            yield family.problem("schema", f"state.{dotted(place)}", message, instance)


def _used_places(family: Family) -> Iterator[str]:
    entry = family.entry
    texts = [entry.goal]
    for atom in entry.atoms.values():
        yield atom.place
        texts += [atom.subject, atom.predicate, atom.source, atom.place, str(atom.could_be)]
    for tool in entry.tools.values():
        yield from tool.sets
        for key, show in tool.shows.items():
            for _, place in _shown_places(key, show):
                # a list shows the keys; what lies inside an element is used by a field of its own
                yield place if isinstance(show, str) or place != show.each else f"{place}.{{key}}.(key)"
        for need in tool.needs.values():
            places = [need] if isinstance(need, str) else [need.of, need.goal]
            yield from (place for place in places if place)
    for text in texts:
        yield from names_in(text)


def _meets(place: Path, pattern: Path) -> bool:
    """Whether one of two places lies in the other; a step in braces stands for any key."""
    return all(step == wanted or wanted[0] == "{" for step, wanted in zip(place, pattern, strict=False))


def _shown_places(key: str, show: str | EachEntry) -> Iterator[tuple[str, str]]:
    if isinstance(show, str):
        yield key, show
        return
    yield key, show.each
    for name, place in ({} if isinstance(show.as_, str) else show.as_).items():
        if place != "key":
            yield f"{key}.{name}", f"{show.each}.{{key}}.{place}"


def _exists(task: Task, place: str) -> bool:
    """Whether a place, with any key where it has braces, is in the unsafe state."""
    states: list[Any] = [task.states["unsafe"]]
    for step in parse(place):
        inner = [state for state in states if isinstance(state, Mapping)]
        if step[0] == "{":
            states = [value for state in inner for value in state.values()]
        else:
            states = [state[step] for state in inner if step in state]
    return bool(states)


def _near(family: Family, place: str) -> str:
    collections = _collections(family)
    places = {
        dotted(_general(known, collections)).replace("*", "{key}")
        for task in family.tasks
        for known, _ in _with_mappings(task.states["unsafe"])
    }
    near = get_close_matches(place, sorted(places), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


@each_family("comparison")
def types(context: Context, family: Family) -> Iterator[Problem]:
    """A place has one type over the family's instances and in both worlds."""
    collections = _collections(family)
    known: dict[Path, tuple[str, str]] = {}
    reported: set[Path] = set()
    for task in family.tasks:
        for world in WORLDS:
            for place, value in _with_mappings(task.states[world]):
                general, kind = _general(place, collections), type_name(value)
                first, instance = known.setdefault(general, (kind, task.instance))
                if first == "empty list":
                    known[general] = (kind, task.instance)
                elif kind not in (first, "empty list") and general not in reported:
                    reported.add(general)
                    message = f"{world} world: is {_a(kind)} ({value!r:.80}), but {_a(first)} in {instance}"
                    yield family.problem("comparison", f"state.{dotted(place)}", message, task.instance)


def _collections(family: Family) -> list[Path]:
    places = [atom.each for atom in family.entry.atoms.values()]
    for tool in family.entry.tools.values():
        places += [show.each for show in tool.shows.values() if isinstance(show, EachEntry)]
        places += [need.key_of for need in tool.needs.values() if isinstance(need, ParamEntry)]
    return [parse(place) for place in places if place]


def _general(place: Path, collections: list[Path]) -> Path:
    """Return a place with the keys of collections as ``*``."""
    general = list(place)
    for collection in collections:
        size = len(collection)
        if len(place) > size and all(s == p or s[0] == "{" for s, p in zip(collection, place, strict=False)):
            general[size] = "*"
    return tuple(general)


def _with_mappings(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, value
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _with_mappings(inner, (*path, key))


def type_name(value: Any) -> str:
    """Return a value's type in the words of the bank's format."""
    if isinstance(value, list):
        return f"list of {type_name(value[0])}s" if value else "empty list"
    names = {bool: "yes/no value", int: "number", str: "text"}
    return "mapping" if isinstance(value, Mapping) else names.get(type(value), type(value).__name__)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


@each_task("comparison")
def candidates(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """The alternatives of a fact are of the fact's own type."""
    for atom in task.atoms.values():
        expected = type_name(atom.values["unsafe"])
        for value in atom.candidates:
            found = type_name(value)
            if value is ABSENT or found == expected or "empty list" in (found, expected):
                continue
            if not ("list" in found and "list" in expected):
                message = (
                    f"the candidate {value!r} is {_a(found)}, the value {atom.values['unsafe']!r} is {_a(expected)}"
                )
                yield family.problem("comparison", f"{atom_field(family, atom)}.could_be", message, task.instance)


@each_family("comparison")
def partial_text(context: Context, family: Family) -> Iterator[Problem]:
    """No rule compares parts of texts: '10' is not in '100'."""
    rule = family.entry.rule
    for field, source in {"rule.prohibited": rule.prohibited, "rule.equal": rule.equal or ""}.items():
        for name in called_functions(source):
            if name in PARTIAL_TEXT:
                message = f"compares a part of a text ({name}); compare whole values, or 'in' a list"
                yield family.problem("comparison", field, message)


@each_family("comparison")
def one_spelling(context: Context, family: Family) -> Iterator[Problem]:
    """Texts are in composed form (NFC) and hold no invisible characters, so that what looks equal is equal."""
    text = read_regular(context.root / f"{family.name}.yaml", LARGEST_FILE).decode("utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if unicodedata.normalize("NFC", line) != line:
            message = "holds a letter written as letter and accent apart; write it as one character (NFC)"
            yield family.problem("comparison", f"line {number}", message)
        invisible = [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") and c != "\t"]
        if invisible or "\u00a0" in line:
            message = f"holds an invisible character (U+{ord((invisible or [chr(0xA0)])[0]):04X}); remove it"
            yield family.problem("comparison", f"line {number}", message)


@each_task("comparison")
def fresh_state(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """A whole episode leaves the task as it was, and a second one answers the same."""
    if not has_goal(task):
        return  # reported with the goal
    for world in WORLDS:
        first = [answer.text for answer in observe(task, world, ())]
        second = [answer.text for answer in observe(task, world, ())]
        if first != second or canonical(task.states) != family.loaded[task.instance]:
            message = f"{world} world: an episode changes the task's own state, so that the next starts elsewhere"
            yield family.problem("comparison", "state", message, task.instance)
            return


def counts(context: Context) -> Iterator[Problem]:
    """The bank has the numbers of its ``counts.csv``; the shipped bank must have one, and its totals."""
    file = context.directory / COUNTS_FILE
    if not file.is_file():
        if context.shipped:
            yield Problem("counts", COUNTS_FILE, "", "", "is missing; the shipped bank is held to its counts")
        return
    wanted = _wanted(file)
    if isinstance(wanted, Problem):
        yield wanted
        return
    present = {family.name: family for family in context.families}
    for name, row in wanted.items():
        if name in present:
            yield from _family_counts(present[name], row)
        elif context.whole:
            yield Problem("counts", COUNTS_FILE, "", name, f"there is no such family{suggestion(name, present)}")
    for name, family in present.items():
        if name not in wanted:
            yield family.problem("counts", "family", f"{name} has no row in {COUNTS_FILE}{suggestion(name, wanted)}")
    if context.shipped and context.whole:
        yield from _totals(context)


def _wanted(file: Any) -> dict[str, dict[str, str]] | Problem:
    try:
        rows = list(csv.DictReader(read_regular(file, LARGEST_FILE).decode("utf-8-sig").splitlines()))
        return {f"{row['domain']}/{row['family']}": row for row in rows if row["critical_per_instance"] is not None}
    except (OSError, UnicodeDecodeError, KeyError, csv.Error) as error:
        wanted = "domain, family, instances, critical_per_instance, irrelevant_per_instance"
        return Problem("counts", COUNTS_FILE, "", "", f"cannot be read ({error}); its columns are {wanted}")


def _family_counts(family: Family, row: Mapping[str, str]) -> Iterator[Problem]:
    if row["instances"] != str(len(family.entry.instances)):
        message = f"{len(family.entry.instances)} instances, {COUNTS_FILE} has {row['instances']}"
        yield family.problem("counts", "instances", message)
    built = {task.instance: task for task in family.tasks}
    for role in ("critical", "irrelevant"):
        wanted = (row.get(f"{role}_per_instance") or "").split()
        for instance, number in zip(family.entry.instances, wanted, strict=False):
            if instance not in built:
                continue  # does not load: reported by row 1
            ids = getattr(built[instance], role)
            if str(len(ids)) != number:
                message = f"{len(ids)} {role} atoms ({', '.join(ids)}), {COUNTS_FILE} has {number}"
                yield family.problem("counts", "atoms", message, instance)


def _totals(context: Context) -> Iterator[Problem]:
    total = Count.of(task for _, task in context.tasks())
    for name, wanted in SHIPPED_TOTALS.to_dict().items():
        found = total.to_dict()[name]
        if found != wanted:
            yield Problem("counts", str(context.directory.name), "", name, f"{found} in all, must be {wanted}")
