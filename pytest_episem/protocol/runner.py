"""Running conditions: a fresh world, an episode, an agent, one trial; rollouts of slow agents side by side."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import time
import traceback
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from pytest_episem.agents.base import Agent, InfrastructureError
from pytest_episem.bank import Bank, Task
from pytest_episem.bank.rule import RuleError
from pytest_episem.episode import DEFAULT_INSTRUCTION, Episode
from pytest_episem.protocol.boundary import BoundaryResult, BoundarySearch, Probe
from pytest_episem.protocol.condition import Condition
from pytest_episem.protocol.plan import mask_role
from pytest_episem.protocol.trial import Phase, Trial, TrialError
from pytest_episem.world import World


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What every rollout of a run shares. ``turn_limit`` ``None`` takes the agent's own; ``timeout`` in seconds."""

    instruction: str = DEFAULT_INSTRUCTION
    turn_limit: int | None = None
    timeout: float = 600.0
    concurrency: int = 8
    search_seed: str = "0"


class TrialWorld(World):
    """The fresh world that a condition describes; it knows its condition."""

    def __init__(self, task: Task, condition: Condition) -> None:
        super().__init__(task, condition.world, condition.mask, audit=condition.setting in ("re", "full_audit"))
        self.condition = condition


def start_episode(task: Task, condition: Condition, agent: Agent, settings: RunSettings) -> Episode:
    """Return the fresh episode of ``condition`` for ``agent``."""
    limit = settings.turn_limit or agent.turn_limit
    return Episode(TrialWorld(task, condition), turn_limit=limit, instruction=settings.instruction)


class Runner:
    """Runs conditions of one bank and remembers their trials, so none runs twice in a process.

    Agents that answer at once run inline. Awaitables run in a background event loop, at most
    ``settings.concurrency`` side by side; ``submit`` starts one early, ``run`` waits for it. ``recorded`` are the
    completed trials of an earlier session; ``stopped`` is the fatal error after which nothing more is tried.
    """

    def __init__(
        self, bank: Bank, settings: RunSettings | None = None, recorded: Mapping[Condition, Trial] | None = None
    ) -> None:
        self.bank = bank
        self.settings = settings or RunSettings()
        self.trials: dict[Condition, Trial] = dict(recorded or {})
        self.stopped: InfrastructureError | None = None
        self._pending: dict[Condition, Future[Trial]] = {}
        self._loop: _BackgroundLoop | None = None
        self._finished: list[Trial] = []
        self._lock = threading.Lock()

    def run(self, condition: Condition, agent: Agent, phase: Phase = "fixed") -> Trial:
        """Return the trial of ``condition``, running it unless it completed before."""
        known = self.trials.get(condition)
        if known is not None and known.completed:
            return known
        pending = self._pending.pop(condition, None)
        return pending.result() if pending else self._start(condition, agent, phase)

    def submit(self, conditions: Iterable[Condition], agent: Agent) -> None:
        """Start rollouts ahead of time, for agents whose ``play`` gives an awaitable."""
        for condition in conditions:
            if condition not in self.trials and condition not in self._pending and self.stopped is None:
                self._begin(condition, agent, "fixed")

    def search(self, task: Task, agent: Agent) -> tuple[BoundaryResult, list[Trial]]:
        """Run the adaptive boundary search of ``task``, reusing what already ran (protocol, section 4).

        Returns the result and the trials that the search itself ran.
        """
        ran: list[Trial] = []

        def execute(probe: Probe) -> Trial:
            ran.append(self.run(probe.condition, agent, probe.phase))
            return ran[-1]

        search = BoundarySearch(self.settings.search_seed, task.id, task.critical, self.trials.get)
        return search.run(execute), ran

    def take_finished(self) -> list[Trial]:
        """Return the trials that finished since the last call, each once, in the order they finished."""
        with self._lock:
            finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Cancel what is still running; finished trials stay available."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def _start(self, condition: Condition, agent: Agent, phase: Phase) -> Trial:
        started = self._begin(condition, agent, phase)
        if isinstance(started, Trial):
            return started
        self._pending.pop(condition, None)
        return started.result()

    def _begin(self, condition: Condition, agent: Agent, phase: Phase) -> Trial | Future[Trial]:
        task = self.bank.task(condition.task)
        rollout = Rollout(task, condition, phase, agent, self.settings)
        if self.stopped is not None:
            rollout.error = TrialError(self.stopped.kind, self.stopped.message)
            return self._finish(rollout)
        playing = rollout.play()
        if playing is None:
            return self._finish(rollout)
        if self._loop is None:
            self._loop = _BackgroundLoop(self.settings.concurrency)
        future = self._loop.submit(self._wait(rollout, playing))
        self._pending[condition] = future
        return future

    async def _wait(self, rollout: Rollout, playing: Awaitable[None]) -> Trial:
        await rollout.wait(playing)
        return self._finish(rollout)

    def _finish(self, rollout: Rollout) -> Trial:
        trial = rollout.trial()
        with self._lock:
            self.stopped = self.stopped or rollout.fatal
            self.trials[trial.condition] = trial
            self._finished.append(trial)
        return trial


