"""Running conditions: a fresh world, an episode, an agent, one trial; rollouts of slow agents side by side."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import json
import threading
import time
import traceback
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
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
    trials of an earlier session, of which the completed ones count. ``stopped`` is the fatal error after which
    nothing more is tried. ``run``, ``submit`` and ``search`` belong to one thread.
    """

    def __init__(
        self, bank: Bank, settings: RunSettings | None = None, recorded: Mapping[Condition, Trial] | None = None
    ) -> None:
        self.bank = bank
        self.settings = settings or RunSettings()
        self.stopped: InfrastructureError | None = None
        self._trials = {c: trial for c, trial in (recorded or {}).items() if trial.completed}
        self._packed: dict[Condition, bytes] = {}
        self._pending: dict[Condition, Future[Trial]] = {}
        self._searched: set[str] = set()
        self._loop: _BackgroundLoop | None = None
        self._finished: list[Trial] = []
        self._lock = threading.Lock()

    @property
    def trials(self) -> Mapping[Condition, Trial]:
        """Every trial so far; those that ``take_finished`` handed over are kept without their events."""
        return self._trials

    def run(self, condition: Condition, agent: Agent, phase: Phase = "fixed") -> Trial:
        """Return the trial of ``condition``, running it unless it completed before: asking again retries an error."""
        known = self._trials.get(condition)
        if known is not None and known.completed:
            return self._whole(known)
        pending = self._pending.pop(condition, None)
        return pending.result() if pending else self._start(condition, agent, phase)

    def submit(self, conditions: Iterable[Condition], agent: Agent) -> None:
        """Start rollouts ahead of time, for agents whose ``play`` gives an awaitable."""
        for condition in conditions:
            if condition not in self._trials and condition not in self._pending and self.stopped is None:
                self._begin(condition, agent, "fixed")

    def search(self, task: Task, agent: Agent) -> tuple[BoundaryResult, list[Trial]]:
        """Run the adaptive boundary search of ``task``, reusing what already ran (protocol, section 4).

        Within one search an error counts as run. Searching the task again tries the errors of before once more.
        Returns the result and the trials that the search itself ran.
        """
        ran: list[Trial] = []
        retry = task.id in self._searched
        self._searched.add(task.id)

        def execute(probe: Probe) -> Trial:
            ran.append(self.run(probe.condition, agent, probe.phase))
            return ran[-1]

        def lookup(condition: Condition) -> Trial | None:
            trial = self._trials.get(condition)
            old_error = retry and trial is not None and not trial.completed and trial not in ran
            return None if old_error else trial

        search = BoundarySearch(self.settings.search_seed, task.id, task.critical, lookup)
        return search.run(execute), ran

    def take_finished(self) -> list[Trial]:
        """Return the trials that finished since the last call, each once, in the order they finished.

        From then on their events are kept packed, so that a long run does not fill the memory with what it recorded.
        """
        with self._lock:
            finished, self._finished = self._finished, []
        for trial in finished:
            self._packed[trial.condition] = zlib.compress(json.dumps(trial.events, default=str).encode(), 1)
            self._trials[trial.condition] = dataclasses.replace(trial, events=[])
        return finished

    def close(self) -> None:
        """Cancel what is still running; finished trials stay available."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None
        self._pending.clear()

    def _whole(self, trial: Trial) -> Trial:
        packed = None if trial.events else self._packed.get(trial.condition)
        return dataclasses.replace(trial, events=json.loads(zlib.decompress(packed))) if packed else trial

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
        future = self._loop.submit(lambda: self._wait(rollout, playing))
        future.add_done_callback(lambda _: _drop(playing))
        self._pending[condition] = future
        return future

    async def _wait(self, rollout: Rollout, playing: Awaitable[None]) -> Trial:
        await rollout.wait(playing)
        return self._finish(rollout)

    def _finish(self, rollout: Rollout) -> Trial:
        trial = rollout.trial()
        with self._lock:
            self.stopped = self.stopped or rollout.fatal
            self._trials[trial.condition] = trial
            self._finished.append(trial)
        return trial


def _drop(playing: Awaitable[None]) -> None:
    """Close a coroutine that was cancelled before it began, which Python would warn of."""
    if inspect.iscoroutine(playing) and inspect.getcoroutinestate(playing) == inspect.CORO_CREATED:
        playing.close()


class Rollout:
    """One rollout in progress: the episode, its clock, and whatever went wrong.

    What an agent does after the end of its episode, raising included, changes nothing of the outcome: it is logged.
    """

    CLEANUP = 1.0
    """Seconds that an agent whose time is up has to close what it opened."""

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
        self.episode.abandon("unfinished", reason)

    @contextlib.contextmanager
    def _catching(self) -> Iterator[None]:
        try:
            yield
        except InfrastructureError as error:
            self._fail(error.kind, error.message)
            self.fatal = error if error.fatal else None
        except RuleError as error:
            self.error = TrialError("oracle", str(error))
        except (Exception, SystemExit, asyncio.CancelledError):
            self._fail("agent", traceback.format_exc())

    def _fail(self, kind: str, message: str) -> None:
        if self.episode.ended:
            self.episode.note("error_after_end", kind=kind, message=message)
        else:
            self.error = TrialError(kind, message)

    def trial(self) -> Trial:
        """Return the trial of the rollout; an agent that came back without an end is ``unfinished``.

        A thread that still runs can add nothing to it.
        """
        seconds = round(time.perf_counter() - self._started, 6)
        outcome = None
        if self.error is None:
            self.episode.abandon("unfinished", "the agent returned without ending the episode")
            with self._catching():
                outcome = self.episode.outcome()
        return Trial(
            condition=self.condition,
            mask_role=mask_role(self.condition.mask, self.task.critical),
            phase=self.phase,
            status="completed" if self.error is None else "error",
            outcome=outcome,
            usage=dataclasses.replace(self.episode.usage),
            turns=self.episode.turns,
            seconds=seconds,
            error=self.error,
            events=list(self.episode.events),
        )


async def _contained(playing: Awaitable[None]) -> None:
    """Await an agent whose ``sys.exit()`` and the like would end the event loop, and every other rollout with it."""
    try:
        await playing
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise RuntimeError(f"the agent raised {error!r}") from error


class _BackgroundLoop:
    """An event loop in a thread, with a bound on how much runs at once."""

    def __init__(self, concurrency: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._room = asyncio.Semaphore(concurrency)
        self._thread = threading.Thread(target=self._loop.run_forever, name="episem-rollouts", daemon=True)
        self._thread.start()

    def submit(self, rollout: Callable[[], Awaitable[Trial]]) -> Future[Trial]:
        async def bounded() -> Trial:
            async with self._room:
                return await rollout()

        return asyncio.run_coroutine_threadsafe(bounded(), self._loop)

    def close(self) -> None:
        async def cancel() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._loop.shutdown_asyncgens()

        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(cancel(), self._loop).result(timeout=3)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=3)
        if not self._thread.is_alive():
            self._loop.close()
