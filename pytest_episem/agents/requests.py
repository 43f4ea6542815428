"""One model request with all that may go wrong on the way: retries, waiting, limits, usage, notes for the log."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_episem.agents import litellm_module
from pytest_episem.agents.answer_key import address_of, request_key
from pytest_episem.agents.base import InfrastructureError
from pytest_episem.agents.cache import AnswerCache
from pytest_episem.agents.faults import BadResponse, Fault, came_from_warning, fault_of, key_hint
from pytest_episem.agents.limits import Limiter, Patience
from pytest_episem.agents.messages import Answer, read_answer, unreadable_call
from pytest_episem.agents.prices import given_prices
from pytest_episem.agents.reply import Reply
from pytest_episem.agents.spending import Spending
from pytest_episem.episode import Episode, Usage
from pytest_episem.episode.usage import amount_of
from pytest_episem.scrub import scrubbed

_GRACE = 10.0
"""Seconds beyond the request timeout after which a request is given up even if the client did not notice."""
_noticed: set[tuple[str, str]] = set()


class _Tries:
    """What one request has been through: how often it failed and how long it waited."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.failures = 0
        self.refusals = 0
        self.waited = 0.0

    @property
    def count(self) -> int:
        return self.failures + self.refusals

    def wait_after(self, fault: Fault, limiter: Limiter, epoch: int) -> float | None:
        """Return the seconds until the request may be sent again, ``None`` when it is given up."""
        patience = self.patience
        if fault.kind == "rate_limit" and fault.retry:
            self.refusals += 1
            wait = limiter.refused(epoch, patience, fault.told)
        else:
            self.failures += 1
            wait = patience.delay(self.failures, fault.told)
        too_often = self.failures >= patience.tries or self.refusals >= patience.rate_limit_tries
        if not fault.retry or too_often or self.waited + wait > patience.total_wait:
            return None
        self.waited += wait
        return wait