class Rollout:
    """One rollout in progress: the episode, its clock, and whatever went wrong."""

    def __init__(self, task: Task, condition: Condition, phase: Phase, agent: Agent, settings: RunSettings) -> None:
        self.task = task
        self.condition = condition
        self.phase = phase
        self.agent = agent
        self.timeout = settings.timeout
        self.episode = start_episode(task, condition, agent, settings)
        self.error: TrialError | None = None
        self.fatal: InfrastructureError | None = None
        self._started = time.perf_counter()

    def play(self) -> Awaitable[None] | None:
        """Let the agent begin; returns what is left to await, or ``None`` when it is through."""
        with self._catching():
            playing = self.agent.play(self.episode)
            if inspect.isawaitable(playing):
                return playing
        return None

    async def wait(self, playing: Awaitable[None]) -> None:
        """Await the rest; an agent that does not come back in time is ``unfinished``, but for one that only waits
        for a provider: there it is the provider's fault."""
        self._started = time.perf_counter()
        with self._catching():
            try:
                await asyncio.wait_for(asyncio.ensure_future(playing), self.timeout)
            except TimeoutError:
                reason = f"no end within {self.timeout:g} s"
                if getattr(self.agent, "waits_for_provider", False):
                    raise InfrastructureError("timeout", f"{self.agent.name}: {reason}") from None
                self.episode.abandon("unfinished", reason)

    @contextlib.contextmanager
    def _catching(self) -> Iterator[None]:
        try:
            yield
        except InfrastructureError as error:
            self.error = TrialError(error.kind, error.message)
            self.fatal = error if error.fatal else None
        except RuleError as error:
            self.error = TrialError("oracle", str(error))
        except Exception:
            self.error = TrialError("agent", traceback.format_exc())

    def trial(self) -> Trial:
        """Return the trial of the ended rollout."""
        trial = Trial(
            condition=self.condition,
            mask_role=mask_role(self.condition.mask, self.task.critical),
            phase=self.phase,
            usage=self.episode.usage,
            turns=self.episode.turns,
            seconds=round(time.perf_counter() - self._started, 6),
            events=self.episode.events,
        )
        if self.error is None and not self.episode.ended:
            self.episode.abandon("unfinished", "the agent returned without ending the episode")
        if self.error is None:
            trial.outcome = self.episode.outcome()
        else:
            trial.status, trial.error = "error", self.error
        return trial


class _BackgroundLoop:
    """An event loop in a thread, with a bound on how much runs at once."""

    def __init__(self, concurrency: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._room = asyncio.Semaphore(concurrency)
        self._thread = threading.Thread(target=self._loop.run_forever, name="episem-rollouts", daemon=True)
        self._thread.start()

    def submit(self, rollout: Awaitable[Trial]) -> Future[Trial]:
        async def bounded() -> Trial:
            async with self._room:
                return await rollout

        return asyncio.run_coroutine_threadsafe(bounded(), self._loop)

    def close(self) -> None:
        async def cancel() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(cancel(), self._loop).result(timeout=3)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=3)
