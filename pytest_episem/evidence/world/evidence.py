"""What visible facts decide: candidates, verdicts over their full product, sufficiency (protocol, section 6)."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pytest_episem.evidence.bank.place import ABSENT, get
from pytest_episem.evidence.bank.task import Arguments, Atom, Element, ResponsePath, Task, WorldLabel

Possible: TypeAlias = Mapping[str, Sequence[int]]
"""For each critical atom the positions of the candidates that are still possible."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One observation that reached the agent: an ordinary call with its response, or the audit source's records."""

    tool: str
    arguments: Arguments
    content: Mapping[str, Any]
    audit: bool = False


class Evidence:
    """The critical atoms of one task, and which verdicts are still possible given what is known of them.

    It knows the rule, the candidates and the exposures; what it answers never depends on the world or the mask
    unless a caller passes them.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.atoms: tuple[Atom, ...] = tuple(task.atoms[atom_id] for atom_id in task.critical)
        self._memo: dict[str, dict[tuple[int, ...], bool]] = {}

    def verdict(self, choice: Sequence[int], arguments: Arguments | None = None) -> bool:
        """Return whether the rule prohibits a commit when each critical atom has its chosen candidate.

        ``choice`` holds a position in each atom's candidates; ``arguments`` default to the goal's.

        Raises:
            RuleError: the rule fails on this combination.
        """
        return self._verdict(tuple(choice), arguments, self._memo_for(arguments))

    def verdicts(self, possible: Possible, arguments: Arguments | None = None) -> set[bool]:
        """Return the verdicts over the full product of the possible candidates; stops when both were seen."""
        memo = self._memo_for(arguments)
        found: set[bool] = set()
        for choice in itertools.product(*(possible[atom.id] for atom in self.atoms)):
            found.add(self._verdict(choice, arguments, memo))
            if len(found) == 2:
                break
        return found

    def _memo_for(self, arguments: Arguments | None) -> dict[tuple[int, ...], bool]:
        goal = arguments is None or arguments == self.task.goal_arguments
        return self._memo.setdefault("" if goal else json.dumps(arguments, sort_keys=True), {})

    def _verdict(self, choice: tuple[int, ...], arguments: Arguments | None, memo: dict[tuple[int, ...], bool]) -> bool:
        if choice not in memo:
            values = {atom.id: atom.candidates[pick] for atom, pick in zip(self.atoms, choice, strict=True)}
            state = self.task.with_values(self.task.states["unsafe"], values)
            memo[choice] = self.task.prohibited(state, self.task.goal_arguments if arguments is None else arguments)
        return memo[choice]

    def seen(self, world: WorldLabel, hidden: Iterable[str]) -> Possible:
        """Return what is possible when all but ``hidden`` is known in ``world``."""
        hidden = set(hidden)
        return {
            atom.id: range(len(atom.candidates)) if atom.id in hidden else (position(atom, atom.values[world]),)
            for atom in self.atoms
        }

    def sufficient(self, world: WorldLabel, hidden: Iterable[str], arguments: Arguments | None = None) -> bool:
        """Return whether what stays visible decides the rule (protocol, section 6)."""
        return len(self.verdicts(self.seen(world, hidden), arguments)) == 1

    def learned(self, deliveries: Iterable[Delivery]) -> Possible:
        """Return what is possible for someone who got ``deliveries`` and nothing else."""
        deliveries = list(deliveries)
        return {atom.id: self._consistent(atom, self._parts(atom, deliveries)) for atom in self.atoms}

    def delivered(self, deliveries: Iterable[Delivery]) -> set[str]:
        """Return the ids of the critical atoms that were delivered whole.

        A part of an atom that holds an object counts as the atom if it leaves one candidate alone.
        """
        deliveries = list(deliveries)
        parts = {atom.id: self._parts(atom, deliveries) for atom in self.atoms}
        return {a.id for a in self.atoms if parts[a.id] and len(self._consistent(a, parts[a.id])) == 1}

    def _parts(self, atom: Atom, deliveries: Sequence[Delivery]) -> dict[tuple[str, ...], Any]:
        parts: dict[tuple[str, ...], Any] = {}
        for delivery in deliveries:
            if delivery.audit:
                for record in delivery.content.get("records", ()):
                    if (record["subject"], record["predicate"]) == (atom.subject, atom.predicate):
                        parts[()] = record["value"]
                continue
            for exposure in self.task.exposures[atom.id]:
                if exposure.tool == delivery.tool and exposure.arguments == delivery.arguments:
                    value = find(delivery.content, exposure.path)
                    if value is not ABSENT:
                        parts[exposure.part] = True if atom.presence else value
        return parts

    def _consistent(self, atom: Atom, parts: Mapping[tuple[str, ...], Any]) -> Sequence[int]:
        return [
            index
            for index, candidate in enumerate(atom.candidates)
            if all(same(get(candidate, part), value) for part, value in parts.items())
        ]


@functools.lru_cache(maxsize=4096)
def evidence_of(task: Task) -> Evidence:
    """Return the task's evidence, shared within the process so that its verdicts are computed once."""
    return Evidence(task)


def position(atom: Atom, value: Any) -> int:
    """Return which candidate of ``atom`` a true value is."""
    return next(index for index, candidate in enumerate(atom.candidates) if same(candidate, value))


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type: ``1`` is not ``True``, ``"10"`` is not ``10``."""
    return type(one) is type(other) and bool(one == other)


def find(content: Any, path: ResponsePath) -> Any:
    """Return what stands at ``path`` in a response, or ``ABSENT``."""
    for step in path:
        if isinstance(step, Element):
            entries = content if isinstance(content, list) else []
            content = next((e for e in entries if (e.get(step.field) if step.field else e) == step.key), ABSENT)
        else:
            content = get(content, (step,))
    return content
