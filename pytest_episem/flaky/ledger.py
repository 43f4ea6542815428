"""What really happened: every call, its answer and its effects, in order."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_episem.text import escaped

WIDTH = 100


@dataclass(slots=True)
class Made:
    """One call of a wrapped tool.

    Attributes:
        tool: the tool's name.
        arguments: by name, as they were when the call was made.
        intent: those that say what is wanted: two calls that agree in them want one thing.
        answer: what came back, in words.
        effects: the numbers of its effects, counted over all tools.
    """

    tool: str
    arguments: Mapping[str, Any]
    intent: tuple[str, str]
    answer: str = ""
    effects: list[int] = field(default_factory=list)


class Ledger:
    """Calls in the order in which they were made."""

    def __init__(self) -> None:
        self.calls: list[Made] = []
        self._effects = 0

    def enter(self, tool: str, arguments: Mapping[str, Any], wanted: Mapping[str, Any]) -> Made:
        """Write a call down and return its entry."""
        made = Made(tool, _copied(arguments), (tool, _words(wanted)))
        self.calls.append(made)
        return made

    def effect(self, made: Made) -> None:
        """Write down that a call took effect."""
        self._effects += 1
        made.effects.append(self._effects)

    def effects(self) -> dict[tuple[str, str], int]:
        """Return how often each thing that was wanted took effect, also those that never did."""
        found: dict[tuple[str, str], int] = {}
        for made in self.calls:
            found[made.intent] = found.get(made.intent, 0) + len(made.effects)
        return found

    def lines(self) -> list[str]:
        """Return the calls in words, each with its answer and its effects."""
        found: list[str] = []
        for number, made in enumerate(self.calls, 1):
            effects = f"effect {' and '.join(map(str, made.effects))}" if made.effects else "no effect"
            text = f"{number}. {made.tool}({_words(made.arguments)}): {effects}; answered {made.answer or 'nothing'}"
            found += textwrap.wrap(escaped(text), WIDTH, subsequent_indent="   ", break_long_words=True)
        return found


def intent_text(intent: tuple[str, str]) -> str:
    """Return what is wanted as a call: ``charge(invoice='INV-7')``."""
    return escaped(f"{intent[0]}({intent[1]})")


def _copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as they are now; what cannot be copied is kept as its words."""
    found = {}
    for name, value in arguments.items():
        try:
            found[name] = copy.deepcopy(value)
        except Exception:
            found[name] = shown(value)
    return found


def _words(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={shown(value)}" for name, value in arguments.items())


def shown(value: Any, length: int = 200) -> str:
    """Return a value in at most so many characters; its own ``repr`` may fail."""
    try:
        text = repr(value)
    except Exception as fault:
        text = f"<{type(value).__name__} whose repr raised {type(fault).__name__}>"
    return text if len(text) <= length else f"{text[: length - 1]}…"


def listed(lines: Sequence[str]) -> str:
    """Return lines as an indented block."""
    return "\n".join(f"  {line}" for line in lines)
