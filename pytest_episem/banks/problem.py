"""Faults of a bank: what is wrong, where, and what belongs there."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_episem.errors import EpisemError
from pytest_episem.scrub import without_commands


def one_line(text: str) -> str:
    """Return ``text`` with line ends, control characters and the like escaped: a bank is not trusted."""
    return without_commands(
        text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    )


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in a bank: which check, where, and what was expected. ``instance`` and ``field`` may be empty."""

    code: str
    file: str
    instance: str
    field: str
    message: str

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.instance, self.field) if part)
        return one_line(f"{where}: {self.message} [{self.code}]")


class BankError(EpisemError):
    """A bank that cannot be used; the text is its first problem, ``problems`` holds all."""

    def __init__(self, problems: list[Problem]) -> None:
        more = f" (and {len(problems) - 1} more; 'episem validate' lists them)" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{more}")
        self.problems = problems
