"""The session's face: ties choices, rollouts, items and records to pytest's hooks. Made only when asked for."""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.plugin import collect, estimate, gates
from pytest_episem.plugin.ahead import NO_PREFETCH
from pytest_episem.plugin.choices import Choices, usage
from pytest_episem.plugin.options import DIST_GIVEN, RUN, SUITE_ID, runs_nothing
from pytest_episem.plugin.progress import Progress
from pytest_episem.plugin.rollouts import Rollouts
from pytest_episem.plugin.run_log import RunLog, parse_item
from pytest_episem.protocol.trial import Trial
from pytest_episem.records.store import trial_from_json, trial_to_json

NAME = "episem-face"
RECORDS = "episem_records"
RECORDED = "episem_recorded"


class Face:
    """Everything one pytest process knows of the run; the controller alone writes records and reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.choices = Choices(config)
        self.rollouts = Rollouts(self.choices, self._recorded)
        self._workers = 0

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
            face.choices.check()
            if face.worker_input is None:
                face.log.check()
            gates.install(face)
            estimate.install(face)
        config.pluginmanager.register(face, NAME)
        return face

    @functools.cached_property
    def log(self) -> RunLog:
        """The controller's record keeper."""
        return RunLog(self.choices)

    @functools.cached_property
    def progress(self) -> Progress:
        """Tells a watcher how far the run is."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        return Progress(reporter, lambda: self.log.items, lambda: self.log.spent)

    # Items ------------------------------------------------------------------------------------------------------

    def wants_suite(self, items: list[pytest.Item]) -> bool:
        """Whether the shipped suite is collected beside ``items`` (product: "Where the items come from")."""
        option = self.choices.option
        choice = option("collect")
        if choice != "auto" or self.choices.wanted_ids is not None:
            return bool(choice != "off")
        given = self.config.args_source is pytest.Config.ArgsSource.ARGS
        only_files = given and all("::" in arg or Path(arg).is_file() for arg in self.config.args)
        return bool(option("model") or option("agent")) and not only_files and not collect.own_tests(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        if self.wants_suite(items):
            module = collect.SuiteModule.from_parent(session, path=self.config.rootpath, name=SUITE_ID, nodeid=SUITE_ID)
            module.rollouts = self.rollouts
            items += [item for item in session.genitems(module) if self.choices.wants(item.name)]
        else:
            collect.add_boundaries(items, self.rollouts)

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Collect our module ourselves: ``--lf`` would drop it when another test failed too."""
        if not isinstance(collector, collect.SuiteModule):
            return None
        return pytest.CollectReport(collector.nodeid, "passed", None, list(collector.collect()))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        found = (parse_item(item.nodeid) for item in session.items)
        self.rollouts.collected = {"/".join(parts) for parts in found if parts}
        if self.worker_input is None and session.items:
            with usage():
                self.log.select([item.nodeid for item in session.items])

    # Workers ----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> Any:
        if config.stash.get(DIST_GIVEN, False):
            return None
        from pytest_episem.plugin.scheduler import PairScheduling

        return PairScheduling(config, ahead=4 * self.choices.settings.concurrency)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        self._workers += 1
        node.workerinput[RUN] = self.log.run
        node.workerinput[NO_PREFETCH] = self._workers > len(node.nodemanager.specs)
        node.workerinput[RECORDED] = self._lines(self.log.recorded.values(), self.log.run)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        with usage():
            self.log.select(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.log.add_lines(getattr(node, "workeroutput", {}).get(RECORDS, ""))

    # Records ----------------------------------------------------------------------------------------------------

    def _recorded(self) -> list[Trial]:
        """What an earlier session of a resumed run completed; the controller tells its workers."""
        if self.worker_input is None:
            return list(self.log.recorded.values())
        return [trial_from_json(line) for line in self.worker_input.get(RECORDED, "").splitlines()]

    def _lines(self, trials: Iterable[Trial], run: str) -> str:
        return "\n".join(trial_to_json(trial, run, self.choices.label) for trial in trials)

    def _wire(self) -> str:
        """Return the records of the trials that finished since the last call, one JSON object a line."""
        assert self.worker_input is not None
        return self._lines(self.rollouts.take_finished(), self.worker_input[RUN])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        if self.worker_input is not None:
            records = self._wire()
            if records:
                setattr(report, RECORDS, records)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if self.worker_input is not None:
            return
        self._log_finished()
        self.log.add_lines(report.__dict__.pop(RECORDS, ""))
        if report.when == "???":
            self.log.add_crash(report.nodeid, str(report.longrepr))

    def _log_finished(self) -> None:
        for trial in self.rollouts.take_finished():
            self.log.add(trial)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self.worker_input is None and parse_item(nodeid):
            self.progress.step()

    # The end ----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        if self.worker_input is not None:
            self.rollouts.close()
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
        self.rollouts.close()
        self._log_finished()

    def pytest_report_header(self) -> list[str]:
        bank = self.choices.bank
        return [f"episem: {self.choices.label}, bank {bank.name} {bank.version} ({len(bank.tasks)} pairs)"]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Print our summary last: behind a long list of failures nobody would find it."""
        yield
        if self.worker_input is None:
            self.log.show(terminalreporter)
