"""What a rule may cost. The rule library has no limits of its own, so a rule is read here before it is evaluated.

A bank is not trusted, and CEL's macros (``all``, ``exists``, ``map`` …) are loops: nested ones take for ever, and one
that goes through what another has built doubles a text with each. So a macro goes through what is there already, at
most two stand inside one another, and the steps of a rule are bounded for the task that it is evaluated on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_episem.errors import suggestion

LONGEST = 1000
"""Characters of an expression. The parser is recursive: a far longer one would end the process, with no error."""
DEEPEST = 2
"""Macros inside one another."""
MOST_STEPS = 1_000_000
"""Steps of one evaluation, about a second at the very worst."""
MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
STANDARD = frozenset(
    ("has", "size", "contains", "startsWith", "endsWith", "int", "uint", "double", "string", "timestamp", "duration")
) | {
    f"get{part}"
    for part in (
        *("FullYear", "Month", "Date", "DayOfMonth", "DayOfWeek", "DayOfYear"),
        *("Hours", "Minutes", "Seconds", "Milliseconds"),
    )
}
"""CEL's own functions; a macro that another version of the library adds would be a loop that nobody counts."""
_GATHER = frozenset({"map", "filter"})
_REFUSED = {"matches": "compare whole texts instead"}
_CALL = 20
"""Steps of a call of a function."""

