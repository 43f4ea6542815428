"""Row 4, second half: no visible value stands in for a masked one.

Two worlds of one instance may coincide by chance, and where a rule compares two facts they often must. So a copy is
something outside the critical facts that repeats the masked value in *every* instance of one world, and a text that
spells a telling value out in any.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.bank.family_file import AtomEntry
from pytest_episem.evidence.bank.place import ABSENT, Path, get, parse
from pytest_episem.evidence.bank.task import WORLDS, Atom, Shown, Task, Tool, WorldLabel
from pytest_episem.evidence.validate.context import (
    Context,
    Family,
    atom_field,
    each_family,
    each_task,
    leaves,
    template_of,
)
from pytest_episem.evidence.validate.observe import has_goal
from pytest_episem.evidence.validate.values import distinctive

CODE = "hidden-copy"
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}(T.*)?")


@dataclass(frozen=True, slots=True)
class Visible:
    """Something an ordinary tool shows: where it lies, its value, and whether it is a critical fact itself.

    ``keys`` are the positions in ``place`` that are keys of a collection; they differ from instance to instance.
    """

    place: Path
    value: Any
    fact: bool
    keys: frozenset[int] = frozenset()

    def name(self, own_key: str = "") -> str:
        """The place with keys as ``*``; ``@`` stands for the key of the masked fact itself."""
        steps = [
            ("@" if step == own_key else "*") if index in self.keys else step for index, step in enumerate(self.place)
        ]
        return ".".join(steps)


def visible(task: Task, world: WorldLabel, mask: Iterable[str]) -> list[Visible]:
    """Return everything that the ordinary tools show under ``mask``, each place once."""
    state = task.visible(world, mask)
    found: dict[Path, Visible] = {("goal",): Visible(("goal",), task.goal, False)}
    for tool in task.tools.values():
        for call in _calls(task, tool):
            for shown in tool.shows:
                for place, value, keys in _shown(shown, shown.at(call), state):
                    found.setdefault(place, Visible(place, value, _is_fact(task, place), keys))
    return list(found.values())


def _calls(task: Task, tool: Tool) -> Iterable[Mapping[str, Any]]:
    if tool.kind != "commit":
        return tool.calls()
    return [task.goal_arguments] if has_goal(task) else []


def _shown(shown: Shown, base: Path, state: Any) -> Iterator[tuple[Path, Any, frozenset[int]]]:
    keys = frozenset(index for index, step in enumerate(shown.path) if step[0] == "{")
    value = get(state, base)
    if value is ABSENT:
        return
    if shown.fields is None:
        for place, leaf in leaves(value, base):
            yield place, leaf, keys
            if isinstance(leaf, list):
                yield (*place, "(size)"), len(leaf), keys
        return
    yield (*base, "(size)"), len(value), keys
    inside = keys | {len(base)}
    for key, element in value.items():
        yield (*base, key), key, inside
        for field in shown.fields.values():
            item = ABSENT if field is None else get(element, field)
            if item is not ABSENT:
                for place, leaf in leaves(item, (*base, key, *(field or ()))):
                    yield place, leaf, inside


def _is_fact(task: Task, place: Path) -> bool:
    """Whether a place is a critical fact (what lies inside a presence atom is context of its own)."""
    return any(
        place == atom.place or (not atom.presence and place[: len(atom.place)] == atom.place)
        for atom in task.atoms.values()
        if atom.role == "critical"
    )


@each_family(CODE)
def hidden_copies(context: Context, family: Family) -> Iterator[Problem]:
    """No context value, and nothing computed from one, equals a masked fact in every instance of a world."""
    for name, entry in family.entry.atoms.items():
        for world in WORLDS:
            yield from _copies(context, family, name, entry, world)
    yield from _totals(context, family)


def _copies(context: Context, family: Family, name: str, entry: AtomEntry, world: WorldLabel) -> Iterator[Problem]:
    common: set[str] | None = None
    values: list[Any] = []
    instances: list[str] = []
    for task in family.tasks:
        for atom in _made_by(family, task, name):
            if atom.presence:
                continue  # its copies are counts and texts
            shown = visible(task, world, (atom.id,))
            own_key = _own_key(entry, atom)
            names = set(_repeats(shown, task, atom, world, own_key))
            common = names if common is None else common & names
            values.append(atom.values[world])
            instances.append(task.instance)
    if not common or len(set(instances)) < 2:
        return
    varied = len({repr(value) for value in values}) > 1
    for copy in sorted(common):
        if varied or (copy.startswith("=") and _telling(values[0])):
            message = (
                f"{world} world: {copy.lstrip('= ')} equals the masked value in every instance"
                f" ({values[0]!r} in {instances[0]}), so that masking hides nothing"
            )
            yield family.problem(CODE, f"atoms.{name}", message, instances[0])


def _telling(value: Any) -> bool:
    """Whether a constant that occurs elsewhere too is more than a common word or a yes."""
    if isinstance(value, bool):
        return False
    return value not in (0, 1) if isinstance(value, int) else bool(distinctive(value))


def _made_by(family: Family, task: Task, name: str) -> list[Atom]:
    return [atom for atom in task.atoms.values() if template_of(family, atom)[0] == name]


def _own_key(entry: AtomEntry, atom: Atom) -> str:
    return atom.place[len(parse(entry.each))] if entry.each else ""


def _repeats(shown: list[Visible], task: Task, atom: Atom, world: WorldLabel, own_key: str) -> Iterator[str]:
    """Yield the name of everything in context that equals the masked value; ``=`` marks a plain copy."""
    value = atom.values[world]
    ordered = _order_matters(atom)
    named = [(name, item) for name, item in _unambiguous(shown, own_key).items() if not _is_goal(task, item)]
    for name, item in named:
        if not item.fact and same_value(item.value, value, ordered):
            yield f"= {name}"
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        yield from _durations(named, value)
    if type(value) is not int:
        return
    numbers = [(name, item) for name, item in named if type(item.value) is int]
    for (name, one), (other_name, other) in itertools.combinations(numbers, 2):
        if one.fact and other.fact:
            continue
        for operation, result in _computed(one.value, other.value):
            if result == value:
                yield f"{name} {operation} {other_name}"


def _unambiguous(shown: list[Visible], own_key: str) -> dict[str, Visible]:
    """Return what each name shows; a name that shows several values (one an element) is no copy of anything."""
    named: dict[str, Visible] = {}
    several: set[str] = set()
    for item in shown:
        name = item.name(own_key)
        if name in named and not same_value(named[name].value, item.value):
            several.add(name)
        named.setdefault(name, item)
    return {name: item for name, item in named.items() if name not in several}


def _is_goal(task: Task, item: Visible) -> bool:
    return any(same_value(item.value, value) for value in task.goal_arguments.values())


def _order_matters(atom: Atom) -> bool:
    """Whether two candidates are one set in two orders."""
    lists = [value for value in atom.candidates if isinstance(value, list)]
    return any(one != other and set(one) == set(other) for one, other in itertools.combinations(lists, 2))


def _computed(one: int, other: int) -> Iterator[tuple[str, int]]:
    if 0 in (one, other):
        return
    yield "+", one + other
    yield "-", abs(one - other)
    if 1 not in (one, other):
        yield "x", one * other


def _durations(named: list[tuple[str, Visible]], value: str) -> Iterator[str]:
    """Yield context numbers that are the time between the masked instant and a visible one."""
    numbers = {name: item.value for name, item in named if not item.fact and type(item.value) is int and item.value > 1}
    for other_name, other in named:
        if not (isinstance(other.value, str) and _INSTANT.fullmatch(other.value)):
            continue
        seconds = _apart(value, other.value)
        for name, number in numbers.items():
            if seconds and seconds in (number * 60, number * 3600, number * 86400):
                yield f"{name} from {other_name}"


def _apart(one: str, other: str) -> float:
    try:
        return abs((datetime.fromisoformat(one) - datetime.fromisoformat(other)).total_seconds())
    except (ValueError, TypeError):
        return 0


def same_value(one: Any, other: Any, ordered: bool = False) -> bool:
    """Whether two values are equal and of one type, lists as sets unless their order says something."""
    if isinstance(one, list) and isinstance(other, list) and not ordered:
        return len(one) == len(other) and set(one) == set(other)
    return type(one) is type(other) and bool(one == other)


def _totals(context: Context, family: Family) -> Iterator[Problem]:
    """No context number is the sum of maskable amounts, or the number of maskable elements, in every instance."""
    for world in WORLDS:
        common: set[tuple[str, str]] | None = None
        results: dict[tuple[str, str], set[int]] = {}
        for task in family.tasks:
            shown = [v for v in visible(task, world, ()) if type(v.value) is int and not v.fact]
            pairs = {
                (v.name(), what)
                for what, number in _sums(family, task, world).items()
                for v in shown
                if v.value == number and v.place[-1] != "(size)"
            }
            for place, what in pairs:
                results.setdefault((place, what), set()).add(_sums(family, task, world)[what])
            common = pairs if common is None else common & pairs
        for place, what in sorted(common or ()):
            if len(results[place, what]) > 1:
                message = f"{world} world: is {what} in every instance; totals and counts of facts are not shown"
                yield family.problem(CODE, f"state.{place}", message)


def _sums(family: Family, task: Task, world: WorldLabel) -> dict[str, int]:
    """Return the totals of every set of templates that hold two numbers or more, and the numbers of elements."""
    numbers: dict[str, list[int]] = {}
    sums: dict[str, int] = {}
    for atom in task.atoms.values():
        name = template_of(family, atom)[0]
        if atom.presence:
            sums[f"the number of {name} atoms"] = sums.get(f"the number of {name} atoms", 0) + 1
            sums[f"the size of {'.'.join(atom.place[:-1])}"] = len(get(task.states[world], atom.place[:-1]))
        elif type(atom.values[world]) is int:
            numbers.setdefault(name, []).append(atom.values[world])
    for size in range(1, len(numbers) + 1):
        for names in itertools.combinations(numbers, size):
            values = [value for name in names for value in numbers[name]]
            if len(values) > 1:
                sums[f"the sum of {' and '.join(names)}"] = sum(values)
    return sums


@each_task(CODE)
def telling_texts(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """No text spells a telling masked value out; goal arguments and ``could_be`` values are excepted."""
    given = {repr(value) for value in task.goal_arguments.values()}
    shown = {
        world: [v for v in visible(task, world, ()) if isinstance(v.value, str) and not v.fact] for world in WORLDS
    }
    for atom in task.atoms.values():
        could_be = [repr(value) for value in template_of(family, atom)[1].could_be]
        for world in WORLDS:
            spelled = _spelled(task, atom, world)
            if repr(atom.values[world]) in could_be or not spelled or repr(atom.values[world]) in given:
                continue
            found = next((v for v in shown[world] if _spells(v.value, spelled, atom) and not _inside(v, atom)), None)
            if found:
                message = f"{world} world: the text {found.value!r} at {found.name()} spells the masked value out"
                yield family.problem(CODE, atom_field(family, atom), message, task.instance)
                break


_NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_RULE_WORDS = re.compile(
    r"^(?:a|an)\b|\b(?:if|when|whenever|while|once|until|unless|only|or|who|whoever|that|which|one|every|each|any|no|nobody"
    r"|must|may|not)\b",
    re.IGNORECASE,
)
"""A sentence with one of these states what holds in general, not what is."""
_NEXT = 2
"""Words that may stand between a fact's value and its name: *the limit is now 5*."""
_NO_NAMES = frozenset(("the", "its", "and", "for", "has", "was", "with", "which", "than", "that", "from", "whether"))


