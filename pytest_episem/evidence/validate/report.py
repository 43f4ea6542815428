"""What a validation found: the problems and the counts of the bank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.bank.task import Task


@dataclass(frozen=True, slots=True)
class Count:
    """Sizes of a set of tasks. ``masks`` is the sum over tasks of 2^c - 1, the nonempty critical masks."""

    pairs: int = 0
    families: int = 0
    critical: int = 0
    irrelevant: int = 0
    masks: int = 0

    @property
    def atoms(self) -> int:
        """Every maskable atom, whatever its role."""
        return self.critical + self.irrelevant

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Count:
        """Count ``tasks``."""
        tasks = list(tasks)
        return cls(
            pairs=len(tasks),
            families=len({(task.domain, task.family) for task in tasks}),
            critical=sum(len(task.critical) for task in tasks),
            irrelevant=sum(len(task.irrelevant) for task in tasks),
            masks=sum(2 ** len(task.critical) - 1 for task in tasks),
        )

    def to_dict(self) -> dict[str, int]:
        return {**asdict(self), "atoms": self.atoms, "worlds": 2 * self.pairs}


@dataclass(frozen=True, slots=True)
class Counts:
    """The bank's counts: in total, by domain, by family, and pairs by number of critical atoms (cardinality)."""

    total: Count = field(default_factory=Count)
    domains: dict[str, Count] = field(default_factory=dict)
    families: dict[str, Count] = field(default_factory=dict)
    cardinality: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Counts:
        """Count ``tasks`` in every way."""
        tasks = list(tasks)
        domains = dict.fromkeys(task.domain for task in tasks)
        families = dict.fromkeys(f"{task.domain}/{task.family}" for task in tasks)
        return cls(
            total=Count.of(tasks),
            domains={name: Count.of(t for t in tasks if t.domain == name) for name in domains},
            families={name: Count.of(t for t in tasks if t.id.startswith(f"{name}/")) for name in families},
            cardinality=dict(sorted(Counter(len(task.critical) for task in tasks).items())),
        )

    def lines(self) -> list[str]:
        """Return the counts as plain lines of text."""
        total = self.total
        lines = [
            f"{total.pairs} pairs, {2 * total.pairs} worlds, {len(self.domains)} domains, {total.families} families",
            f"{total.atoms} maskable atoms: {total.critical} critical, {total.irrelevant} irrelevant",
            f"{total.masks} critical masks (sum of 2^c - 1)",
            "",
            f"{'domain':<16}{'families':>9}{'pairs':>7}{'critical':>10}{'irrelevant':>12}{'masks':>8}",
        ]
        for name, count in self.domains.items():
            lines.append(
                f"{name:<16}{count.families:>9}{count.pairs:>7}{count.critical:>10}{count.irrelevant:>12}{count.masks:>8}"
            )
        lines += ["", "critical atoms  " + "".join(f"{c:>6}" for c in self.cardinality)]
        lines += ["pairs           " + "".join(f"{pairs:>6}" for pairs in self.cardinality.values())]
        return lines

    def to_dict(self) -> dict[str, Any]:
        return {
            "total": self.total.to_dict(),
            "domains": {name: count.to_dict() for name, count in self.domains.items()},
            "families": {name: count.to_dict() for name, count in self.families.items()},
            "cardinality": {str(size): pairs for size, pairs in self.cardinality.items()},
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a validation. ``version`` and ``hash`` identify the bank that was read."""

    bank: str
    version: str
    hash: str
    shipped: bool
    problems: tuple[Problem, ...]
    counts: Counts

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    @property
    def codes(self) -> dict[str, int]:
        """How many problems each code has, in the order of the rows."""
        return dict(Counter(problem.code for problem in self.problems))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return {
            "bank": self.bank,
            "version": self.version,
            "hash": self.hash,
            "shipped": self.shipped,
            "ok": self.ok,
            "problems": [asdict(problem) for problem in self.problems],
            "counts": self.counts.to_dict(),
        }
