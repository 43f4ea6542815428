"""Choosing whole tasks: samples and shards. Both depend on the tasks alone, so every process chooses the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_episem.errors import EpisemError


class Task(Protocol):
    """What choosing needs to know of a task."""

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def family(self) -> str: ...


def spread(tasks: Iterable[Task]) -> list[str]:
    """Return the tasks' ids so that every prefix is spread as evenly as can be over families, and they over domains.

    Within a family, within a domain and among domains the order is by a hash of the names: no place in the bank is
    preferred, and a longer prefix always contains a shorter one.
    """
    families: dict[tuple[str, str], list[str]] = {}
    for task in tasks:
        families.setdefault((task.domain, task.family), []).append(task.id)
    domains: dict[str, list[list[str]]] = {}
    for (domain, _), ids in sorted(families.items(), key=lambda entry: _hash("/".join(entry[0]))):
        domains.setdefault(domain, []).append(sorted(ids, key=_hash))
    by_domain = [domains[name] for name in sorted(domains, key=_hash)]
    rounds = max((len(ids) for domain in by_domain for ids in domain), default=0)
    return [ids[place] for place in range(rounds) for ids in _in_turn(by_domain) if place < len(ids)]


def _in_turn(lists: Sequence[Sequence[list[str]]]) -> list[list[str]]:
    longest = max((len(found) for found in lists), default=0)
    return [found[place] for place in range(longest) for found in lists if place < len(found)]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def sample(tasks: Sequence[Task], size: int, unit: str = "pairs") -> set[str]:
    """Return the ids of ``size`` tasks, the first of :func:`spread`: always the same ones.

    Raises:
        EpisemError: fewer than one, or more than there are.
    """
    if not 1 <= size <= len(tasks):
        raise EpisemError(f"--episem-sample must be between 1 and the {len(tasks)} {unit} there are, not {size}")
    return set(spread(tasks)[:size])


@dataclass(frozen=True, slots=True)
class Shard:
    """Part ``index`` (from 1) of ``of``."""

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``i/n``.

        Raises:
            EpisemError: it is something else, or i lies outside 1..n.
        """
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
        shard = cls(int(found[1]), int(found[2])) if found else cls(0, 0)
        if not 1 <= shard.index <= shard.of:
            raise EpisemError(f"--episem-shard must be i/n with i from 1 to n, such as 1/4, not {text!r}")
        return shard

    def choose(self, tasks: Sequence[Task], size: Callable[[Any], int], unit: str = "pairs") -> set[str]:
        """Return the ids of this shard's tasks; the shards have about the same number of conditions each, of which a
        task has ``size``.

        Raises:
            EpisemError: there are more shards than tasks.
        """
        if self.of > len(tasks):
            raise EpisemError(f"--episem-shard {self.index}/{self.of}: there are only {len(tasks)} {unit} to divide")
        loads, members = [0] * self.of, [set[str]() for _ in range(self.of)]
        for task in sorted(tasks, key=lambda t: (-size(t), t.id)):
            lightest = min(range(self.of), key=lambda place: (loads[place], len(members[place]), place))
            members[lightest].add(task.id)
            loads[lightest] += size(task)
        return members[self.index - 1]
