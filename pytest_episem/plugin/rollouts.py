"""The rollouts of one pytest process: what items and fixtures ask for, one runner behind them."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from pytest_episem.agents import Agent, as_agent
from pytest_episem.agents.spending import LIMIT
from pytest_episem.plugin.ahead import upcoming
from pytest_episem.plugin.choices import Choices, usage
from pytest_episem.plugin.judge import Explained, NoVerdict, Oracle
from pytest_episem.plugin.node_ids import BOUNDARY
from pytest_episem.plugin.options import SUITE_ID, runs_nothing
from pytest_episem.runs.runner import Runner, runs_in_background
from pytest_episem.runs.trial import Trial
from pytest_episem.scrub import fit_to_print
from pytest_episem.suite import suite
from pytest_episem.text import escaped, printable

_GRACE = 60.0
"""Seconds that requests in flight are waited for when nothing more may be sent."""


class Rollouts:
    """Runs conditions and boundary searches, each once.

    ``recorded`` gives the trials that an earlier session of a resumed run completed.
    """

    def __init__(self, choices: Choices, recorded: Callable[[], list[Any]]) -> None:
        self.choices = choices
        self.collected: set[str] = set()
        """The names of the items collected here; a probe among them is judged by its own item."""
        self.oracle = Oracle(self._task_of, self.rerun_command, lambda: choices.banks, self._objections)
        self._recorded = recorded
        self._searched: dict[tuple[str, str], Explained | None] = {}
        self._runners: dict[str, Runner] = {}
        self._agent_given: Any = self
        self._looked_ahead = False
        self._agent_playing: Agent
        self.variant = ""
        """The parameters, beside the condition, of the tests collected here."""
        self.label: str | None = None
        """The name of the agent that played here; ``None`` as long as none did."""
        self.label_due: str | None = None
        """The name of the agent of the run that is resumed."""

    def runner(self, suite_name: str) -> Runner:
        """Return the process's runner of a suite."""
        if suite_name not in self._runners:
            bank = self.choices.bank(suite_name)
            self._runners[suite_name] = Runner(bank, self.choices.settings, self._done.get(suite_name))
        return self._runners[suite_name]

    @functools.cached_property
    def _done(self) -> dict[str, dict[Any, Any]]:
        """What an earlier session completed, by suite."""
        done: dict[str, dict[Any, Any]] = {}
        for trial in self._recorded():
            done.setdefault(trial.condition.suite, {})[trial.condition] = trial
        return done

    def task(self, suite_name: str, task_id: str) -> Any:
        """Return a task of a suite."""
        return self.choices.bank(suite_name).task(task_id)

    def _task_of(self, condition: Any) -> Any:
        return self.task(condition.suite, condition.task)

    def world(self, condition: Any) -> Any:
        """Return the fresh world of ``condition``."""
        return suite(condition.suite).start(self._task_of(condition), condition)

    def player(self, agent: Any) -> Callable[[Any], Trial]:
        """Return the function that lets ``agent`` play a world."""

        def run(world: Any) -> Trial:
            __tracebackhide__ = True
            return self.rollout(world.condition, agent)

        return run

    def look_ahead(self, item: pytest.Item, agent: Any) -> None:
        """Let the rollouts of the items behind ``item`` begin, where they may share its agent."""
        if runs_nothing(self.choices.config):
            return
        playing = self._playing(agent)
        if not runs_in_background(playing) or (self._looked_ahead and not self.choices.in_worker):
            return
        self._looked_ahead = True
        wanted: dict[str, list[Any]] = {}
        for name, thing in upcoming(item, self.task):
            wanted.setdefault(name, []).append(thing)
        for name, things in wanted.items():
            self.runner(name).submit(things, playing)

    def rollout(self, condition: Any, agent: Any) -> Trial:
        """Return the trial of ``condition``, letting ``agent`` play it unless it ran already.

        Raises:
            NoVerdict: the trial has no outcome.
        """
        __tracebackhide__ = True
        self._play_nothing_where_none_is_run()
        runner = self.runner(condition.suite)
        trial: Trial = runner.run(condition, self._playing(agent))
        self._stop_if_hopeless(runner)
        if trial.error is not None:
            raise NoVerdict(trial)
        return trial

    def search(self, suite_name: str, task_id: str, agent: Any) -> Explained | None:
        """Run one task's boundary search and return how its probes fail, also when asked again; ``None``: they do not.

        A probe fails as a fixed condition does: if it counts against a metric, unless an item of its own says so.

        Raises:
            NoVerdict: an error left the boundary undefined.
        """
        __tracebackhide__ = True
        key = suite_name, task_id
        if key not in self._searched:
            runner = self.runner(suite_name)
            found, ran = runner.search(self.task(*key), self._playing(agent))
            self._stop_if_hopeless(runner)
            errors = [trial for trial in ran if trial.error is not None]
            if not found.complete:  # the error may be of a fixed condition, which ran elsewhere
                errors += [trial for trial in runner.trials.values() if _failed_in(trial, task_id)]
            if errors:
                raise NoVerdict(errors[0])
            own = [trial for trial in ran if trial.condition.id not in self.collected]
            self._searched[key] = self.oracle.failure(own)
        return self._searched[key]

    def _objections(self, trial: Any) -> list[str]:
        config, name = self.choices.config, trial.condition.id
        found = config.hook.pytest_episem_judge(config=config, trial=trial)
        return [f"{name}: " + "\n".join(map(escaped, str(text).splitlines())) for text in found if text]

    def take_finished(self) -> list[Any]:
        """Return the trials that finished since the last call."""
        return [trial for runner in self._runners.values() for trial in runner.take_finished()]

    def close(self) -> None:
        """Stop what still runs; after a limit was reached only when the answers that are paid for had time to come."""
        spending = self.choices.spending if self._runners else None
        if spending is not None:
            spending.look()
        for runner in self._runners.values():
            runner.close(_GRACE if spending is not None and spending.refused else 0.0)

    def rerun_command(self, trial: Any) -> str:
        """Return the command that runs this condition's item, or its task's boundary item, again."""
        condition, option = trial.condition, self.choices.option
        name = condition.id if trial.phase == "fixed" else f"{condition.task}/{BOUNDARY}"
        agent = [f"--episem-model={self.choices.model}"] if self.choices.model else []
        agent += [f"--episem-{kind}={option(kind)}" for kind in ("agent", "controller") if option(kind)]
        banks = [f"--episem-bank={bank}" for bank in self.choices.bank_options]
        chosen = suite(condition.suite).rerun_options(condition)
        return shlex.join(["pytest", *chosen, *banks, *agent, f"{SUITE_ID}::{name}"])

    def _playing(self, agent: Any) -> Agent:
        if agent is not self._agent_given:
            with usage():
                self._agent_playing = as_agent(agent)
            self._name(agent)
            self._agent_given = agent
        return self._agent_playing

    def _play_nothing_where_none_is_run(self) -> None:
        looking = runs_nothing(self.choices.config)
        if looking:
            pytest.skip(f"{looking} plays nothing")

    def _name(self, agent: Any) -> None:
        """Take the name of the agent that plays; no other may follow it."""
        label = self.choices.label_of(agent, self.variant)
        due = self.label_due or self.label or label
        if label != due:
            run = "the run that is resumed is of" if self.label_due else "and before it played"
            pytest.exit(f"episem: {label} plays, {run} {due}", returncode=pytest.ExitCode.USAGE_ERROR)
        self.label = label

    def _stop_if_hopeless(self, runner: Runner) -> None:
        """End the run if nothing more can succeed: at once, or behind an item whose error shows the agent's traceback,
        or when a limit was reached, where nothing is wrong.

        A worker can only ask for it.
        """
        stopped = runner.stopped
        if stopped is None:
            return
        if stopped.kind not in ("agent", LIMIT) and not self.choices.in_worker:
            pytest.exit(fit_to_print(f"episem: {stopped.message}"), returncode=pytest.ExitCode.USAGE_ERROR)
        if stopped.kind == LIMIT:
            self.close()  # here, and not while pytest draws the end: what is paid for comes in first
        session: Any = self.choices.config.pluginmanager.get_plugin("session")
        reason = fit_to_print(stopped.message if stopped.kind == LIMIT else f"episem: {stopped.message}")
        session.shouldstop = session.shouldstop or printable(reason)


def _failed_in(trial: Any, task_id: str) -> bool:
    return trial.condition.task == task_id and trial.error is not None
