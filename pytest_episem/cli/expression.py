"""Selection by name as in ``pytest -k``: substrings joined by ``and``, ``or``, ``not`` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pytest_episem.errors import EpisemError

_TOKEN = re.compile(r"\s*(?:([()])|((?:\w|[:+\-.\[\]\\/])+))")
_MAX_DEPTH = 50

Matcher = Callable[[str], bool]
"""Tells of one name, in lower case, whether it is selected."""


def matcher(expression: str) -> Callable[[Iterable[str]], bool]:
    """Return a function that tells whether a thing of these names is selected; capital letters do not matter.

    A word matches a thing when one of its names contains it; an empty expression selects everything.

    Raises:
        EpisemError: the expression is not complete or has something in it that cannot be read.
    """
    if not expression.strip():
        return lambda names: True
    matches = _Parser(expression).whole()

    def selected(names: Iterable[str]) -> bool:
        return matches("\n".join(names).lower())  # no word can hold a line end, so none matches across two names

    return selected


class _Parser:
    """Recursive descent over ``or`` of ``and`` of ``not`` of words and parentheses."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = self._split()
        self._position = 0
        self._depth = 0

    def whole(self) -> Matcher:
        found = self._any()
        if self._position < len(self._tokens):
            raise self._fault(f"unexpected {self._tokens[self._position]!r}")
        return found

    def _split(self) -> list[str]:
        tokens: list[str] = []
        position = 0
        while self._expression[position:].strip():
            token = _TOKEN.match(self._expression, position)
            if token is None:
                raise self._fault(f"unexpected {self._expression[position:].strip()[0]!r}")
            tokens.append(token.group(1) or token.group(2))
            position = token.end()
        return tokens

    def _take(self, *wanted: str) -> bool:
        taken = self._position < len(self._tokens) and self._tokens[self._position] in wanted
        self._position += taken
        return taken

    def _any(self) -> Matcher:
        parts = [self._all()]
        while self._take("or"):
            parts.append(self._all())
        return lambda name: any(part(name) for part in parts)

    def _all(self) -> Matcher:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return lambda name: all(part(name) for part in parts)

    def _one(self) -> Matcher:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._fault("it is nested too deeply")
        try:
            return self._negated_or_plain()
        finally:
            self._depth -= 1

    def _negated_or_plain(self) -> Matcher:
        if self._take("not"):
            inner = self._one()
            return lambda name: not inner(name)
        if self._take("("):
            inner = self._any()
            if not self._take(")"):
                raise self._fault("a ')' is missing")
            return inner
        if self._position >= len(self._tokens):
            raise self._fault("a name is missing at its end")
        word = self._tokens[self._position]
        if word in (")", "and", "or"):
            raise self._fault(f"a name is missing before {word!r}")
        self._position += 1
        part = word.lower()
        return lambda name: part in name

    def _fault(self, what: str) -> EpisemError:
        return EpisemError(
            f"-k {self._expression!r}: {what}; write names joined by 'and', 'or', 'not' and parentheses, as in pytest"
        )
