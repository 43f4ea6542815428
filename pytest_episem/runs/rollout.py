"""One rollout: a fresh world, an episode, an agent, and the trial that comes of it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
import traceback
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_episem.agents.base import Agent, InfrastructureError
from pytest_episem.episode import AgentEpisode, Episode
from pytest_episem.errors import NoJudgement, first_cause, worded
from pytest_episem.runs.trial import Condition, Trial, TrialError
from pytest_episem.scrub import fit_to_print
from pytest_episem.suite import Suite
from pytest_episem.text import described

OTHER_LOOP = (
    "A client or lock of the agent's belongs to another event loop: make it inside the agent, at its first use there; "
    "not in an asynchronous fixture, nor once for several asyncio.run()."
)
_OTHER_LOOP_WORDS = (
    "attached to a different loop",
    "await wasn't used with future",  # what asyncio says of the same future the second time
    "bound to a different event loop",
    "Event loop is closed",
)

LEFT_RUNNING = "left_running"
"""The event of a rollout whose time was up while the agent ran in a thread, which nobody can end."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What every rollout of a run shares.

    ``instruction`` ``None`` takes each world's own, ``turn_limit`` ``None`` the agent's; ``timeout`` is in seconds.
    """

    instruction: str | None = None
    turn_limit: int | None = None
    timeout: float = 600.0
    concurrency: int = 8
    search_seed: str = "0"


def start_episode(world: Any, agent: Agent, settings: RunSettings) -> Episode:
    """Return the episode of a fresh world that knows its condition, for ``agent``."""
    limit = settings.turn_limit or agent.turn_limit
    return Episode(world, limit, settings.instruction, world.condition.repeat)


class Rollout:
    """One rollout in progress: the episode, its clock, and whatever went wrong.

    What an agent does after the end of its episode, raising included, changes nothing of the outcome: it is logged.
    """

    CLEANUP = 1.0
    """Seconds that an agent whose time is up has to close what it opened."""

    def __init__(
        self, suite: Suite, task: Any, condition: Condition, phase: str, agent: Agent, settings: RunSettings
    ) -> None:
        self.suite = suite
        self.task = task
        self.condition = condition
        self.phase = phase
        self.agent = agent
        self.timeout = settings.timeout
        self.episode = start_episode(suite.start(task, condition), agent, settings)
        self.error: TrialError | None = None
        self.fatal: InfrastructureError | None = None
        self._started = time.perf_counter()

    def play(self) -> Awaitable[None] | None:
        """Let the agent begin; returns what is left to await, or ``None`` when it is through."""
        with self._catching():
            playing = self.agent.play(AgentEpisode(self.episode))
            if inspect.isawaitable(playing):
                return playing
        return None

    async def wait(self, playing: Awaitable[None]) -> None:
        """Await the rest; an agent that does not come back in time is ``unfinished``, but for one that only waits
        for a provider: there it is the provider's fault."""
        self._started = time.perf_counter()
        task = asyncio.ensure_future(_contained(playing))
        try:
            done, _ = await asyncio.wait({task}, timeout=self.timeout)
        finally:
            task.cancel()  # which a task that is done ignores
        with self._catching():
            if done:
                task.result()
            else:
                self._time_is_up()
        if not done:
            await asyncio.wait({task}, timeout=self.CLEANUP)
            task.add_done_callback(lambda late: late.cancelled() or late.exception())

    def _time_is_up(self) -> None:
        reason = f"no end within {self.timeout:g} s"
        if getattr(self.agent, "waits_for_provider", False):
            raise InfrastructureError("timeout", f"{self.agent.name}: {reason}")
        if getattr(self.agent, "in_thread", False):
            reason += "; a thread cannot be ended: what it still does counts for nothing"
            self.episode.note(LEFT_RUNNING)
        self.episode.abandon("unfinished", reason)

    @contextlib.contextmanager
    def _catching(self) -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            cause = first_cause(error)
            if isinstance(cause, InfrastructureError):
                self._fail(cause.kind, cause.message)
                self.fatal = cause if cause.fatal else None
            elif isinstance(cause, NoJudgement):
                self.error = TrialError("oracle", str(cause))
            else:
                trace = traceback.format_exc()
                hint = f"{OTHER_LOOP}\n" if any(words in trace for words in _OTHER_LOOP_WORDS) else ""
                self._fail("agent", f"{worded(cause)}\n{hint}{trace}")

    def _fail(self, kind: str, message: str) -> None:
        message = fit_to_print(message)
        if self.episode.ended:
            self.episode.note("error_after_end", kind=kind, message=message)
        else:
            self.error = TrialError(kind, message)

    def trial(self) -> Trial:
        """Return the trial of the rollout; an agent that came back without an end is ``unfinished``.

        A thread that still runs can add nothing to it.
        """
        # A clock that tests of the agent's have set back gives no negative time.
        seconds = max(0.0, round(time.perf_counter() - self._started, 6))
        usage, wrong = self.episode.usage.sound()
        if not usage.requests and not getattr(self.agent, "counts_requests", False):
            usage.requests = None
        if wrong and self.error is None:
            self.error = TrialError("agent", fit_to_print(f"the agent's usage cannot be recorded: {wrong}"))
        outcome = None
        if self.error is None:
            self.episode.abandon("unfinished", "the agent returned without ending the episode")
            with self._catching():
                outcome = self.episode.outcome()
        found: Trial = self.suite.trial(
            self.task,
            self.condition,
            phase=self.phase,
            status="completed" if self.error is None else "error",
            outcome=outcome,
            usage=usage,
            turns=self.episode.turns,
            seconds=seconds,
            error=self.error,
            events=[
                event if isinstance(event, dict) else {"event": "no_event", "value": described(event)}
                for event in list(self.episode.events)
            ],
        )
        return found


async def _contained(playing: Awaitable[None]) -> None:
    """Await an agent whose ``sys.exit()`` and the like would end the event loop, and every other rollout with it."""
    try:
        await playing
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise RuntimeError(f"the agent raised {worded(error)}") from error
