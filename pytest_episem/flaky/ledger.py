"""What was called, and what really happened."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_episem.errors import worded
from pytest_episem.flaky.values import shown, shown_arguments
from pytest_episem.text import printable


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a wrapped tool really did.

    ``number`` counts the test's effects from 1, in the order in which they happened; ``tool`` is the tool's name,
    ``arguments`` what it was given, copied, by name; ``call`` is the number of the call that it came of, and ``how``
    is ``""``, ``"late"`` or ``"second delivery"``.
    """

    number: int
    tool: str
    arguments: Mapping[str, Any]
    call: int
    how: str = ""


@dataclass(slots=True, eq=False)
class Intent:
    """What somebody wants to have happened once: a tool, and what tells one wish from another."""

    tool: str
    parts: Any
    effects: list[Effect] = field(default_factory=list)
    unknown: int = 0
    """Calls that were broken off: whether they had an effect nobody knows."""

    @property
    def words(self) -> str:
        what = shown_arguments(self.parts) if isinstance(self.parts, dict) else shown(self.parts)
        return f"{self.tool}({what})"


@dataclass(slots=True, eq=False)
class Call:
    """A call of a wrapped tool: its number, its arguments as they were, and what came of it, in words."""

    number: int
    tool: str
    arguments: dict[str, Any]
    words: str
    key: Any = None
    intent: Intent | None = None
    struck: bool = False
    refused: bool = False
    """The tool itself had no effect, and said so."""
    running: bool = True
    came: list[str] = field(default_factory=list)


class Ledger:
    """Every call, intent and effect of a test, in order. What holds ``lock`` sees it between two changes."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.calls: list[Call] = []
        self.intents: list[Intent] = []
        self.effects: list[Effect] = []
        self.problems: list[str] = []
        """Why there can be no verdict."""

    def problem(self, words: str) -> None:
        """Note that there can be no verdict, and why."""
        with self.lock:
            if words not in self.problems:
                self.problems.append(words)

    def intent(self, tool: str, parts: Any) -> Intent:
        """Return the intent of these parts, the one of earlier calls where they mean the same."""
        for known in self.intents:
            try:
                if known.tool == tool and (known.parts is parts or known.parts == parts):
                    return known
            except Exception as error:
                self.problem(
                    f"{tool}: whether two calls mean the same cannot be told: {printable(worded(error))}; name what "
                    'tells it: intent=("…",)'
                )
        self.intents.append(Intent(tool, parts))
        return self.intents[-1]

    def happened(self, call: Call, how: str) -> Effect:
        """Note that ``call`` had an effect."""
        with self.lock:
            effect = Effect(len(self.effects) + 1, call.tool, call.arguments, call.number, how)
            self.effects.append(effect)
            if call.intent is not None:
                call.intent.effects.append(effect)
            return effect
