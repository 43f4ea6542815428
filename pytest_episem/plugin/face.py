"""The session's face: ties bank, runner, items and records to pytest's hooks. Made only when asked for."""

from __future__ import annotations

import contextlib
import functools
import shlex
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.agents import PREFIX, Agent, as_agent, import_agent, known_agent
from pytest_episem.bank import Bank, Task, open_banks
from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.plugin import collect, estimate, gates
from pytest_episem.plugin.ahead import NO_PREFETCH, upcoming
from pytest_episem.plugin.judge import ConditionFailed, NoVerdict, Oracle
from pytest_episem.plugin.options import DIST_GIVEN, RUN, SUITE_ID, names_suite, runs_nothing, value
from pytest_episem.plugin.progress import Progress
from pytest_episem.plugin.run_log import RunLog, parse_item
from pytest_episem.protocol.condition import Condition
from pytest_episem.protocol.plan import fixed_conditions
from pytest_episem.protocol.rollout import RunSettings, TrialWorld
from pytest_episem.protocol.runner import Runner, runs_in_background
from pytest_episem.protocol.selection import Shard, sample
from pytest_episem.protocol.trial import Trial
from pytest_episem.records.store import trial_from_json, trial_to_json
from pytest_episem.report.failure import fault

NAME = "episem-face"
RECORDS = "episem_records"


@contextlib.contextmanager
def usage() -> Iterator[None]:
    """Turn a fault the user can mend into pytest's usage error: one line, exit code 4."""
    try:
        yield
    except EpisemError as error:
        raise pytest.UsageError(str(error)) from None


