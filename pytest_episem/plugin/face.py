"""The session's face: ties choices, rollouts, items and records to pytest's hooks. Made only when asked for."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_episem.agents.proxies import bypass_locally
from pytest_episem.errors import EpisemError
from pytest_episem.garbage import keep_all, no_search, search_all
from pytest_episem.plugin import collect, estimate, neutral
from pytest_episem.plugin.agent_fixture import directory_node, overriding_directories, refusal, shown
from pytest_episem.plugin.ahead import NO_PREFETCH
from pytest_episem.plugin.choices import NO_AGENT, Choices, usage
from pytest_episem.plugin.ending import GOOD, Ending, ExitGuard
from pytest_episem.plugin.gate_category import GateCategory
from pytest_episem.plugin.judge import in_one_line
from pytest_episem.plugin.node_ids import ITEM, Collected, in_suite, name_of, unit_of
from pytest_episem.plugin.options import DIST_GIVEN, RUN, SPENDING, run_name, runs_nothing
from pytest_episem.plugin.progress import Progress
from pytest_episem.plugin.rollouts import Rollouts
from pytest_episem.plugin.run_log import RunLog
from pytest_episem.plugin.run_report import RunReport
from pytest_episem.plugin.shown import make_fit
from pytest_episem.plugin.terms import TERMS, check_start, check_terms, place, terms_of
from pytest_episem.plugin.worker_word import tell
from pytest_episem.runs.record import trial_from_json, trial_to_json
from pytest_episem.suite import suite
from pytest_episem.text import printable

if TYPE_CHECKING:
    from pytest_episem.plugin.gates import GateKeeper

NAME = "episem-face"
RECORDS = "episem_records"
FILE_OR_SCOPE: dict[str, Callable[[str], str]] = {
    "loadfile": lambda nodeid: nodeid.partition("::")[0],
    "loadscope": lambda nodeid: nodeid.rpartition("::")[0],
}
"""What xdist keeps on one worker with a test, by ``--dist``."""
LABEL_DUE = "episem_label_due"
RECORDED = "episem_recorded"


class Face:
    """Everything one pytest process knows of the run; the controller alone writes records and reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.choices = Choices(config)
        self.rollouts = Rollouts(self.choices, self._recorded)
        self.ending = Ending(config, self._settle)
        self._keeper: GateKeeper | None = None
        self._workers = 0
        self._names: dict[str, str] = {}
        self._refusal = ""
        self._directories: dict[Path, pytest.Collector] = {}

    @classmethod
    def of(cls, config: pytest.Config) -> Face:
        """Return the session's face; the first call makes, checks and registers it.

        Raises:
            pytest.UsageError: an option, the bank or the agent is wrong.
        """
        known = config.pluginmanager.get_plugin(NAME)
        if known is not None:
            return known  # type: ignore[no-any-return]
        search_all()
        face = cls(config)
        with usage(), no_search():
            face.choices.check()
            if face.worker_input is None:
                face.choices.check_node_ids()
                face.log.check()
            elif TERMS in face.worker_input:
                check_terms(face.worker_input[TERMS], face.terms)
            face._install_gates()
            estimate.install(face)
        neutral.install(config)
        bypass_locally(os.environ)
        keep_all()
        config.pluginmanager.register(face, NAME)
        return face

    def _install_gates(self) -> None:
        if self.worker_input is not None:
            self.config.pluginmanager.register(GateCategory(self.config))
            return
        from pytest_episem.plugin import gates

        self._keeper = gates.install(self)

    @functools.cached_property
    def log(self) -> RunLog:
        """The controller's record keeper."""
        return RunLog(self.choices)

    @functools.cached_property
    def report(self) -> RunReport:
        """The controller's reporter."""
        return RunReport(self.log)

    @functools.cached_property
    def terms(self) -> str:
        """What this process goes by, to be compared with the controller's."""
        choices = self.choices
        return terms_of(self.log.header(), [task for name in choices.suites for task in choices.tasks(name)])

    @functools.cached_property
    def progress(self) -> Progress:
        """Tells a watcher how far the run is."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        return Progress(reporter, lambda: self.log.items, lambda: self.log.spent)

    # Items ------------------------------------------------------------------------------------------------------

    def _wants_shipped(self) -> bool | None:
        """Whether what is shipped is collected; ``None`` where that hangs on the tests found (product: "Where the
        items come from")."""
        choice = self.choices.option("collect")
        if choice != "auto" or self.choices.wanted_ids is not None:
            return bool(choice != "off")
        given = self.config.args_source is pytest.Config.ArgsSource.ARGS
        only_files = given and all("::" in arg or Path(arg).is_file() for arg in self.config.args)
        return False if only_files else None

    def _wants(self, items: list[pytest.Item]) -> bool:
        """Whether what is shipped is collected: an agent is named, and no test found takes its place."""
        choices, own = self.choices, collect.own_tests(items)
        if own:
            return False
        if choices.names_agent:
            return True
        asked = self.config.getoption("episem_suite") is not None
        if asked and not overriding_directories(self.config):
            raise pytest.UsageError(NO_AGENT)
        return asked

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        wanted = self._wants_shipped()
        wanted = wanted if wanted is not None else self._wants(items)
        if not wanted:
            collect.add_boundaries(session, items, self.rollouts)
        home = self._home(session) if wanted else session
        items += session.genitems(collect.SuiteModule.under(home, self.rollouts if wanted else None))

    def _home(self, session: pytest.Session) -> pytest.Collector:
        """Return the directory whose ``conftest.py`` overrides ``episem_agent``, else the root: its agent plays."""
        found = overriding_directories(self.config)
        if len(found) > 1:
            files = [shown(directory / "conftest.py", self.config) for directory in found]
            self._refusal = (
                f"{files[0]} and {files[1]} both override episem_agent, and the shipped items have one agent: "
                "keep one, or take them on in a test of your own"
            )
        return directory_node(session, found[0], self._directories) if found else session

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Collect our module ourselves: ``--lf`` would drop it when another test failed too."""
        if isinstance(collector, pytest.Directory):
            self._directories[collector.path] = collector
        if not isinstance(collector, collect.SuiteModule):
            return None
        return pytest.CollectReport(collector.nodeid, "passed", None, list(collector.collect()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        found = Collected.of(session.items, lambda ours: self._refusal or refusal(ours, self.choices))
        self.rollouts.collected = {name for name in found.names if name}
        self.rollouts.variant = found.variants[0] if found.variants else ""
        due = self.log.label_due if self.worker_input is None else self.worker_input.get(LABEL_DUE)
        self.rollouts.label_due = due
        if self.worker_input is not None:
            if any(found.names):
                tell(self.worker_input, found.to_json())
        elif session.items:
            self.collected([item.nodeid for item in session.items], found)
        if all(map(in_suite, session.items)):
            keep_all()
        else:  # somebody else's tests may ask what the search finds
            search_all()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if self.worker_input is not None:
            neutral.name_process(item)

    def collected(self, nodeids: Sequence[str], found: Collected) -> None:
        """Take, in the controller, what was collected here or by a worker.

        Raises:
            pytest.UsageError: these items must not run.
        """
        self._names = {nodeid: name for nodeid, name in zip(nodeids, found.names, strict=True) if name}
        with usage():
            self.log.select(nodeids, found)

    # Workers ----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> Any:
        keep_together = None
        if config.stash.get(DIST_GIVEN, False):
            # By file or scope all of ours would be one, on one worker: keep to it for the tests of others.
            keep_together = FILE_OR_SCOPE.get(config.getoption("dist"))
            if keep_together is None:
                return None
        from pytest_episem.plugin.scheduler import PairScheduling

        def unit(nodeid: str) -> str | None:
            return unit_of(self._names.get(nodeid)) or (keep_together and keep_together(nodeid))

        return PairScheduling(config, 4 * self.choices.settings.concurrency, unit)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        self._workers += 1
        node.workerinput[RUN] = self.log.run
        node.workerinput[TERMS] = self.terms
        node.workerinput[SPENDING] = run_name(self.config)
        node.workerinput[NO_PREFETCH] = self._workers > len(node.nodemanager.specs)
        node.workerinput[LABEL_DUE] = self.log.label_due
        node.workerinput[RECORDED] = self._lines(self.log.recorded.values(), self.log.run)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        with usage():
            self.log.add_lines(getattr(node, "workeroutput", {}).get(RECORDS, ""))
        check_start(node, error)

    # Records ----------------------------------------------------------------------------------------------------

    def _recorded(self) -> list[Any]:
        """What an earlier session of a resumed run completed; the controller tells its workers."""
        if self.worker_input is None:
            return list(self.log.recorded.values())
        return [trial_from_json(line) for line in self.worker_input.get(RECORDED, "").splitlines()]

    def _lines(self, trials: Iterable[Any], run: str) -> str:
        label = self.rollouts.label or self.choices.label
        return "\n".join(trial_to_json(trial, run, label) for trial in trials)

    def _wire(self) -> str:
        """Return the records of the trials that finished since the last call, one JSON object a line."""
        assert self.worker_input is not None
        return self._lines(self.rollouts.take_finished(), self.worker_input[RUN])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report = yield
        name = name_of(item)
        if name is not None:
            setattr(report, ITEM, name)
            if call.excinfo is not None:
                in_one_line(report, call.excinfo.value)
        if (call.excinfo is not None or report.sections) and neutral.plays(item):
            make_fit(report)
        if self.worker_input is not None:
            records = self._wire()
            if records:
                setattr(report, RECORDS, records)
            if TERMS not in self.worker_input:
                self.worker_input[TERMS] = self.terms
                setattr(report, TERMS, self.terms)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if self.worker_input is not None:
            return
        self._log_finished()
        self._check_worker(report)
        with usage():
            self.log.add_lines(report.__dict__.pop(RECORDS, ""))
        if report.when == "???" and report.nodeid in self._names:
            setattr(report, ITEM, self._names[report.nodeid])
            self.log.add_crash(self._names[report.nodeid], str(report.longrepr))
        self._stop_if_unwritable()

    def _stop_if_unwritable(self) -> None:
        """Let nothing more be played, and paid for, that cannot be recorded."""
        for name in ("session", "dsession") if self.log.unwritable else ():
            plugin: Any = self.config.pluginmanager.get_plugin(name)
            if plugin is not None and not plugin.shouldstop:
                plugin.shouldstop = printable(self.log.unwritable)

    def _check_worker(self, report: Any) -> None:
        terms = report.__dict__.pop(TERMS, None)
        if terms is not None:
            try:
                check_terms(self.terms, terms)
            except EpisemError as error:
                raise pytest.UsageError(f"{place(report.node)}: {error}") from None

    def _log_finished(self) -> None:
        finished = self.rollouts.take_finished()
        if finished and self.rollouts.label is not None:
            self.log.played(self.rollouts.label)
        for trial in finished:
            self.log.add(trial)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self.worker_input is None and nodeid in self._names:
            self.progress.step()

    # The end ----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        if self.worker_input is not None:
            return (yield)
        try:
            with ExitGuard(self.config, self._last_words):
                return (yield)
        finally:
            self.ending.watch()

    def pytest_keyboard_interrupt(self) -> None:
        self._watch_controller()

    def pytest_internalerror(self) -> None:
        self._watch_controller()

    def _watch_controller(self) -> None:
        if self.worker_input is None:
            self.ending.watch()

    def _last_words(self, reason: str) -> str:
        """Return what is said of a process that somebody ends on the spot."""
        if self._keeper is not None and self._keeper.decides:
            return self._keeper.ended(reason)
        return f"episem: {reason}; the run is incomplete"

    def _settle(self, session: pytest.Session) -> None:
        """Decide the exit code: the gates want every record, and no condition may lack one."""
        try:
            self._take_last()
        finally:
            self._note_end(session)
            if self._keeper is not None:
                self._keeper.settle(session)
            self._refuse_missing(session)

    def _refuse_missing(self, session: pytest.Session) -> None:
        if session.exitstatus in GOOD and not runs_nothing(self.config) and (self.log.missing() or self.log.unwritable):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        if self.worker_input is not None:
            self.rollouts.close()
            self.config.workeroutput[RECORDS] = self._wire()  # type: ignore[attr-defined]
            self._close_spending()
            return (yield)
        self.ending.settle(session)
        try:
            return (yield)
        finally:
            self._take_last()
            self._note_end(session)
            self.log.close()
            self.report.close()
            self._close_spending()
            self._refuse_missing(session)  # somebody may have set it back

    def _note_end(self, session: pytest.Session) -> None:
        """Write into the run how the session ended, so that whoever reads its records later comes to its verdict."""
        if not runs_nothing(self.config):
            self.log.end(self._complaints(session) if self._keeper is None else self._keeper.complaints(session))

    def _complaints(self, session: pytest.Session) -> list[str]:
        """What a session of the workflow suite alone, which has no gates, says against its records."""
        stopped = session.shouldstop or session.shouldfail
        if not stopped and session.exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR):
            stopped = "interrupted"
        return list(dict.fromkeys([*self.log.complaints(), *([printable(stopped)] if stopped else [])]))

    def pytest_unconfigure(self) -> None:
        if self.worker_input is None:
            self.log.close()

    def _close_spending(self) -> None:
        if self.choices.spending is not None:
            self.choices.spending.close(remove=self.worker_input is None)

    def _take_last(self) -> None:
        self.rollouts.close()
        self._log_finished()

    def pytest_report_header(self) -> list[str]:
        choices, lines = self.choices, []
        if choices.option("max-cost") is not None and not choices.model:
            lines.append("episem: --episem-max-cost knows of your agent what it tells with usage(cost_usd=…)")
        for name in choices.suites:
            bank = choices.bank(name)
            said = f"{choices.label}, bank {bank.name} {bank.version} ({len(bank.tasks)} {suite(name).many})"
            prefix = "episem" if name == "evidence" else f"episem {name}"
            lines.append(f"{prefix}: {', '.join([said, *suite(name).told(choices.option)])}")
        if (choices.model or "").startswith("ollama/"):
            lines.append(
                "episem: ollama/… describes the tools in a prompt; ollama_chat/… gives the model its own tools"
            )
        return lines

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Print our summary last: behind a long list of failures nobody would find it.

        For each failure pytest looks through all reports of set-ups and tear-downs for output to show, which takes
        longer than the rest of the run where thousands fail; so those that hold none are taken out.
        """
        stats = terminalreporter.stats
        stats[""] = [report for report in stats.get("", []) if getattr(report, "sections", True)]
        yield
        if self.worker_input is None:
            self.report.show(terminalreporter)
