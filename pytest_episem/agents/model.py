"""The model agent: any litellm model with tool calling plays an episode (protocol, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_episem.agents.base import InfrastructureError
from pytest_episem.agents.cache import AnswerCache, open_cache
from pytest_episem.agents.limits import Patience
from pytest_episem.agents.messages import Answer, tool_message
from pytest_episem.agents.model_options import check_model_name, checked_model_args
from pytest_episem.agents.reply import Withheld
from pytest_episem.agents.requests import Sender
from pytest_episem.agents.spending import Spending
from pytest_episem.episode import TURN_LIMIT, AgentEpisode, Episode, Unanswered, real_episode
from pytest_episem.scrub import scrubbed

__all__ = ["ModelAgent", "check_model_name", "checked_model_args", "open_cache"]

DEFAULT_ARGUMENTS: Mapping[str, Any] = {"temperature": 0}
"""Sampling arguments of every request unless the user gives others; ``null`` leaves one out."""


NEVER, FILTERED_TASKS = 5, 3
"""After how many requests without any answer the run ends, and of how many tasks a filter must have refused them."""


class ModelAgent:
    """A model behind litellm.

    Args:
        name: litellm's name of the model, such as ``openai/gpt-4o``.
        arguments: sampling arguments over ``DEFAULT_ARGUMENTS``.
        api_base: base URL of the API, ``None`` for the provider's own.
        patience: how long a request is tried.
        cache: answers that need not be asked for again.
        spending: what may be sent and spent.
    """

    turn_limit = TURN_LIMIT
    counts_requests = True
    waits_for_provider = True
    """Its time is the provider's: a rollout that takes too long is a fault of the infrastructure, no outcome."""

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        api_base: str | None = None,
        patience: Patience | None = None,
        cache: AnswerCache | None = None,
        spending: Spending | None = None,
    ) -> None:
        self.name = name
        given = {**DEFAULT_ARGUMENTS, **(arguments or {})}
        chosen = {key: value for key, value in given.items() if value is not None}
        self._answered = False
        self._withheld: list[str] = []
        self._sender = Sender(name, chosen, api_base, patience, cache, spending)

    async def play(self, episode: Episode | AgentEpisode) -> None:
        """Play ``episode`` to its end.

        Raises:
            InfrastructureError: the provider gave no answer.
        """
        episode = real_episode(episode)
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": episode.instruction},
            {"role": "user", "content": episode.goal},
        ]
        tools = [tool.openai() for tool in episode.tools]
        while not episode.ended:
            try:
                answer = await self._sender.send(messages, tools, episode)
            except Withheld as withheld:
                self._refuse_to_go_on(withheld, episode)
                kind: Unanswered = "filter" if withheld.disposition == "filtered" else "overflow"
                episode.abandon(withheld.disposition, withheld.reason, kind)
                return
            self._answered = True
            messages += _take(answer, episode)

    def _refuse_to_go_on(self, withheld: Withheld, episode: Episode) -> None:
        """End the run if no request was ever answered: what stands in the way is the set-up, and no outcome.

        A filter may dislike one task, so it has to have refused several; a context is too small for all alike.

        Raises:
            InfrastructureError: fatal, quoting the provider.
        """
        if self._answered:
            return
        self._withheld.append(episode.goal)
        tasks = len(set(self._withheld))
        if len(self._withheld) >= NEVER and (withheld.disposition != "filtered" or tasks >= FILTERED_TASKS):
            text = f"{self.name}: not one of {len(self._withheld)} requests was answered ({withheld.reason})"
            raise InfrastructureError("unanswered", f"{text}; check --episem-model-args and the server", fatal=True)


def _take(answer: Answer, episode: Episode) -> list[dict[str, Any]]:
    """Let the answer happen in the episode; return the messages that follow from it."""
    not_executed = f"calls not executed: {len(answer.calls)}"
    if answer.finish_reason == "length":
        episode.abandon("unfinished", f"output cut at the token limit; {not_executed}", "cut")
    elif answer.finish_reason == "content_filter":
        episode.abandon("filtered", f"stopped by the provider's content filter; {not_executed}", "filter")
    elif answer.refusal and not answer.calls:
        episode.abandon("filtered", f"refusal: {scrubbed(answer.refusal)}", "filter")
    else:
        observations = episode.turn(answer.calls, answer.text)
        return [answer.message, *map(tool_message, observations)]
    return []
