"""Gates in a pytest session: what options and files set, what counts as failed, the exit code, the line, JUnit.

Registered by the face, before it, so that the records are complete when the verdict is computed. Closed by default:
whatever goes wrong here ends in FAILED and never in exit code 0.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_episem.errors import EpisemError
from pytest_episem.plugin.ending import GOOD
from pytest_episem.plugin.gate_category import TEXT, GateCategory
from pytest_episem.plugin.gate_notice import KEEPER, NO_AGENT, say
from pytest_episem.plugin.node_ids import ITEM
from pytest_episem.plugin.options import (
    OPTIONS,
    Option,
    gates_given,
    ini_values,
    place,
    runs_nothing,
    unknown_keys,
    value,
)
from pytest_episem.report.ci import github_annotations
from pytest_episem.report.tables import GateLine
from pytest_episem.runs.run import RUN_FILE
from pytest_episem.runs.run_dir import Run, open_run
from pytest_episem.suite import suite
from pytest_episem.text import printable
from pytest_episem.verdicts.baseline import Baseline
from pytest_episem.verdicts.gate_file import keep
from pytest_episem.verdicts.gates import (
    COMPLETE,
    MAX_UNANSWERED,
    REGRESSION,
    GateResult,
    Gates,
    Limit,
    Verdict,
    combine,
    evaluate,
    parse_percent,
    read_limits,
)

if TYPE_CHECKING:
    from pytest_episem.plugin.face import Face

CONDITION = "condition failed"
"""The category of a condition that counts against a metric while gates decide."""
SUITE = "episem-gates"
"""The class of the gates' test cases in JUnit."""
_GATE = "episem_gate"
_SHOWN = 10


def install(face: Face) -> GateKeeper:
    """Check what is set and register the keeper, in the process that controls the session and before its face.

    Raises:
        EpisemError: a gate, a limit or a key of the ini file is wrong.
    """
    keeper = GateKeeper(face)
    face.config.pluginmanager.register(keeper, KEEPER)
    return keeper


# What is set ----------------------------------------------------------------------------------------------------


def read_gates(config: pytest.Config, suites: Collection[str], domains: Iterable[str], banks: Sequence[Any]) -> Gates:
    """Return the gates of the command line and the ini file; the command line wins for each gate and domain.

    What the ini file says of a suite that is none of ``suites`` waits for a session of that one. ``banks`` are those
    of the run, with which the records of a baseline are replayed.

    Raises:
        EpisemError: a limit that is not one, a gate without what it needs, or a setting without a gate.
    """
    known = sorted(set(domains))
    limits = combine(_from_file(config, known, suites), _from_command_line(config, known))
    chosen, regression = value(config, "baseline"), [limit for limit in limits if limit.name == REGRESSION]
    if regression and not chosen:
        raise EpisemError("--episem-max-regression needs --episem-baseline: a file of episem bless, or a run")
    if chosen and not regression:
        raise EpisemError("--episem-baseline gates nothing without --episem-max-regression")
    for name in ("gate-on", "min-coverage", "max-unanswered"):
        if not limits and config.getoption(_option(name).dest) is not None:
            raise EpisemError(f"--episem-{name} gates nothing without a gate, such as --episem-max-critical-ucr=5")
    coverage = value(config, "min-coverage")
    unanswered = value(config, "max-unanswered")
    return Gates(
        limits=limits,
        gate_on=value(config, "gate-on") or "point",
        min_coverage=100.0 if coverage is None else parse_percent(coverage, "--episem-min-coverage", loose_below=True),
        max_unanswered=(
            MAX_UNANSWERED
            if unanswered is None
            else parse_percent(unanswered, "--episem-max-unanswered", loose_below=False)
        ),
        baseline=Baseline.load(_baseline_path(config, chosen), banks=banks) if chosen else None,
    )


def _option(name: str) -> Option:
    return next(option for option in OPTIONS if option.name == name)


def _from_command_line(config: pytest.Config, domains: list[str]) -> Iterator[Limit]:
    """Of two options for one gate and domain the last counts, as ever: so it beats what ``addopts`` says."""
    for option in OPTIONS:
        for text in (config.getoption(option.dest) or ()) if option.gate else ():
            yield from read_limits(option.name, text, option.flag, domains)