class Sender:
    """Sends the requests of one model for one process.

    Args:
        model: the name litellm knows the model by.
        arguments: sampling arguments; one that the model refuses is left out for the rest of the run.
        api_base: base URL of the API, or ``None`` for the provider's own.
        patience: how long a request is tried.
        cache: where answers are looked for first, and kept.
        spending: what may be sent and spent; counts every try.
    """

    def __init__(
        self,
        model: str,
        arguments: Mapping[str, Any],
        api_base: str | None = None,
        patience: Patience | None = None,
        cache: AnswerCache | None = None,
        spending: Spending | None = None,
    ) -> None:
        self.model = model
        self.asked = dict(arguments)
        self.arguments = dict(arguments)
        self.api_base = api_base
        self.patience = patience or Patience()
        self.cache = cache
        self.spending = spending
        self.limiter = Limiter()
        self.dropped: list[str] = []
        self.alive = False

    async def send(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], episode: Episode
    ) -> Answer:
        """Return the model's answer; usage and every try are noted in ``episode``.

        Raises:
            Withheld: there is none, and that is the outcome.
            InfrastructureError: there is none after all tries.
        """

        async def ask() -> Reply:
            return await self._ask(messages, tools, episode)

        if self.cache is None:
            return (await ask()).taken()
        address = address_of(self.model, self.api_base)
        key = request_key(self.model, address, self.asked, messages, tools, episode.repeat)
        # What is in flight longer than two tries is being retried, or its process stands still.
        reply, cached = await self.cache.reply(key, self.model, ask, 2 * self._timeout(self.asked))
        if cached:
            self._note_cached(episode, reply)
        return reply.taken()

    async def _ask(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], episode: Episode
    ) -> Reply:
        """Return what the provider gives, after as many tries as it takes.

        Raises:
            InfrastructureError: it gives nothing, or nothing more may be sent.
        """
        if litellm_module.loaded is None:
            await asyncio.to_thread(litellm_module.load_litellm, self.model)
        tries, quiet = _Tries(self.patience), False
        while True:
            sent = dict(self.arguments)
            async with self.limiter.slot() as epoch:
                if self.spending is not None:
                    self.spending.take()
                started = time.perf_counter()
                try:
                    with litellm_module.WITHOUT_WARNINGS if quiet else contextlib.nullcontext():
                        reply = await self._try(sent, messages, tools, episode)
                except Exception as error:
                    fault, quiet = fault_of(error, sent), came_from_warning(error)
                    wait = tries.wait_after(fault, self.limiter, epoch)
                else:
                    self.limiter.passed()
                    return reply
            _note_failure(episode, self.model, fault, time.perf_counter() - started, wait)
            if fault.unreadable_call is not None:
                self.alive = True
                reply = Reply(unreadable_call(fault.unreadable_call), left_out=tuple(self.dropped))
                _count(episode.usage, reply)
                return reply
            if fault.disposition is not None:
                reason = f"{fault.kind}: {fault.text}"
                return Reply(None, fault.disposition, reason, left_out=tuple(self.dropped))
            if fault.refused is not None:
                self._drop(fault.refused, episode)
                continue
            if wait is None:
                raise self._given_up(fault, tries)
            self.alive |= fault.kind not in _DEAD
            await asyncio.sleep(wait)

    async def _try(
        self,
        sent: Mapping[str, Any],
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        episode: Episode,
    ) -> Reply:
        started = time.perf_counter()
        timeout = self._timeout(sent)
        request = litellm_module.loaded.acompletion(**{
            **sent,
            **self._address(),
            "model": self.model,
            "messages": list(messages),
            "tools": list(tools),
            "num_retries": 0,
            "timeout": timeout,
        })  # fmt: skip
        with litellm_module.WITHOUT_ADVICE:
            response = await asyncio.wait_for(request, timeout + _GRACE)
        choices = getattr(response, "choices", None)
        answer = read_answer(choices[0]) if choices else None
        if answer is None:
            raise BadResponse("the provider broke off its answer" if choices else "the response holds no answer")
        self.alive = True
        reply = self._reply(response, answer)
        if self.spending is not None and reply.cost_usd is not None:
            self.spending.spend(reply.cost_usd)
        _count(episode.usage, reply)
        self._note(episode, reply, time.perf_counter() - started)
        return reply

    def _timeout(self, arguments: Mapping[str, Any]) -> float:
        """Return the seconds that one try may take."""
        return float(arguments.get("timeout") or self.patience.request_timeout)

    def _address(self) -> dict[str, Any]:
        """Return where to send and, for a server of the user's own that needs no key, a key that is none."""
        if not self.api_base:
            return {}
        known = "/" in self.model or self.model in litellm_module.loaded.model_cost
        address = {"api_base": self.api_base} | ({} if known else {"custom_llm_provider": "openai"})
        if self._provider() == "openai" and not os.environ.get("OPENAI_API_KEY"):
            address["api_key"] = "none"
        return address

    def _provider(self) -> str:
        if "/" in self.model:
            return self.model.split("/", 1)[0]
        listed = litellm_module.loaded.model_cost.get(self.model) or {}
        return str(listed.get("litellm_provider") or ("openai" if self.api_base else ""))

    def _drop(self, name: str, episode: Episode) -> None:
        """Leave a sampling argument out from now on, saying so once."""
        if self.arguments.pop(name, None) is not None and name not in self.dropped:
            self.dropped.append(name)
        notice = f"{self.model} does not take {name}: it is left out for the rest of the run"
        episode.note("notice", text=notice)
        if (self.model, name) not in _noticed:
            _noticed.add((self.model, name))
            with contextlib.suppress(Warning):
                warnings.warn(f"episem: {notice}", stacklevel=2)

    def _reply(self, response: Any, answer: Answer) -> Reply:
        prompt, completion, total, cached = _tokens(response, bool(answer.calls or answer.text))
        served = getattr(response, "model", None)
        return Reply(
            answer,
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=total,
            cached_tokens=cached,
            cost_usd=None if prompt is None or completion is None else self._cost(response),
            served_model=scrubbed(served) if isinstance(served, str) and served != self.model else "",
            left_out=tuple(self.dropped),
        )

    def _cost(self, response: Any) -> float | None:
        """Return what litellm says the request cost in US dollars, by its own prices or by those of the arguments; 0 is
        how it says that it does not know, unless the arguments say so."""
        cost = (getattr(response, "_hidden_params", None) or {}).get("response_cost")
        if isinstance(cost, int | float) and cost > 0:
            return float(cost)
        return 0.0 if given_prices(self.asked) == (0.0, 0.0) else None

    def _note(self, episode: Episode, reply: Reply, seconds: float, **more: Any) -> None:
        details: dict[str, Any] = {
            "model": self.model,
            "finish_reason": reply.answer.finish_reason if reply.answer else None,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.total_tokens,
            "cached_tokens": reply.cached_tokens,
            "cost_usd": reply.cost_usd,
            "seconds": round(seconds, 3),
        }
        if reply.served_model:
            details["served_model"] = reply.served_model
        if reply.left_out:
            details["left_out"] = list(reply.left_out)
        episode.note("request", **details, **more)

    def _note_cached(self, episode: Episode, reply: Reply) -> None:
        """Note a reply that cost nothing; one that was withheld counts as no request, as when it was sent."""
        for name in reply.left_out:
            if name in self.arguments:
                self._drop(name, episode)
        if reply.answer is None:
            kind, _, text = reply.reason.partition(": ")
            episode.note("request_failed", model=self.model, kind=kind, message=text, seconds=0.0, cached=True)
            return
        reply = dataclasses.replace(reply, cost_usd=0.0)
        _count(episode.usage, reply)
        episode.usage.cached_requests += 1
        self._note(episode, reply, 0.0, cached=True)

    def _given_up(self, fault: Fault, tries: _Tries) -> InfrastructureError:
        """Return the error of a request that is given up; one line, with the hint that mends it."""
        where = f"{self.model} at {scrubbed(self.api_base)}" if self.api_base else self.model
        never = not self.alive and fault.kind in _DEAD
        words = _WORDS.get(fault.kind, "the request failed")
        hint = key_hint(self._provider()) if fault.kind == "authentication" else ""
        if fault.kind == "unknown_model":
            hint = "; check --episem-model and --episem-api-base"
        elif never and self.api_base and fault.kind != "request":
            hint = "; check --episem-api-base"
        times = f" {tries.count} times" if tries.count > 1 else ""
        return InfrastructureError(
            fault.kind, scrubbed(f"{where}: {words}{times}{hint} ({fault.text})"), fatal=fault.fatal or never
        )


