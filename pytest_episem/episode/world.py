"""What an episode is played in: anything with a goal, tools, answers to calls and an end."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

Abandonment = Literal["filtered", "unfinished"]
"""How an episode ends without a last message of the agent, whatever the world."""

Unanswered = Literal["filter", "overflow", "cut", "silent"]
"""Why nothing can be said of what an agent would have done: the provider's filter, a context too small, an output cut
at the token limit, or neither a call nor a word."""


class Ending(NamedTuple):
    """How an episode ended: a word of the world's own, what it was read from where it had to be read, and why no answer
    is the agent's where that is so."""

    name: str
    source: str | None = None
    unanswered: Unanswered | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the agent is told of it. ``plain`` and ``openai`` give copies: frameworks rewrite schemas in place."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return name, description and the JSON schema of the arguments."""
        parameters = copy.deepcopy(dict(self.parameters))
        return {"name": self.name, "description": self.description, "parameters": parameters}

    def openai(self) -> dict[str, Any]:
        """Return the tool in the form of OpenAI's chat completions."""
        return {"type": "function", "function": self.plain()}


@dataclass(frozen=True, slots=True)
class Reply:
    """The interface's answer to one call. ``kind`` is ``None`` for a rejected call; ``ending`` if it was the last."""

    content: dict[str, Any]
    kind: str | None
    ending: Ending | None = None

    @property
    def valid(self) -> bool:
        return self.kind is not None


class World(Protocol):
    """A fresh environment for one episode. It knows nothing of models, turns are numbers to it.

    Attributes:
        goal: the request that the agent is given.
        instruction: the system instruction unless the run replaces it.
        answers: the words by which an agent may say itself how it ended, with the ending that each is.
    """

    @property
    def goal(self) -> str: ...

    @property
    def instruction(self) -> str: ...

    @property
    def answers(self) -> Mapping[str, str]: ...

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools as the agent is told of them."""

    def call(self, name: str, arguments: Any, turn: int = 0) -> Reply:
        """Carry out one call of that turn; a call that the interface rejects changes nothing.

        ``arguments`` is a JSON value. The content is the caller's own.
        """

    def finish(self, text: str, said: str | None = None) -> Ending:
        """Take the agent's last message, with the ending that an adapter says it is; an empty one is ``unfinished``."""

    def abandon(self, how: Abandonment, unanswered: Unanswered | None = None) -> Ending:
        """Take that no last message comes, and why if it is not the agent's doing."""

    def outcome(self, invalid: bool) -> Any:
        """Judge what was done, once it has ended; ``invalid``: some call of the episode was rejected."""


def fresh(value: Any) -> Any:
    """Return a JSON value that shares no list or mapping with ``value``."""
    if isinstance(value, dict):
        return {key: fresh(inner) for key, inner in value.items()}
    return [fresh(inner) for inner in value] if isinstance(value, list) else value
