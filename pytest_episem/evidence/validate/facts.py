"""Row 3: critical atoms decide, irrelevant ones do not, and none is handed out by the request or the commit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.bank.family_file import ParamEntry
from pytest_episem.evidence.bank.place import ABSENT, State, dotted, drop, names_in, parse, put
from pytest_episem.evidence.bank.rule import RuleError
from pytest_episem.evidence.bank.task import WORLDS, Atom, Task
from pytest_episem.evidence.validate.context import Context, Family, atom_field, canonical, each_task, overlaps
from pytest_episem.evidence.world.evidence import Evidence, evidence_of


@each_task("criticality")
def critical_atoms(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """Every critical atom flips the verdict somewhere in the full product of candidates, and nothing fails there."""
    if not task.critical:
        yield family.problem("criticality", "atoms", "the instance has no critical atom", task.instance)
        return
    evidence = evidence_of(task)
    try:
        still = [atom for index, atom in enumerate(evidence.atoms) if not _decides(evidence, index)]
        evaluate_all(evidence)
    except RuleError as error:
        if _gives_verdicts(task):  # else reported with the twins
            yield family.problem("criticality", "rule.prohibited", f"for some candidates: {error}", task.instance)
        return
    for atom in still:
        why = f"for no combination of the other facts does the verdict change between {_shown(atom)}"
        if len(atom.candidates) == 1 and not atom.presence:
            why = f"as far as anyone can tell it is always {_shown(atom)}"
        message = (
            f"never decides: {why};"
            " give 'could_be' values on each side of the boundary, or make it irrelevant or context"
        )
        yield family.problem("criticality", atom_field(family, atom), message, task.instance)


def _gives_verdicts(task: Task) -> bool:
    try:
        for world in WORLDS:
            task.prohibited(task.states[world], task.goal_arguments)
    except RuleError:
        return False
    return True


def evaluate_all(evidence: Evidence) -> None:
    """Evaluate the rule over the full product of candidates.

    Raises:
        RuleError: the rule fails on one of them.
    """
    for choice in choices(evidence):
        evidence.verdict(choice)


def choices(evidence: Evidence) -> Iterator[tuple[int, ...]]:
    """Yield every combination of candidates of the critical atoms, as positions."""
    return itertools.product(*(range(len(atom.candidates)) for atom in evidence.atoms))


def _decides(evidence: Evidence, index: int) -> bool:
    sizes = [range(len(atom.candidates)) for atom in evidence.atoms]
    others = itertools.product(*sizes[:index], *sizes[index + 1 :])
    return any(
        len({evidence.verdict((*rest[:index], pick, *rest[index:])) for pick in sizes[index]}) == 2 for rest in others
    )


def _shown(atom: Atom) -> str:
    if atom.presence:
        return "present and absent"
    return ", ".join("absent" if value is ABSENT else canonical(value) for value in atom.candidates)


@each_task("criticality")
def irrelevant_atoms(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """The rule gives the same verdict with an irrelevant fact taken away or replaced, for all candidates."""
    evidence = evidence_of(task)
    for atom_id in task.irrelevant:
        atom = task.atoms[atom_id]
        if _reads(task, evidence, atom):
            message = f"is irrelevant, but the rule reads {dotted(atom.place)}"
            yield family.problem("criticality", atom_field(family, atom), message, task.instance)


def _reads(task: Task, evidence: Evidence, atom: Atom) -> bool:
    """Whether any verdict changes when the atom is dropped or replaced."""
    try:
        for choice in choices(evidence):
            values = {a.id: a.candidates[pick] for a, pick in zip(evidence.atoms, choice, strict=True)}
            state = task.with_values(task.states["unsafe"], values)
            expected = evidence.verdict(choice)
            for changed in _without(state, atom):
                if task.prohibited(changed, task.goal_arguments) is not expected:
                    return True
    except RuleError:
        return _fails_only_without(task, atom)
    return False


def _fails_only_without(task: Task, atom: Atom) -> bool:
    """A rule that fails is a fault of its own; it is this atom's only where the true state gives a verdict."""
    for world in WORLDS:
        try:
            task.prohibited(task.states[world], task.goal_arguments)
        except RuleError:
            continue
        try:
            for changed in _without(task.states[world], atom):
                task.prohibited(changed, task.goal_arguments)
        except RuleError:
            return True
    return False


def _without(state: State, atom: Atom) -> Iterator[State]:
    yield drop(state, atom.place)
    value = atom.values["unsafe"]
    if not atom.presence and isinstance(value, str | int | list):
        yield put(state, atom.place, _other(value))


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return [] if isinstance(value, list) else f"not {value}"


@each_task("criticality")
def handed_out(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """No maskable fact stands in the request or is an argument of the commit."""
    asked = [(name, parse(name)) for name in names_in(family.entry.goal)]
    for atom in task.atoms.values():
        for name, place in asked:
            if overlaps(place, atom.place):
                message = f"{{{name}}} puts the {atom.role} atom {atom.id!r} into the request"
                yield family.problem("criticality", "goal", message, task.instance)
        for param, place in parameter_places(family, task.commit.name):
            if overlaps(place, atom.place):
                message = f"the commit's argument comes from the {atom.role} atom {atom.id!r}"
                field = f"tools.{task.commit.name}.needs.{param}"
                yield family.problem("criticality", field, message, task.instance)


def parameter_places(family: Family, tool: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (parameter, place) for every place that a single value of a tool's argument comes from."""
    for param, need in family.entry.tools[tool].needs.items():
        entry = ParamEntry(of=need) if isinstance(need, str) else need
        for place in (entry.of, entry.goal):
            if place:
                yield param, parse(place)