_WORDS: Mapping[str, str] = {
    "authentication": "the provider does not accept the API key",
    "quota": "the account has no credit left",
    "unknown_model": "there is no such model",
    "no_tools": "the model or its server has no tool calling, which every task needs",
    "setup": "a package that litellm needs for this provider is missing",
    "rate_limit": "refused for the rate",
    "timeout": "no answer in time",
    "connection": "no connection",
    "server": "the provider failed",
    "response": "the provider's response could not be read",
    "request": "the provider rejected the request",
}


_DEAD = ("connection", "response", "request")
"""Faults after which nothing more is tried while nothing else has ever come from the API: it is not what was meant."""


def _note_failure(episode: Episode, model: str, fault: Fault, seconds: float, wait: float | None) -> None:
    details: dict[str, Any] = {"model": model, "kind": fault.kind, "message": fault.text, "seconds": round(seconds, 3)}
    episode.note("request_failed", **details, **({} if wait is None else {"wait": round(wait, 3)}))


def _tokens(response: Any, said_something: bool) -> tuple[int | None, int | None, int | None, int | None]:
    """Return prompt, completion, total and cached prompt tokens; litellm says 0 where the provider said nothing."""
    usage = getattr(response, "usage", None)

    def amount(holder: Any, name: str) -> int | None:
        value = getattr(holder, name, None)
        try:
            found = amount_of(name, value)
        except TypeError:
            return None
        return None if found is None else int(found)

    prompt = amount(usage, "prompt_tokens") or None
    completion = amount(usage, "completion_tokens")
    if prompt is None or (completion == 0 and said_something):
        completion = completion or None
    total = amount(usage, "total_tokens") or (None if prompt is None or completion is None else prompt + completion)
    cached = amount(getattr(usage, "prompt_tokens_details", None), "cached_tokens")
    return prompt, completion, total, cached


def _count(usage: Usage, reply: Reply) -> None:
    """Add one answered request; a sum of which one part is unknown is unknown."""
    for name in ("prompt_tokens", "completion_tokens", "total_tokens", "cost_usd"):
        sum, part = getattr(usage, name) if usage.requests else 0, getattr(reply, name)
        setattr(usage, name, None if sum is None or part is None else sum + part)
    usage.requests = (usage.requests or 0) + 1