@each_task(CODE)
def plain_values(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """No request holds a masked small number or short word, and no sentence says it beside the fact's name.

    Such values are too common to be looked for anywhere (``telling_texts`` does so for others). Goal arguments are
    excepted, and so are sentences that state a rule.
    """
    given = {str(value).lower() for value in task.goal_arguments.values()}
    for atom in task.atoms.values():
        if atom.role != "critical" or atom.presence:
            continue
        for world in WORLDS:
            value = atom.values[world]
            if isinstance(value, bool) or not isinstance(value, int | str) or distinctive(value):
                continue
            if (not value and value != 0) or str(value).lower() in given:
                continue
            found = next((text for text in _open_texts(task, world, atom) if _says(*text, atom, value)), None)
            if found:
                message = f"{world} world: {found[1]!r} at {found[0]} says the masked value {value!r}; leave it out"
                yield family.problem(CODE, atom_field(family, atom), message, task.instance)
                break


def _open_texts(task: Task, world: WorldLabel, atom: Atom) -> Iterator[tuple[str, str]]:
    """Yield the name and each sentence of every text in context."""
    for item in visible(task, world, (atom.id,)):
        if isinstance(item.value, str) and len(item.value.split()) >= 3 and not item.fact and not _inside(item, atom):
            for sentence in re.split(r"(?<=[.;!?])\s+", item.value):
                yield item.name(), sentence


def _says(name: str, sentence: str, atom: Atom, value: int | str) -> bool:
    if name == "goal" and _holds(sentence, str(value)):
        return True
    if _RULE_WORDS.search(sentence):
        return False
    forms = [str(value)]
    if type(value) is int and 0 <= value < len(_NUMBER_WORDS):
        forms.append(_NUMBER_WORDS[value])
    words = re.findall(r"[\w'-]+", sentence.lower())
    names = _names_of(atom)
    return any(_beside(words, form.lower().split(), names) for form in forms)


def _names_of(atom: Atom) -> set[str]:
    """Return what the fact is called: the words of its predicate and of the last steps of its place."""
    text = f"{atom.predicate} {atom.place[-1]}".lower()
    return {word for word in re.findall(r"[a-z]+", text.replace("_", " ")) if len(word) > 2} - _NO_NAMES


def _beside(words: list[str], form: list[str], names: set[str]) -> bool:
    for start in range(len(words) - len(form) + 1):
        end = start + len(form)
        if words[start:end] == form and names & {*words[max(0, start - _NEXT - 1) : start], *words[end : end + 1]}:
            return True
    return False


def _inside(item: Visible, atom: Atom) -> bool:
    return item.place[: len(atom.place)] == atom.place


def _spelled(task: Task, atom: Atom, world: WorldLabel) -> list[str]:
    """Return the texts that together tell the atom's value; ``[]`` for one that common words could spell."""
    value = atom.place[-1] if atom.presence else atom.values[world]
    if isinstance(value, list):
        return [str(item) for item in value] if len(value) > 1 or any(distinctive(item) for item in value) else []
    if atom.presence:
        return [value] if distinctive(value) or "-" in value or value[:1].isupper() else []
    return [value if isinstance(value, str) else str(value)] if distinctive(value) else []


def _spells(text: str, parts: list[str], atom: Atom) -> bool:
    if len(text.split()) < 3 or text in parts:
        return False
    return all(_holds(text, part) for part in parts)


def _holds(text: str, part: str) -> bool:
    forms = {part}
    if part.isdigit():
        forms |= {f"{int(part):,}", f"{int(part):,}".replace(",", " "), f"{int(part):,}".replace(",", "'")}
    return any(re.search(rf"(?<![\w-]){re.escape(form)}(?![\w-])", text, re.IGNORECASE) for form in forms)