_TOKENS = re.compile(
    r"""(?P<space>[ \n\t]+ | //[^\r\n]*)
      | (?P<text>'(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*")
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>(?:0x[0-9A-Fa-f]+ | [0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)u?)
      | (?P<sign>&&|\|\||[=!<>]=|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE,
)
_CLOSING = {")": "(", "]": "[", "}": "{"}


class RuleForm(Exception):
    """An expression that is not allowed; the text says why."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large the values are that a rule can meet.

    Attributes:
        widest: entries of the largest mapping or list.
        values: values in all, a text counting one more for each hundred characters.
    """

    widest: int = 0
    values: int = 0

    @classmethod
    def of(cls, *values: Any) -> Size:
        """Return the size of several values together."""
        widest = count = 0
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if isinstance(value, Mapping | list):
                widest = max(widest, len(value))
                waiting += value.values() if isinstance(value, Mapping) else value
            count += 1 + (len(value) // 100 if isinstance(value, str) else 0)
        return cls(widest, count)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str

    @property
    def bears(self) -> bool:
        """Whether a value may end here, so that a bracket that follows calls or indexes it."""
        return self.text in _CLOSING or (self.kind in ("name", "text", "number") and self.text != "in")


class Cost:
    """What an expression that compiles costs, read from its text.

    The library copies what a ``map`` or ``filter`` has gathered for each element it adds, and the values that an
    expression writes into a list; both are counted.

    Args:
        source: the expression.
        functions: what it may call beside CEL's own.

    Raises:
        RuleForm: it does what could take for ever.
    """

    def __init__(self, source: str, functions: Iterable[str] = ()) -> None:
        known = {*MACROS, *STANDARD, *functions}
        self._tokens = list(_tokens(source))
        self._ends = self._matched()
        self._starts = {end: start for start, end in self._ends.items()}
        self._depth = [0] * len(self._tokens)
        self._built = [0] * len(self._tokens)
        self._literal = 0
        self._loops = frozenset(self._macros(known))
        for number in self._loops:
            self._check_range(number)
            self._enter(number)
        self._listed = self._in_literals()
        if any(depth > DEEPEST for depth in self._depth):
            raise RuleForm(f"has more than {DEEPEST} of {', '.join(sorted(MACROS))} inside one another")

    def steps(self, size: Size) -> int:
        """Return at most how many steps one evaluation takes on values of ``size``."""
        widest = max(size.widest, self._literal, 1)
        pluses = sum(token.text == "+" for token in self._tokens)
        total = 0
        for number, token in enumerate(self._tokens):
            own = 1
            if token.text == "+":
                own = pluses * widest
            elif number in self._loops and token.text in _GATHER:
                own = widest * widest * size.values * self._grows(number, widest)
            elif token.kind == "name" and self._next(number) == "(":
                own = _CALL + widest
            elif token.kind == "name" and number in self._listed:
                own = size.values
            total += own * widest ** self._depth[number]
        return total

    def _grows(self, number: int, widest: int) -> int:
        """Return how many times as large as all that is there an element may be that a ``map`` builds."""
        inside = range(number + 2, self._ends[number + 1])
        times = 1 + sum(self._tokens[place].text == "+" or place in self._listed for place in inside)
        return times * (widest if any(place in self._loops for place in inside) else 1)

    def _next(self, number: int) -> str:
        return self._tokens[number + 1].text if number + 1 < len(self._tokens) else ""

    def _matched(self) -> dict[int, int]:
        """Return for each opening bracket its closing one."""
        open_ones: list[int] = []
        ends: dict[int, int] = {}
        for number, token in enumerate(self._tokens):
            if token.text in _CLOSING.values():
                open_ones.append(number)
            elif token.text in _CLOSING:
                if not open_ones or self._tokens[open_ones[-1]].text != _CLOSING[token.text]:
                    raise RuleForm("cannot be read: its brackets do not match")
                ends[open_ones.pop()] = number
        if open_ones:
            raise RuleForm("cannot be read: its brackets do not match")
        return ends

    def _macros(self, known: set[str]) -> Iterator[int]:
        """Yield the place of each macro's name; refuse methods that are not known on the way."""
        for number, token in enumerate(self._tokens):
            if token.kind != "name" or token.text == "in" or self._next(number) != "(":
                continue
            if token.text in _REFUSED:
                raise RuleForm(f"calls {token.text}(…), which is not allowed; {_REFUSED[token.text]}")
            if not number or self._tokens[number - 1].text != ".":
                continue
            if token.text not in known:
                raise RuleForm(f"fails: there is no method {token.text!r}{suggestion(token.text, known)}")
            if token.text in MACROS:
                yield number

    def _check_range(self, number: int) -> None:
        """Refuse a macro that goes through anything but what is there: places, their filtered parts, literal lists."""
        macro = self._tokens[number].text
        start, end = self._range_start(number - 1), number - 1
        for place in range(start, end):
            token = self._tokens[place]
            called = token.kind == "name" and self._next(place) == "(" and self._tokens[place - 1].text == "."
            if token.text in "+{" or (called and token.text in MACROS - {"filter"}):
                raise RuleForm(
                    f"goes with {macro}(…) through what it has built; let it go through a place of the state"
                )
            if token.text == "[" and not (place and self._tokens[place - 1].bears):
                self._check_literal(macro, place)

    def _check_literal(self, macro: str, opening: int) -> None:
        inner = self._tokens[opening + 1 : self._ends[opening]]
        if any(token.kind == "sign" and token.text not in (",", "-", ".") for token in inner):
            raise RuleForm(f"goes with {macro}(…) through a list of more than texts, numbers and places")
        self._literal = max(self._literal, len(inner))

    def _range_start(self, dot: int) -> int:
        """Return where the value begins whose method stands after the ``.`` at ``dot``."""
        start = dot
        while start > 0:
            before = self._tokens[start - 1]
            if before.text in _CLOSING:
                start = self._starts[start - 1]
            elif before.text == "." or (before.bears and (start == dot or self._tokens[start].text in ".([")):
                start -= 1
            else:
                break
        return start

    def _enter(self, number: int) -> None:
        for place in range(number + 2, self._ends[number + 1]):
            self._depth[place] += 1

    def _in_literals(self) -> set[int]:
        """Return the places inside a list or mapping that the expression writes out."""
        return {
            place
            for opening, end in self._ends.items()
            if self._tokens[opening].text == "{"
            or (self._tokens[opening].text == "[" and not (opening and self._tokens[opening - 1].bears))
            for place in range(opening, end)
        }


def _tokens(source: str) -> Iterator[_Token]:
    place = 0
    before = ""
    while place < len(source):
        found = _TOKENS.match(source, place)
        if found is None:
            raise RuleForm(f"cannot be read from {source[place:][:24]!r} on")
        kind = str(found.lastgroup)
        if kind == "text" and before in ("text", "name"):
            raise RuleForm("has a text with a letter or a quote right before it; write texts as 'text' or \"text\"")
        if kind != "space":
            yield _Token(kind, found[0])
        before, place = kind, found.end()
