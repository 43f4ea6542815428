"""The user's own agent: a plain function of the episode, sync or async, made into an agent."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pytest_episem.agents.base import Agent
from pytest_episem.agents.known import KnownAgent
from pytest_episem.agents.tool_functions import async_tool_function, tool_function
from pytest_episem.agents.turns import GRACE, UnseenTurns
from pytest_episem.episode import CALL_LIMIT, AgentEpisode, Call, Episode, Usage, real_episode
from pytest_episem.episode.usage import amount_of
from pytest_episem.errors import EpisemError, suggestion, worded
from pytest_episem.scrub import scrubbed

USAGE = tuple(field.name for field in fields(Usage))


class EpisodeView:
    """What an agent function gets: the request, the instruction, the tools, and ``call`` to use them.

    ``tools`` lists them in the form of OpenAI's chat completions; ``schemas`` as plain name, description and JSON
    schema; ``functions`` and ``async_functions`` as Python callables by name, each with a docstring, annotations and
    a signature. Any thread or task may call them: a call made while another's observation is still out shares its
    turn (protocol, section 2).
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._lock = threading.Lock()
        self._turns = UnseenTurns(episode)
        self._home: Any = None
        self.goal: str = episode.goal
        self.instruction: str = episode.instruction

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's form."""
        return [tool.openai() for tool in self._episode.tools]

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools as ``name``, ``description`` and ``parameters`` (JSON schema)."""
        return [tool.plain() for tool in self._episode.tools]

    @property
    def functions(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """The tools as Python callables that return the observation."""
        return {tool.name: tool_function(tool, self.call) for tool in self._episode.tools}

    @property
    def async_functions(self) -> dict[str, Callable[..., Awaitable[dict[str, Any]]]]:
        """The tools as coroutine functions that return the observation."""
        return {tool.name: async_tool_function(tool, self.acall) for tool in self._episode.tools}

    @property
    def ended(self) -> bool:
        """Whether the episode is over: after the commit, or at the limit of calls."""
        return self._episode.ended

    def call(self, name: str, arguments: Any = None) -> dict[str, Any]:
        """Use a tool: ``arguments`` is a mapping or the JSON text a model wrote. Returns the observation."""
        alone = _running_task() is not None or threading.current_thread() is self._home
        return self._turns.call(name, arguments, 0 if alone else GRACE).content

    async def acall(self, name: str, arguments: Any = None) -> dict[str, Any]:
        """Use a tool as ``call`` does, from a coroutine: other calls of the same message may run beside it."""
        alone = _running_task() is self._home
        return (await self._turns.acall(name, arguments, 0 if alone else GRACE)).content

    def call_all(self, calls: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
        """Use the tools that one message of a model calls, as (name, arguments), in order and in one turn.

        Returns an observation each. What stands after the operation itself is not carried out.
        """
        return [observation.content for observation in self._turns.call_all([Call(*call) for call in calls])]

    def usage(self, **counts: Any) -> None:
        """Add to the rollout's usage: ``requests``, ``prompt_tokens``, ``completion_tokens``, ``cost_usd`` …

        ``None`` is an unknown amount and adds nothing; ``812.0`` counts as 812.

        Raises:
            TypeError: there is no such count, or an amount is no number from 0 up, whole but for the cost.
        """
        amounts = {}
        for name, given in counts.items():
            if name not in USAGE:
                raise TypeError(f"usage() has no count {name!r}{suggestion(name, USAGE)}")
            amounts[name] = amount_of(name, given)
        with self._lock:
            for name, amount in amounts.items():
                if amount is not None:
                    setattr(self._episode.usage, name, (getattr(self._episode.usage, name) or 0) + amount)

    def _at_home(self) -> EpisodeView:
        """Note that the agent function itself runs here: what it calls from here, it calls one after the other."""
        self._home = _running_task() or threading.current_thread()
        return self


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """An agent made of ``function(episode)``, which returns its final text or a disposition."""

    name: str
    function: Callable[[EpisodeView], Any]
    turn_limit: int = CALL_LIMIT

    @property
    def in_thread(self) -> bool:
        """Whether it runs in a thread of its own, which nobody can end when its time is up."""
        return not inspect.iscoroutinefunction(self.function)

    async def play(self, episode: Episode | AgentEpisode) -> None:
        """Call the function; a sync one runs in a thread of its own, so that it cannot stop the others."""
        episode = real_episode(episode)
        view = EpisodeView(episode)
        if inspect.iscoroutinefunction(self.function):
            answer = await self.function(view._at_home())
        else:
            answer = await _in_thread(lambda: self.function(view._at_home()))
            if inspect.isawaitable(answer):
                answer = await answer
        end_with(episode, answer)


class ObjectAgent:
    """An agent object whose ``play`` may block: it runs in a thread of its own, so that it keeps neither pytest nor a
    limit of time waiting; one rollout after the other, since nothing says that it can play several.
    """

    in_thread = True

    def __init__(self, given: Agent) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        if name == "_given":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self._given, name)

    @property
    def name(self) -> str:
        """The object's."""
        return self._given.name

    @property
    def turn_limit(self) -> int:
        """The object's."""
        return self._given.turn_limit

    def play(self, episode: AgentEpisode) -> Awaitable[None]:
        """Let the object play; returns what is left to await."""
        return self._play(episode)

    async def _play(self, episode: AgentEpisode) -> None:
        playing = await _in_thread(lambda: self._given.play(episode))
        if inspect.isawaitable(playing):
            await playing


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Run ``function`` in a daemon thread: a thread that hangs must neither use up a pool nor keep pytest alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            setter(value)

    def work() -> None:
        try:
            result = function()
        except BaseException as error:
            tell(future.set_exception, _as_exception(error))
        else:
            tell(future.set_result, result)

    def tell(setter: Callable[[Any], None], value: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, setter, value)

    threading.Thread(target=work, name="episem-agent", daemon=True).start()
    return await future


