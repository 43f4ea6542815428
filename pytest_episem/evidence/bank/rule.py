"""Rules: CEL expressions over a state and the arguments of a commit, compiled once, never Python."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_episem.errors import NoJudgement, suggestion
from pytest_episem.evidence.bank.cel_extension import cel
from pytest_episem.evidence.bank.rule_cost import LONGEST, Cost, RuleForm, Size
from pytest_episem.evidence.bank.rule_faults import syntax_fault, value_fault

ARGUMENTS = "args"
"""The variable that holds the commit's arguments in a rule."""


class RuleError(NoJudgement):
    """A rule that cannot be compiled, or that fails or gives no boolean on a state."""


def _date(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)


def _day(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


FUNCTIONS: dict[str, Any] = {
    "sum": lambda numbers: sum(numbers),
    "date": _date,
    "day": _day,
    "minutes": lambda n: timedelta(minutes=n),
    "hours": lambda n: timedelta(hours=n),
    "days": lambda n: timedelta(days=n),
}
"""What a rule may call beside CEL's own: ``sum`` of numbers, ``date`` of ``YYYY-MM-DD``, ``day`` of an instant
(its UTC date), and durations of whole ``minutes``, ``hours``, ``days``."""


_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*(\w+)\s*,")
"""A macro's own variable, as in ``members.exists(person, …)``."""


class Rule:
    """A compiled expression; ``source`` is its text, ``roots`` the top-level state names it reads.

    Args:
        source: the expression.
        allowed: the top-level names of the state, and whatever else ``holds`` is given.

    Raises:
        RuleError: it does not compile, or reads a name that is not allowed.
    """

    def __init__(self, source: str, allowed: Iterable[str]) -> None:
        self.source = source.strip()
        self._program, self._cost = _compile(self.source)
        names, known = self._program.variables(), set(allowed)
        self.roots = tuple(name for name in names if name in known)
        self._fields = {root: _fields(self.source, root) for root in self.roots}
        self.reads_arguments = ARGUMENTS in names
        for name in set(names) - known - {ARGUMENTS, *_BOUND.findall(self.source)}:
            raise RuleError(f"rule {self.source!r} reads {name!r}, which is not in the state{suggestion(name, known)}")

    def steps(self, *values: Any) -> int:
        """Return at most how many steps one evaluation takes on ``values``."""
        return self._cost.steps(Size.of(*values))

    def holds(self, state: Mapping[str, Any], arguments: Mapping[str, Any] | None = None, **more: Any) -> bool:
        """Return the verdict on ``state`` and the commit's ``arguments``; ``more`` binds further variables.

        Raises:
            RuleError: the expression fails on these values or does not give a boolean.
        """
        roots = {root: state[root] for root in self.roots if root in state}
        given = ({ARGUMENTS: dict(arguments or {})} if self.reads_arguments else {}) | more
        variables = {root: _part(value, self._fields[root]) for root, value in roots.items()} | given
        try:
            result = self._program.execute(cel.Context(variables=variables, functions=FUNCTIONS))
        except Exception as error:
            fault = value_fault(self.source, roots | given, self.roots, FUNCTIONS, error)
            raise RuleError(f"rule {self.source!r} fails: {fault}") from None
        if not isinstance(result, bool):
            raise RuleError(f"rule {self.source!r} gives {result!r} instead of true or false")
        return result


def _fields(source: str, root: str) -> frozenset[str] | None:
    """Return which fields of ``root`` are all that an expression can read; ``None`` where it may read the whole.

    A comment may stand anywhere, also between a method and its parenthesis.
    """
    if "//" in source:
        return None
    found = re.finditer(rf"\b{root}\b(?:\.([A-Za-z_]\w*)(?!\w|\s*\())?", source)
    fields = {match[1] for match in found}
    return None if None in fields else frozenset(fields)


def _part(value: Any, fields: frozenset[str] | None) -> Any:
    """Return what a rule can read of a value: turning values into CEL's own is most of what a rule costs."""
    if fields is None or not isinstance(value, Mapping):
        return value
    return {name: value[name] for name in fields if name in value}


@functools.lru_cache(maxsize=4096)
def _compile(source: str) -> tuple[cel.Program, Cost]:
    if len(source) > LONGEST:
        raise RuleError(f"a rule of {len(source)} characters is too long, at most {LONGEST}")
    try:
        program = cel.compile(source)
    except Exception as error:
        raise RuleError(f"rule {source!r} is not a valid expression: {syntax_fault(source, error)}") from None
    try:
        return program, Cost(source, FUNCTIONS)
    except RuleForm as fault:
        raise RuleError(f"rule {source!r} {fault}") from None
