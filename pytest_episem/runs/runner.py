"""Running conditions: which trials there are already, which are on their way, and boundary searches over them."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import threading
from collections.abc import Awaitable, Hashable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from pytest_episem.agents.base import Agent, InfrastructureError
from pytest_episem.agents.spending import LIMIT
from pytest_episem.runs.background import Background, Job
from pytest_episem.runs.rollout import Rollout, RunSettings
from pytest_episem.runs.trial import Condition, Trial, TrialError
from pytest_episem.suite import Search, suite

__all__ = ["RunSettings", "Runner", "runs_in_background"]

Searched: TypeAlias = tuple[Any, list[Any]]
"""What a search found, and the trials that it ran itself."""


class Task(Protocol):
    """What a bank holds; its ``id`` names it."""

    @property
    def id(self) -> str: ...


class Bank(Protocol):
    """Tasks of one suite."""

    @property
    def suite(self) -> str: ...

    def task(self, task_id: str) -> Any: ...


HOPELESS = 5
"""At how many rollouts, the first of a process, an agent raises until the run ends."""


class Runner:
    """Runs conditions of one bank and remembers their trials, so none runs twice in a process.

    Agents that answer at once run inline. Those whose ``play`` is a coroutine function run in the background, at most
    ``settings.concurrency`` side by side: ``submit`` names what will be asked for, ``run`` and ``search`` wait.
    ``recorded`` are the trials of an earlier session, of which the completed ones count. ``stopped`` is the fatal
    error after which nothing more is tried. One thread asks.
    """

    def __init__(
        self, bank: Bank, settings: RunSettings | None = None, recorded: Mapping[Any, Any] | None = None
    ) -> None:
        self.bank = bank
        self.suite = suite(bank.suite)
        self.settings = settings or RunSettings()
        self.stopped: InfrastructureError | None = None
        self._trials = {c: trial for c, trial in (recorded or {}).items() if trial.completed}
        self._searched: set[str] = set()
        self._finished: list[Trial] = []
        self._asked: set[Condition] = set()
        self._handed_over: set[Condition] = set()
        self._raised: int | None = 0
        self._lock = threading.Lock()
        self._background: Background | None = None
        self._playing: dict[Condition, asyncio.Task[Trial]] = {}

    @property
    def trials(self) -> Mapping[Any, Any]:
        """Every trial so far; one that was asked for and handed over is kept without its events."""
        return self._trials

    def run(self, condition: Condition, agent: Agent, phase: str = "fixed") -> Any:
        """Return the trial of ``condition``, running it unless it completed before: asking again retries an error."""
        self._asked.add(condition)
        known = self._trials.get(condition)
        if known is not None and known.completed:
            self._lighten(known)
            return known
        if not runs_in_background(agent):
            return self._run_inline(condition, agent, phase)
        background = self._start_background()
        if known is not None:
            background.forget(condition)
        trial: Trial = background.result(condition, lambda: self._trial(condition, agent, phase))
        return trial

    def search(self, task: Task, agent: Agent) -> Searched:
        """Run the adaptive search of ``task``, reusing what already ran (protocol, section 4).

        Returns what was found and the trials that the search itself ran. Within one search an error counts as run;
        searching the task again tries the errors of before once more.
        """
        if not runs_in_background(agent):
            return self._search_inline(task, agent)
        background = self._start_background()
        again = task.id in self._searched
        searched: Searched = background.result(task.id, lambda: self._search(task, agent, again))
        self._searched.add(task.id)
        background.forget(task.id)
        return searched

    def submit(self, wanted: Iterable[Condition | Task], agent: Agent) -> None:
        """Say what will be asked for: conditions, and tasks whose boundary will be searched. They begin early."""
        if not runs_in_background(agent) or self.stopped is not None:
            return
        self._start_background().expect(
            self._job(thing, agent)
            for thing in wanted
            if (thing.id not in self._searched if _is_task(thing) else thing not in self._trials)
        )

    def _job(self, wanted: Any, agent: Agent) -> tuple[Hashable, Job]:
        if _is_task(wanted):
            return wanted.id, lambda: self._search(wanted, agent, again=False)
        return wanted, lambda: self._trial(wanted, agent, "fixed")

    def take_finished(self) -> list[Any]:
        """Return the trials that finished since the last call, each once, in the order they finished.

        One that was also asked for is kept without its events, so that a long run does not fill the memory.
        """
        with self._lock:
            finished, self._finished = self._finished, []
        for trial in finished:
            self._handed_over.add(trial.condition)
            self._lighten(trial)
        return finished

    def _lighten(self, trial: Any) -> None:
        if trial.condition in self._handed_over and trial.condition in self._asked:
            with self._lock:
                self._trials[trial.condition] = dataclasses.replace(trial, events=[])
            if self._background is not None:
                self._background.forget(trial.condition)  # or its result would hold the events

    def close(self, grace: float = 0.0) -> None:
        """Drop what has not begun and cancel what is still running after ``grace`` seconds; finished trials stay
        available."""
        if self._background is not None:
            self._background.close(grace)
            self._background = None

    # Inline -----------------------------------------------------------------------------------------------------

    def _run_inline(self, condition: Condition, agent: Agent, phase: str) -> Any:
        rollout = self._rollout(condition, agent, phase)
        playing = rollout.play() if rollout.error is None else None
        if playing is None:
            return self._finish(rollout)
        background = self._start_background()
        background.forget(condition)
        trial: Trial = background.result(condition, lambda: self._wait(rollout, playing))
        return trial

    def _search_inline(self, task: Task, agent: Agent) -> Searched:
        ran: list[Trial] = []
        search = self._new_search(task, ran, again=task.id in self._searched)
        self._searched.add(task.id)
        while probe := search.next():
            ran.append(self.run(probe.condition, agent, probe.phase))
            search.feed(ran[-1])
        return search.result, ran

    # In the background ------------------------------------------------------------------------------------------

    def _start_background(self) -> Background:
        if self._background is None:
            self._background = Background(self.settings.concurrency)
        return self._background

    async def _trial(self, condition: Condition, agent: Agent, phase: str) -> Any:
        """Play a condition, or await the rollout of it that is already under way."""
        known = self._trials.get(condition)
        if known is not None and known.completed:
            return known
        if condition not in self._playing:
            self._playing[condition] = asyncio.ensure_future(self._play(condition, agent, phase))
        try:
            return await asyncio.shield(self._playing[condition])
        finally:
            playing = self._playing.get(condition)
            if playing is not None and playing.done():
                self._playing.pop(condition)

    async def _play(self, condition: Condition, agent: Agent, phase: str) -> Any:
        rollout = self._rollout(condition, agent, phase)
        playing = rollout.play() if rollout.error is None else None
        return await self._wait(rollout, playing)

    async def _wait(self, rollout: Rollout, playing: Awaitable[None] | None) -> Any:
        if playing is not None:
            await rollout.wait(playing)
        return self._finish(rollout)

    async def _search(self, task: Task, agent: Agent, again: bool) -> Searched:
        ran: list[Trial] = []
        search = self._new_search(task, ran, again)
        while probe := search.next():
            self._asked.add(probe.condition)
            ran.append(await self._trial(probe.condition, agent, probe.phase))
            search.feed(ran[-1])
        return search.result, ran

    # Both -------------------------------------------------------------------------------------------------------

    def _rollout(self, condition: Condition, agent: Agent, phase: str) -> Rollout:
        rollout = Rollout(self.suite, self.bank.task(condition.task), condition, phase, agent, self.settings)
        if self.stopped is not None:
            rollout.error = TrialError(self.stopped.kind, self.stopped.message)
        return rollout

    def _new_search(self, task: Task, ran: list[Trial], again: bool) -> Search:
        def lookup(condition: Condition) -> Trial | None:
            trial = self._trials.get(condition)
            old_error = again and trial is not None and not trial.completed
            return None if old_error and all(one.condition != condition for one in ran) else trial

        return self.suite.search(self.settings.search_seed, task, lookup)

    def _finish(self, rollout: Rollout) -> Any:
        trial = rollout.trial()
        with self._lock:
            self.stopped = self.stopped or rollout.fatal or self._hopeless(trial)
            self._trials[trial.condition] = trial
            if not _kept_from_beginning(trial):
                self._finished.append(trial)
        if self.stopped is not None and self._background is not None:
            self._background.clear()
        return trial

    def _hopeless(self, trial: Trial) -> InfrastructureError | None:
        """Return why nothing more is tried: an agent that raised at each of its first rollouts is not set up."""
        if trial.error is None or trial.error.kind != "agent":
            self._raised = None
        if self._raised is None or trial.error is None:
            return None
        self._raised += 1
        if self._raised < HOPELESS:
            return None
        text = f"the agent raised at each of its first {HOPELESS} rollouts: {_last_line(trial.error.message)}"
        return InfrastructureError("agent", text, fatal=True)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _kept_from_beginning(trial: Trial) -> bool:
    """Whether a limit was reached before anything was sent: then the trial is missing, and no error."""
    nothing = all(event["event"] == "goal" for event in trial.events)
    return nothing and trial.error is not None and trial.error.kind == LIMIT


def runs_in_background(agent: Agent) -> bool:
    """Whether the agent's ``play`` is a coroutine function; one that answers at once is faster without a loop."""
    return inspect.iscoroutinefunction(agent.play)


def _is_task(wanted: Any) -> bool:
    return not hasattr(wanted, "task")
