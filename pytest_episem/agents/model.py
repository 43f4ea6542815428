"""The model agent: any litellm model with tool calling plays an episode (protocol, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_episem.agents.cache import AnswerCache, open_cache
from pytest_episem.agents.limits import Patience
from pytest_episem.agents.messages import Answer, tool_message
from pytest_episem.agents.model_options import check_model_name, checked_model_args
from pytest_episem.agents.reply import Withheld
from pytest_episem.agents.requests import Sender
from pytest_episem.episode import TURN_LIMIT, Episode
from pytest_episem.scrub import scrubbed

__all__ = ["ModelAgent", "check_model_name", "checked_model_args", "open_cache"]

DEFAULT_ARGUMENTS: Mapping[str, Any] = {"temperature": 0}
"""Sampling arguments of every request unless the user gives others; ``null`` leaves one out."""


class ModelAgent:
    """A model behind litellm.

    Args:
        name: litellm's name of the model, such as ``openai/gpt-4o``.
        arguments: sampling arguments over ``DEFAULT_ARGUMENTS``.
        api_base: base URL of the API, ``None`` for the provider's own.
        patience: how long a request is tried.
        cache: answers that need not be asked for again.
    """

    turn_limit = TURN_LIMIT
    waits_for_provider = True
    """Its time is the provider's: a rollout that takes too long is a fault of the infrastructure, no outcome."""

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        api_base: str | None = None,
        patience: Patience | None = None,
        cache: AnswerCache | None = None,
    ) -> None:
        self.name = name
        given = {**DEFAULT_ARGUMENTS, **(arguments or {})}
        chosen = {key: value for key, value in given.items() if value is not None}
        self._sender = Sender(name, chosen, api_base, patience, cache)

    async def play(self, episode: Episode) -> None:
        """Play ``episode`` to its end.

        Raises:
            InfrastructureError: the provider gave no answer.
        """
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": episode.instruction},
            {"role": "user", "content": episode.goal},
        ]
        tools = [tool.openai() for tool in episode.tools]
        while not episode.ended:
            try:
                answer = await self._sender.send(messages, tools, episode)
            except Withheld as withheld:
                episode.abandon(withheld.disposition, withheld.reason)
                return
            messages += _take(answer, episode)


def _take(answer: Answer, episode: Episode) -> list[dict[str, Any]]:
    """Let the answer happen in the episode; return the messages that follow from it."""
    not_executed = f"calls not executed: {len(answer.calls)}"
    if answer.finish_reason == "length":
        episode.abandon("unfinished", f"output cut at the token limit; {not_executed}")
    elif answer.finish_reason == "content_filter":
        episode.abandon("filtered", f"stopped by the provider's content filter; {not_executed}")
    elif answer.refusal and not answer.calls:
        episode.abandon("filtered", f"refusal: {scrubbed(answer.refusal)}")
    else:
        observations = episode.turn(answer.calls, answer.text)
        return [answer.message, *map(tool_message, observations)]
    return []