def _as_exception(error: BaseException) -> Exception:
    """Return an error that a future can hold: not ``StopIteration``, and nothing that would end the event loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    failure = RuntimeError(f"the agent raised {worded(error)}")
    failure.__cause__ = error
    return failure


def end_with(episode: Episode, answer: Any) -> None:
    """End the episode with what an agent function returned.

    Raises:
        EpisemError: it is neither text nor a disposition.
    """
    if answer is None:
        answer = ""
    if not isinstance(answer, str):
        raise EpisemError(f"an agent returns its final text or a disposition, not {type(answer).__name__}")
    episode.finish(answer, disposition=episode.world.answers.get(answer))


def as_agent(value: Any) -> Agent:
    """Return ``value`` as an agent: an agent itself, in a thread where it may block, or a function of the episode.

    Raises:
        EpisemError: it is neither.
    """
    if isinstance(value, type):
        raise EpisemError(f"episem_agent must be a function of the episode or an agent, not the class {value.__name__}")
    if isinstance(value, Agent):
        at_once = isinstance(value, KnownAgent | ObjectAgent) or inspect.iscoroutinefunction(value.play)
        return value if at_once else ObjectAgent(value)
    if callable(value):
        return FunctionAgent(getattr(value, "__name__", type(value).__name__), value)
    raise EpisemError(f"episem_agent must be a function of the episode or an agent, not {type(value).__name__}")


def own_name(agent: Any) -> str | None:
    """Return the name that an agent object gives itself; a mere function, or a callable without one, has none."""
    if isinstance(agent, FunctionAgent) and agent.name in _function_names(agent.function):
        return None
    name = getattr(agent, "name", None)
    return name.strip() or None if isinstance(name, str) else None


def _function_names(function: Callable[..., Any]) -> tuple[str, str]:
    return getattr(function, "__name__", ""), type(function).__name__


def import_agent(spec: str, paths: Iterable[Path] = ()) -> Agent:
    """Return the agent at ``module:attribute``; ``paths`` are looked in besides the import path.

    Raises:
        EpisemError: no such module or attribute, or it is not an agent.
    """
    return as_agent(import_attribute(spec, paths))


def import_attribute(spec: str, paths: Iterable[Path] = ()) -> Any:
    """Return what stands at ``module:attribute``; ``paths`` are looked in besides the import path.

    Raises:
        EpisemError: no such module or attribute.
    """
    module_name, colon, attribute = spec.partition(":")
    if not colon or not module_name or not attribute:
        raise EpisemError(f"agent {spec!r} must be of the form module:attribute")
    for path in paths:
        if str(path) not in sys.path:
            sys.path.append(str(path))
    try:
        value: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise EpisemError(f"agent {spec!r}: cannot import {module_name!r}: {error}") from None
    except (Exception, SystemExit) as error:
        fault = scrubbed(worded(error))
        raise EpisemError(f"agent {spec!r}: {module_name!r} fails when it is imported: {fault}") from error
    for name in attribute.split("."):
        if not hasattr(value, name):
            raise EpisemError(f"agent {spec!r}: {module_name!r} has no {name!r}{suggestion(name, dir(value))}")
        value = getattr(value, name)
    return value