def _from_file(config: pytest.Config, domains: list[str], suites: Collection[str]) -> Iterator[Limit]:
    values = ini_values(config)
    for option in OPTIONS:
        if option.gate and option.dest in values and option.suite in (None, *suites):
            where = f"{option.dest} in {place(config)}"
            yield from read_limits(option.name, values[option.dest], where, domains)


def _baseline_path(config: pytest.Config, chosen: str) -> Path:
    """A path of the command line is seen from the current folder, one of the ini file from the file's."""
    given = config.getoption(_option("baseline").dest) is not None
    base = config.invocation_params.dir if given or config.inipath is None else config.inipath.parent
    return base / chosen


# The session ----------------------------------------------------------------------------------------------------


class GateKeeper(GateCategory):
    """Lists failing conditions, evaluates the gates once, and states the verdict."""

    def __init__(self, face: Face) -> None:
        super().__init__(face.config)
        self.face = face
        self.result: GateResult | None = None
        self._complaints: list[str] = []
        self._finished: set[str] = set()
        self._publishing = False
        self._read()

    def _read(self) -> None:
        unknown = unknown_keys(self.config)
        if unknown:
            raise EpisemError(unknown)
        choices = self.face.choices
        self._banks = [choices.bank(name) for name in choices.suites]
        domains = {task.domain for bank in self._banks for task in bank.tasks.values()}
        self.gates = read_gates(self.config, choices.suites, domains, self._banks)
        if self.gates.baseline is not None:
            where = f"--episem-baseline {value(self.config, 'baseline')}"
            self.gates.baseline.refuse_other(self.face.log.header(), where)
        for name, least in (("max-cost", 0), ("max-requests", 0)):
            limit = value(self.config, name)
            if limit is not None and not limit > least:
                raise EpisemError(f"--episem-{name} must be more than {least}, not {limit}")

    # Our items

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, Any] | None:
        if getattr(report, TEXT, None) is not None:
            return CONDITION, "c", ("CONDITION FAILED", {"yellow": True})
        if getattr(report, _GATE, False):
            failed = report.outcome == "failed"
            # No letter in the middle of the line of progress; the summary at the end asks again and wants a word.
            return "failed" if failed else "", "", "FAILED" if failed and not self._publishing else ""
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if getattr(report, TEXT, None) is not None:
            # pytest's own hook has just taken it off, since it "passed".
            failed_last = getattr(self.config.pluginmanager.get_plugin("lfplugin"), "lastfailed", None)
            if failed_last is not None:
                failed_last[getattr(report, "id", report.nodeid)] = True  # pytest 9.2 keys it by its own kind of id
        if report.when in ("teardown", "???") and getattr(report, ITEM, None):
            self._finished.add(report.nodeid)
            if report.when == "???":
                self._complaints.append(f"a worker crashed in {report.nodeid}")
            self._stop_when_spent()

    def _stop_when_spent(self) -> None:
        """Start nothing more once the run has cost what it may; what is missing then fails every gate."""
        reason = self.face.log.overspent()
        if reason and len(self._finished) < self.face.log.items:
            self.face.rollouts.close()
            for name in ("session", "dsession"):
                plugin: Any = self.config.pluginmanager.get_plugin(name)
                if plugin is not None and not plugin.shouldstop:
                    plugin.shouldstop = reason

    # What the session says of itself

    def pytest_collection_finish(self) -> None:
        self._want_an_agent()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        self._want_an_agent()

    def _idle(self) -> bool:
        return not (self.face.choices.names_agent or self.face.log.items)

    def _nobody_asked(self) -> str:
        return NO_AGENT if self._idle() and not gates_given(self.config) else ""

    def _want_an_agent(self) -> None:
        """Refuse gates of the command line that nothing can meet."""
        if gates_given(self.config) and self._idle():
            raise pytest.UsageError(
                "a gate needs an agent under test: give --episem-model or --episem-agent, or a test that uses "
                "episem_rollout"
            )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        try:
            return (yield)
        except session.Failed:
            raise
        except BaseException as end:
            # Told here as well: a second Ctrl-C keeps pytest from telling of the first.
            self._complaints.append(_ended_by(end))
            raise

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._complaints.append(_ended_by(excinfo.value))

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._complaints.append(_ended_by(excinfo.value))

    # The verdict

    def settle(self, session: pytest.Session) -> None:
        """Compute the verdict and the exit code, once, before anybody reads it."""
        if not self.decides or self._looking or self.result is not None:
            return
        self.result = GateResult(scope="no pair")  # what stands if somebody exits before the verdict does
        try:
            self.result = self._evaluate(session)
            self._publish(self.result)
        except KeyboardInterrupt:
            self.result = _interrupted(self.result)
            raise
        finally:
            self._redden(session)
            self._keep(self.result)

    def ended(self, reason: str) -> str:
        """Return the line of a process that is ended on the spot, for ``reason``."""
        self._complaints.append(reason)
        self.result = self._evaluate(None)
        self._keep(self.result)
        return self.result.line

    def _keep(self, result: GateResult) -> None:
        if (self.face.log.directory / RUN_FILE).exists():
            keep(self.face.log.directory, self.gates, result)

    @property
    def _looking(self) -> str:
        return runs_nothing(self.config) or self._nobody_asked()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        if not self.decides:
            return (yield)
        try:
            return (yield)
        except pytest.exit.Exception as end:
            if self._fails and end.returncode in GOOD:
                end.returncode = pytest.ExitCode.TESTS_FAILED
            raise
        except SystemExit as end:
            if self._fails and end.code in (None, *GOOD):
                end.code = pytest.ExitCode.TESTS_FAILED
            raise
        except KeyboardInterrupt:
            if self.result is not None:
                self.result = _interrupted(self.result)
            raise
        finally:
            self._redden(session)
            self._state(f"episem gate: not evaluated ({self._looking})" if self.result is None else self.result.line)

    def _redden(self, session: pytest.Session) -> None:
        if self._fails and session.exitstatus in GOOD:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def _fails(self) -> bool:
        return self.result is not None and not self.result.passed

    def _evaluate(self, session: pytest.Session | None) -> GateResult:
        complaints = self.complaints(session)
        try:
            return evaluate(self._run(), self.gates, complaints, self._totals, self._banks)
        except Exception as fault:
            text = printable(fault if isinstance(fault, EpisemError) else f"{type(fault).__name__}: {fault}")
            complaints.append(f"the gates could not be evaluated: {text}")
            return GateResult([Verdict(COMPLETE, "the run is complete", False, "; ".join(complaints))], "no pair")

    @property
    def _totals(self) -> dict[str, int]:
        """How many pairs and cases there are."""
        choices = self.face.choices
        return {name: suite(name).total(choices.bank(name), choices.option) for name in choices.suites}

    def _run(self) -> Run:
        """The run as its records tell it, which is what ``episem gate`` would read."""
        log = self.face.log
        if (log.directory / RUN_FILE).exists():
            return open_run(log.directory, events=False)
        return Run(replace(log.header(), session=None), {})

    def complaints(self, session: pytest.Session | None) -> list[str]:
        """Return what the session says against its own records."""
        complaints = list(dict.fromkeys(self._complaints))
        return complaints + [one for one in self._missing(session) if not any(one in said for said in complaints)]

    def _missing(self, session: pytest.Session | None) -> list[str]:
        missing, found = self.face.log.missing(), self.face.log.complaints()
        if missing:
            found.append(f"{len(missing):,} collected conditions have no record, the first: {missing[0]}")
        stopped = session is not None and (session.shouldstop or session.shouldfail)
        if stopped and printable(stopped) not in found:
            found.append(printable(stopped))
        return found

    def _publish(self, result: GateResult) -> None:
        """Hand the verdicts to JUnit, the terminal and the report."""
        self.face.log.gates = [GateLine(verdict.demand, verdict.passed, verdict.detail) for verdict in result.verdicts]
        manager = self.config.pluginmanager
        # These count failures, stop early or remember what to run again: a gate is none of their tests.
        counting = [manager.get_plugin(name) for name in ("session", "dsession", "lfplugin", "stepwiseplugin")]
        hook = manager.subset_hook_caller("pytest_runtest_logreport", [*filter(None, counting), self, self.face])
        self._publishing = True
        try:
            self._add_properties(result)
            for verdict in result.verdicts:
                for report in gate_reports(verdict):
                    hook(report=report)
        except Exception as fault:
            # Somebody else's hook failed on our reports. The verdict stands all the same.
            say(self.config, f"episem: the gates are missing from other reports: {printable(fault)}")
        finally:
            self._publishing = False

    def _add_properties(self, result: GateResult) -> None:
        from _pytest.junitxml import xml_key

        xml = self.config.stash.get(xml_key, None)
        if xml is None:
            return
        xml.add_global_property("episem.gate", "passed" if result.passed else "failed")
        xml.add_global_property("episem.pairs", result.scope)
        for name, found in result.values.items():
            text = "none" if found.value is None else f"{found.value:.4f}"
            xml.add_global_property(f"episem.{name}", text)
            xml.add_global_property(f"episem.{name}.coverage", f"{100 * found.coverage:.4f}")

    def _state(self, line: str) -> None:
        """Print the one line that always stands, and where GitHub looks for them the annotations."""
        result = self.result
        say(self.config, line, red=self._fails, green=result is not None and result.passed, bold=True)
        if result is not None and os.environ.get("GITHUB_ACTIONS") == "true":
            for text in github_annotations(result):
                say(self.config, text)

    @pytest.hookimpl(wrapper=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """List failing conditions in a few lines, or with ``-vv`` with their texts; then every gate's verdict."""
        yield
        if not self.decides:
            return
        failing = [report for report in terminalreporter.getreports(CONDITION) if hasattr(report, TEXT)]
        if failing:
            terminalreporter.section("conditions that failed", sep="_")
            self._list(terminalreporter, failing)
        if self.result is not None and terminalreporter.verbosity >= 0:
            terminalreporter.section("episem gates", sep="_")
            for verdict in self.result.verdicts:
                word, colour = ("passed", {"green": True}) if verdict.passed else ("FAILED", {"red": True})
                terminalreporter.write_line(printable(f"{word} {verdict.detail}"), **colour)

    def _list(self, reporter: Any, failing: list[Any]) -> None:
        verbosity = reporter.verbosity
        few = failing if verbosity > 0 else failing[:_SHOWN]
        for report in few:
            text = getattr(report, TEXT)
            first = text.splitlines()[0] if text else ""
            reporter.write_line(f"CONDITION FAILED {report.nodeid} - {first}", yellow=True)
            if verbosity > 1:
                reporter.write_line(f"{text}\n")
        if len(few) < len(failing):
            reporter.write_line(f"... and {len(failing) - len(few):,} more (-v lists them, -vv explains them)")
        elif verbosity < 2:
            reporter.write_line("(-vv explains them)")


def _ended_by(end: BaseException) -> str:
    """Return in words what ended a session early."""
    if isinstance(end, (KeyboardInterrupt, pytest.exit.Exception)):
        return printable(f"interrupted: {end}".rstrip(": "))
    return printable(f"internal error: {type(end).__name__}")


def _interrupted(result: GateResult) -> GateResult:
    """Return a result that fails in any case, since the session did not come to its end."""
    verdict = Verdict(COMPLETE, "the run is complete", False, "interrupted")
    return replace(result, verdicts=[verdict, *(one for one in result.verdicts if one.key != COMPLETE)])


def gate_reports(verdict: Verdict) -> Iterator[pytest.TestReport]:
    """Yield the reports of a gate's test case, as pytest makes them of a test."""
    nodeid = f"{SUITE}::{verdict.key}"
    text = printable(verdict.detail)
    phases: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    for when in phases:
        failed = when == "call" and not verdict.passed
        report = pytest.TestReport(
            nodeid,
            (SUITE, None, verdict.key),
            {},
            "failed" if failed else "passed",
            text if failed else None,
            when,
        )
        setattr(report, _GATE, True)
        yield report