class Face:
    """Everything one pytest process knows of the run; the controller alone writes records and reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.oracle = Oracle(lambda: self.bank, self.rerun_command, lambda: self.option("bank"))
        self.wanted_ids = self._take_node_ids()
        self._searched: dict[str, list[Trial]] = {}
        self._agent_given: Any = self
        self._looked_ahead = False
        self._workers = 0
        self._agent_playing: Agent
        self._collected: set[str] = set()

    @classmethod
    def of(cls, config: pytest.Config) -> Face:
        """Return the session's face; the first call makes, checks and registers it.

        Raises:
            pytest.UsageError: an option, the bank or the agent is wrong.
        """
        known = config.pluginmanager.get_plugin(NAME)
        if known is not None:
            return known  # type: ignore[no-any-return]
        face = cls(config)
        with usage():
            face.check_options()
            gates.install(face)
            estimate.install(face)
        config.pluginmanager.register(face, NAME)
        return face

    # What the options say ---------------------------------------------------------------------------------------

    def option(self, name: str) -> Any:
        return value(self.config, name)

    def check_options(self) -> None:
        """Raise ``EpisemError`` or ``UsageError`` for whatever is wrong before anything runs."""
        model, agent = self.option("model"), self.option("agent")
        if model and agent:
            raise EpisemError("give --episem-model or --episem-agent, not both")
        for name, least in (("repeats", 1), ("concurrency", 1), ("turn-limit", 1)):
            if self.option(name) is not None and self.option(name) < least:
                raise EpisemError(f"--episem-{name} must be at least {least}, not {self.option(name)}")
        if not self.option("timeout") > 0:
            raise EpisemError(f"--episem-timeout must be more than 0 seconds, not {self.option('timeout')}")
        if self.config.getoption("dist", "no") == "each":
            raise EpisemError("--dist each would run every condition on every worker; leave it out")
        _ = self.tasks, self.settings
        if model or agent:
            self.chosen_agent()
        if self.worker_input is None:
            self._check_node_ids()
            self.log.check()

    def _check_node_ids(self) -> None:
        if not self.wanted_ids:
            return
        for wanted in self.wanted_ids:
            near = [task for task in self.tasks.values() if self._concerns(wanted, task)]
            names = {*self.conditions, *(f"{task.id}/{collect.BOUNDARY}" for task in near if self.has_boundary)}
            if wanted not in names and not any(name.startswith(f"{wanted}/") for name in names):
                raise UnknownName("item", wanted, names or self.tasks)

    @functools.cached_property
    def bank(self) -> Bank:
        """The bank of the run."""
        return open_banks(self.option("bank"), self.config.invocation_params.dir)

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks the ``--episem-*`` options leave in, in the bank's order."""
        return self._chosen[0]

    @property
    def other_shards(self) -> list[str]:
        """The tasks that the other shards of this run have."""
        return self._chosen[1]

    @functools.cached_property
    def _chosen(self) -> tuple[dict[str, Task], list[str]]:
        tasks, size, shard = self._listed(), self.option("sample"), self.option("shard")
        if size is not None:
            kept = sample(list(tasks.values()), size)
            tasks = {name: task for name, task in tasks.items() if name in kept}
        if shard is None:
            return tasks, []
        kept = Shard.parse(shard).choose(list(tasks.values()))
        return {name: task for name, task in tasks.items() if name in kept}, [n for n in tasks if n not in kept]

    def _listed(self) -> dict[str, Task]:
        listed = self.option("tasks")
        if listed is None:
            return dict(self.bank.tasks)
        try:
            lines = Path(listed).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise EpisemError(f"--episem-tasks {listed}: cannot be read: {error}") from None
        wanted = [line.split("#", 1)[0].strip() for line in lines]
        tasks = {name: self.bank.task(name) for name in wanted if name}
        if not tasks:
            raise EpisemError(f"--episem-tasks {listed}: lists no task")
        return {name: task for name, task in self.bank.tasks.items() if name in tasks}

    @functools.cached_property
    def settings(self) -> RunSettings:
        """What every rollout of the run shares."""
        text = RunSettings().instruction
        file = self.option("instruction")
        if file is not None:
            try:
                text = Path(file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise EpisemError(f"--episem-instruction {file}: cannot be read: {error}") from None
        return RunSettings(
            instruction=text,
            turn_limit=self.option("turn-limit"),
            timeout=self.option("timeout"),
            concurrency=self.option("concurrency"),
            search_seed=self.option("seed"),
        )

    @functools.cached_property
    def runner(self) -> Runner:
        """The process's runner, with what an earlier session of a resumed run completed."""
        recorded: list[Trial] = []
        if self.worker_input is not None:
            recorded = [trial_from_json(line) for line in self.worker_input.get("episem_recorded", "").splitlines()]
        else:
            recorded = list(self.log.recorded.values())
        return Runner(self.bank, self.settings, {trial.condition: trial for trial in recorded})

    @functools.cached_property
    def log(self) -> RunLog:
        """The controller's record keeper."""
        return RunLog(self)

    @functools.cached_property
    def progress(self) -> Progress:
        """Tells a watcher how far the run is."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        return Progress(reporter, lambda: self.log.items, lambda: self.log.spent)

    @property
    def label(self) -> str:
        """The name of the agent under test in records and reports."""
        return str(self.option("model") or self.option("agent") or "episem_agent fixture")

    def chosen_agent(self) -> Agent:
        """Return the agent that the command line names."""
        model, spec = self.option("model"), self.option("agent")
        with usage():
            if spec:
                return import_agent(spec, (self.config.invocation_params.dir, self.config.rootpath))
            if not model:
                raise EpisemError("no agent under test: give --episem-model, --episem-agent or override episem_agent")
            if model.startswith(PREFIX):
                return known_agent(model)
            return self._model_agent(model)

    def _model_agent(self, model: str) -> Agent:
        from pytest_episem.agents.model import ModelAgent, check_model_name, checked_model_args

        arguments, api_base = checked_model_args(self.option("model-args")), self.option("api-base")
        if self.worker_input is None:
            check_model_name(model, api_base)
        return ModelAgent(model, arguments, api_base)

    # Items ------------------------------------------------------------------------------------------------------

    @property
    def has_boundary(self) -> bool:
        """Whether the selected settings leave the boundary search in."""
        wanted = self.option("setting")
        return not wanted or {"full", "se"} <= set(wanted)

    def plan(self) -> Iterator[tuple[Task, list[Condition]]]:
        """Yield each selected task with its fixed conditions."""
        wanted = set(self.option("setting"))
        repeats, audit = self.option("repeats"), self.option("full-audit")
        for task in self.tasks.values():
            if self.wanted_ids and not any(self._concerns(wanted, task) for wanted in self.wanted_ids):
                continue
            conditions = fixed_conditions(task.id, task.critical, task.irrelevant, repeats, audit)
            yield task, [c for c in conditions if not wanted or c.setting in wanted]

    @staticmethod
    def _concerns(wanted: str, task: Task) -> bool:
        return f"{task.id}/".startswith(f"{wanted}/") or wanted.startswith(f"{task.id}/")

    @functools.cached_property
    def conditions(self) -> dict[str, Condition]:
        """The selected fixed conditions by id."""
        return {condition.id: condition for _, conditions in self.plan() for condition in conditions}

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Give a test of the user's own one item a condition."""
        collect.parametrize(metafunc, self)

    def _take_node_ids(self) -> list[str] | None:
        """Take ``episem`` and ``episem::…`` off the arguments, where pytest would look for files of that name."""
        config = self.config
        taken = [arg for arg in config.args if names_suite(arg, config)]
        if not taken:
            return None
        config.args[:] = [arg for arg in config.args if arg not in taken]
        names = [arg.partition("::")[2] for arg in taken]
        return [] if "" in names else names

    def wants_suite(self, items: list[pytest.Item]) -> bool:
        """Whether the shipped suite is collected beside ``items`` (product: "Where the items come from")."""
        choice = self.option("collect")
        if choice != "auto" or self.wanted_ids is not None:
            return bool(choice != "off")
        given = self.config.args_source is pytest.Config.ArgsSource.ARGS
        only_files = given and all("::" in arg or Path(arg).is_file() for arg in self.config.args)
        named = self.option("model") or self.option("agent")
        return bool(named) and not only_files and not collect.own_tests(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        if self.wants_suite(items):
            module = collect.SuiteModule.from_parent(session, path=self.config.rootpath, name=SUITE_ID, nodeid=SUITE_ID)
            module.face = self
            items += self._only_wanted(list(session.genitems(module)))
        else:
            collect.add_boundaries(items, self)

    def _only_wanted(self, items: list[pytest.Item]) -> list[pytest.Item]:
        if not self.wanted_ids:
            return items
        return [
            item
            for item in items
            if any(item.name == wanted or item.name.startswith(f"{wanted}/") for wanted in self.wanted_ids)
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Collect our module ourselves: ``--lf`` would drop it when another test failed too."""
        if not isinstance(collector, collect.SuiteModule):
            return None
        return pytest.CollectReport(collector.nodeid, "passed", None, list(collector.collect()))

    # Rollouts ---------------------------------------------------------------------------------------------------

    def world(self, condition: Condition) -> TrialWorld:
        """Return the fresh world of ``condition``."""
        return TrialWorld(self.bank.task(condition.task), condition)

    def player(self, agent: Any) -> Callable[[TrialWorld], Trial]:
        """Return the function that lets ``agent`` play a world."""

        def run(world: TrialWorld) -> Trial:
            __tracebackhide__ = True
            return self.rollout(world.condition, agent)

        return run

    def look_ahead(self, item: pytest.Item, agent: Any) -> None:
        """Let the rollouts of the items behind ``item`` begin, where they may share its agent."""
        playing = self._playing(agent)
        if not runs_in_background(playing) or (self._looked_ahead and self.worker_input is None):
            return
        self._looked_ahead = True
        self.runner.submit(upcoming(self, item), playing)

    def rollout(self, condition: Condition, agent: Any) -> Trial:
        """Return the trial of ``condition``, letting ``agent`` play it unless it ran already.

        Raises:
            NoVerdict: the trial has no outcome.
        """
        __tracebackhide__ = True
        trial = self.runner.run(condition, self._playing(agent))
        self._stop_if_hopeless()
        if trial.error is not None:
            raise NoVerdict(trial)
        return trial

    def search(self, task_id: str, agent: Any) -> list[Trial]:
        """Run one task's boundary search and return the trials that it ran itself, also when asked again.

        Raises:
            NoVerdict: an error left the boundary undefined.
        """
        __tracebackhide__ = True
        if task_id not in self._searched:
            _, ran = self.runner.search(self.bank.task(task_id), self._playing(agent))
            self._stop_if_hopeless()
            errors = [trial for trial in ran if trial.error is not None]
            if errors:
                raise NoVerdict(errors[0])
            self._searched[task_id] = ran
        return self._searched[task_id]

    def check_probes(self, probes: list[Trial]) -> None:
        """Fail if a trial that a search ran itself counts against a metric, unless an item of its own says so.

        Raises:
            ConditionFailed: with the failing probes' texts.
        """
        __tracebackhide__ = True
        failing = [trial for trial in probes if fault(trial) and trial.condition.id not in self._collected]
        if failing:
            raise ConditionFailed("\n\n".join(self.oracle.explain(trial) for trial in failing))

    def _playing(self, agent: Any) -> Agent:
        if agent is not self._agent_given:
            with usage():
                self._agent_playing = as_agent(agent)
            self._agent_given = agent
        return self._agent_playing

    def _stop_if_hopeless(self) -> None:
        if self.runner.stopped is not None:
            pytest.exit(f"episem: {self.runner.stopped.message}", returncode=pytest.ExitCode.USAGE_ERROR)

    def rerun_command(self, trial: Trial) -> str:
        """Return the command that runs this condition's item, or its task's boundary item, again."""
        condition = trial.condition
        name = condition.id if trial.phase == "fixed" else f"{condition.task}/{collect.BOUNDARY}"
        flag = "model" if self.option("model") else "agent" if self.option("agent") else None
        agent = [f"--episem-{flag}={self.option(flag)}"] if flag else []
        banks = [f"--episem-bank={bank}" for bank in self.option("bank")]
        return shlex.join(["pytest", *banks, *agent, f"{SUITE_ID}::{name}"])

    # Records ----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        if self.worker_input is not None:
            records = self._wire()
            if records:
                setattr(report, RECORDS, records)
        return report

    def _finished(self) -> list[Trial]:
        return self.runner.take_finished() if "runner" in self.__dict__ else []

    def _wire(self) -> str:
        """Return the records of the trials that finished since the last call, one JSON object a line."""
        assert self.worker_input is not None
        run = self.worker_input[RUN]
        return "\n".join(trial_to_json(trial, run, self.label) for trial in self._finished())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if self.worker_input is not None:
            return
        for trial in self._finished():
            self.log.add(trial)
        self.log.add_lines(report.__dict__.pop(RECORDS, ""))
        if report.when == "???":
            self.log.add_crash(report.nodeid, str(report.longrepr))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self.worker_input is None and parse_item(nodeid):
            self.progress.step()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        found = (parse_item(item.nodeid) for item in session.items)
        self._collected = {"/".join(parts) for parts in found if parts}
        if self.worker_input is None and session.items:
            with usage():
                self.log.select([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        with usage():
            self.log.select(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> Any:
        if config.stash.get(DIST_GIVEN, False):
            return None
        from pytest_episem.plugin.scheduler import PairScheduling

        return PairScheduling(config, ahead=4 * self.settings.concurrency)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[RUN] = self.log.run
        self._workers += 1
        node.workerinput[NO_PREFETCH] = self._workers > len(node.nodemanager.specs)
        node.workerinput["episem_recorded"] = "\n".join(
            trial_to_json(trial, self.log.run, self.label) for trial in self.log.recorded.values()
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.log.add_lines(getattr(node, "workeroutput", {}).get(RECORDS, ""))

    # The end ----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        if self.worker_input is not None:
            self._close_runner()
            self.config.workeroutput[RECORDS] = self._wire()  # type: ignore[attr-defined]
            return (yield)
        self._take_last()  # the gates, next in line, want every record
        try:
            return (yield)
        finally:
            self._take_last()
            self.log.close()
            good = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
            if good and not runs_nothing(self.config) and self.log.missing():
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _take_last(self) -> None:
        self._close_runner()
        for trial in self._finished():
            self.log.add(trial)

    def _close_runner(self) -> None:
        if "runner" in self.__dict__:
            self.runner.close()

    def pytest_report_header(self) -> list[str]:
        bank = self.bank
        return [f"episem: {self.label}, bank {bank.name} {bank.version} ({len(bank.tasks)} pairs)"]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Print our summary last: behind a long list of failures nobody would find it."""
        yield
        if self.worker_input is None:
            self.log.show(terminalreporter)
