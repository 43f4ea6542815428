"""The state machine between an agent and a world: turns, calls, invalid actions, the end, the event log. Pure."""

from __future__ import annotations

import json
import math
import re
import reprlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pytest_episem.episode.usage import Usage
from pytest_episem.episode.world import Abandonment, Ending, Reply, ToolSpec, World, fresh
from pytest_episem.errors import suggestion

TURN_LIMIT = 12
"""Assistant turns of an agent whose turns can be seen (protocol, section 2)."""
CALL_LIMIT = 40
"""Turns of an agent whose turns cannot be seen: every call opens one."""
MAX_DEPTH = 20
"""Levels of lists and objects in a call's arguments; what is nested deeper is malformed."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the agent made it. ``arguments`` is a mapping, or the JSON text a model wrote."""

    name: str
    arguments: Any = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the agent is given back for one executed or rejected call."""

    call: Call
    content: dict[str, Any]
    valid: bool

    @property
    def text(self) -> str:
        """The content as JSON text."""
        return json.dumps(self.content)


class Episode:
    """One rollout of an agent in one world (protocol, section 2).

    Its methods may be called from several threads: an agent in a thread of its own may still be calling when its time
    is up. What it hands out is the agent's own; changing it changes neither the world nor the log.

    Args:
        world: a fresh world.
        turn_limit: after the calls of that many turns the episode is over, unfinished.
        instruction: the system instruction, by default the world's own.
        repeat: which rollout of its condition it is, from 0; an answer given to one repeat never serves another.
    """

    def __init__(
        self, world: World, turn_limit: int = TURN_LIMIT, instruction: str | None = None, repeat: int = 0
    ) -> None:
        self.world: Any = world
        self.repeat = repeat
        self.instruction = world.instruction if instruction is None else instruction
        self.goal: str = world.goal
        self.turn_limit = turn_limit
        self.turns = 0
        self.usage = Usage()
        self.events: list[dict[str, Any]] = [{"event": "goal", "text": self.goal}]
        self.ending: Ending | None = None
        self.invalid_action = False
        self._lock = threading.RLock()

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools as the agent is told of them."""
        tools: tuple[ToolSpec, ...] = self.world.tools
        return tools

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.ending is not None

    @property
    def disposition(self) -> str | None:
        """How it ended, in the world's words; ``None`` while it goes on."""
        return self.ending.name if self.ending else None

    def turn(self, calls: Sequence[Call], text: str | None = None) -> list[Observation]:
        """Take one assistant message with its calls, in order; without calls it is the last one.

        Returns one observation a call that was executed or rejected, in order. What stands after the commit is
        logged as not executed and has none.
        """
        with self._lock:
            if self.ended:
                self._log_unexecuted(calls)
                return []
            if not calls:
                self.finish(text or "")
                return []
            self.open_turn()
            if text:
                self.events.append({"event": "text", "turn": self.turns, "text": text})
            observations = self.take(calls)
            self.close_turn()
            return observations

    def open_turn(self) -> None:
        """Begin a turn whose calls come one by one through ``take``, for an adapter that learns of them so."""
        with self._lock:
            if not self.ended:
                self.turns += 1

    def take(self, calls: Sequence[Call]) -> list[Observation]:
        """Execute calls in the turn that is open; returns what ``turn`` does."""
        observations: list[Observation] = []
        with self._lock:
            for position, call in enumerate(calls):
                if self.ended:
                    self._log_unexecuted(calls[position:])
                    break
                observations.append(self._execute(call))
        return observations

    def close_turn(self) -> None:
        """End the open turn; after the last allowed one the episode is over."""
        with self._lock:
            if not self.ended and self.turns >= self.turn_limit:
                self.abandon("unfinished", f"turn limit of {self.turn_limit} reached")

    def call(self, name: str, arguments: Any = None) -> dict[str, Any]:
        """Make one call in a turn of its own and return its content; for agents whose turns cannot be seen."""
        observations = self.turn([Call(name, arguments)])
        return observations[0].content if observations else {"error": "The conversation has ended."}

    def finish(self, text: str, disposition: str | None = None) -> None:
        """End with the agent's last message; an adapter may say itself how that ends it.

        A message after the end changes nothing.

        Raises:
            ValueError: the world knows no such ending by a message.
        """
        if disposition is not None:
            _check(disposition, list(self.world.answers.values()))
        with self._lock:
            if not self.ended:
                self.turns += 1
                self.events.append({"event": "final", "turn": self.turns, "text": text})
                self.ending = self.world.finish(text, disposition)

    def abandon(self, disposition: Abandonment, reason: str) -> None:
        """End without a last message: ``unfinished`` or ``filtered``, with the reason for the log.

        Raises:
            ValueError: another disposition.
        """
        _check(disposition, get_args(Abandonment))
        with self._lock:
            if not self.ended:
                self.events.append({"event": "end", "turn": self.turns, "disposition": disposition, "reason": reason})
                self.ending = self.world.abandon(disposition)

    def note(self, event: str, **details: Any) -> None:
        """Add an event of the agent's own to the log: a model request, a notice. Decides nothing."""
        with self._lock:
            self.events.append({"event": event, "turn": self.turns + (0 if self.ended else 1), **details})

    def outcome(self) -> Any:
        """Return the world's judgement of the ended episode.

        Raises:
            RuntimeError: it has not ended.
        """
        if self.ending is None:
            raise RuntimeError("the episode has not ended")
        return self.world.outcome(self.invalid_action)

    def _execute(self, call: Call) -> Observation:
        sent = parsed_arguments(call.arguments)
        arguments = without_surrogates(sent)
        if arguments is _MALFORMED:
            reply = Reply({"error": f"The arguments of {call.name} are not a valid JSON object."}, None)
        else:
            reply = self.world.call(without_surrogates(str(call.name)), arguments, self.turns)
        kind = reply.kind or "invalid"
        self.events.append({"event": "call", **self._logged(call, sent), "kind": kind, "content": reply.content})
        self.invalid_action = self.invalid_action or not reply.valid
        self.ending = reply.ending
        return Observation(call, fresh(reply.content), reply.valid)

    def _log_unexecuted(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self.events.append({"event": "not_executed", **self._logged(call, parsed_arguments(call.arguments))})

    def _logged(self, call: Call, arguments: Any) -> dict[str, Any]:
        if arguments is _MALFORMED:
            arguments = call.arguments if isinstance(call.arguments, str) else _described(call.arguments)
        return {"turn": self.turns, "tool": _as_sent(str(call.name)), "arguments": _as_sent(arguments)}


_MALFORMED: Any = object()


def parsed_arguments(arguments: Any) -> Any:
    """Return a call's arguments as a JSON value of its own; missing or empty is no arguments; malformed is marked.

    A mapping is taken as the JSON it makes, so a function agent's objects are judged as a model's text would be.
    """
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    if not isinstance(arguments, str | Mapping):
        return _MALFORMED
    try:
        value = _DECODER.decode(arguments if isinstance(arguments, str) else _ENCODER.encode(dict(arguments)))
    except (ValueError, TypeError, RecursionError):
        return _MALFORMED
    if _deeper(value, MAX_DEPTH):
        return _MALFORMED
    return {} if value is None else value


def without_surrogates(value: Any) -> Any:
    """Return a JSON value whose texts hold no lone surrogates, which no rule can read: U+FFFD stands for each."""
    return _each_text(value, lambda text: _SURROGATE.sub("\ufffd", text))


def _as_sent(value: Any) -> Any:
    """Return a JSON value as the log holds it: with lone surrogates escaped."""
    return _each_text(value, lambda text: text.encode("utf-8", "backslashreplace").decode())


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return value if value.isascii() or not _SURROGATE.search(value) else change(value)
    if isinstance(value, dict):
        return {_each_text(key, change): _each_text(item, change) for key, item in value.items()}
    return [_each_text(item, change) for item in value] if isinstance(value, list) else value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _described(value: Any) -> str:
    """Return an object that is no JSON, in a few words for the log."""
    try:
        return reprlib.repr(value)
    except Exception:
        return type(value).__name__


_ENCODER = json.JSONEncoder(allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def _deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper(item, levels - 1) for item in inner)


def _check(disposition: str, allowed: Sequence[str]) -> None:
    if disposition not in allowed:
        raise ValueError(f"{disposition!r} is not a disposition here{suggestion(disposition, allowed)}")
