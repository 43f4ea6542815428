"""All the files of a report at once: ``report.json``, ``report.md``, ``report.html`` and ``tables/*.csv``."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_episem.banks.problem import BankError
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import Bank
from pytest_episem.evidence.metrics.summary import REPORT_SCHEMA, Summary, summarize
from pytest_episem.report import words
from pytest_episem.report.csv_files import write_csv
from pytest_episem.report.examples import failures
from pytest_episem.report.markdown import markdown
from pytest_episem.report.tables import GateLine, Table, gates_table, tables
from pytest_episem.report.workflow_tables import cases, workflow_tables
from pytest_episem.report.workflow_words import as_played
from pytest_episem.runs.run import RunHeader
from pytest_episem.runs.run_dir import Run, open_run
from pytest_episem.runs.whole import write_whole
from pytest_episem.verdicts.gate_file import kept
from pytest_episem.workflows.bank.load import WorkflowBank, shipped_workflows
from pytest_episem.workflows.check import judge
from pytest_episem.workflows.guided import guided
from pytest_episem.workflows.summary import WorkflowSummary, comparison, summarize_workflows

JSON_FILE, MARKDOWN_FILE, HTML_FILE = "report.json", "report.md", "report.html"
FORMATS = ("json", "md", "html", "csv")
SEVERAL_SCHEMA = "episem.reports/1"


@dataclass(frozen=True)
class Written:
    """What was written: the report's files, and the numbers they hold."""

    directory: Path
    files: list[Path]
    numbers: Numbers

    @property
    def runs(self) -> list[tuple[str, Summary]]:
        """The runs of the evidence suite with the names they are listed under."""
        return self.numbers.evidence

    @property
    def workflows(self) -> list[tuple[str, WorkflowSummary]]:
        """The runs of the workflow suite, alike; a run of both is in both."""
        return self.numbers.workflows

    @property
    def html(self) -> Path:
        """The file to open first."""
        return self.directory / HTML_FILE


def write_reports(
    run_dirs: Sequence[Path | str],
    out: Path | str,
    banks: Sequence[Bank] | None = None,
    gates: Sequence[GateLine] = (),
    formats: Collection[str] = FORMATS,
    workflow_banks: Sequence[WorkflowBank] | None = None,
    more: Callable[[Run], Iterable[Table]] | None = None,
) -> Written:
    """Read the run directories and write every file of their common report into ``out`` (made if missing).

    ``banks`` are those at hand; a run's tasks are explained from the one whose hash it carries, and a run whose bank is
    not among them shows what its records alone hold. With the workflow suite's bank among ``workflow_banks`` (``None``
    takes the shipped one) its records are replayed before they count.
    ``report.json`` holds one run's numbers (schema
    ``episem.report/1``), or for several ``{"schema": "episem.reports/1", "reports": {name: numbers}}``. Every file
    is replaced in one step. ``formats`` names the kinds of file to write, of ``FORMATS``. ``more`` gives tables to
    stand behind ours for a run with trials.

    Raises:
        EpisemError: a directory is no run or its records are not sound, or a file cannot be written.
    """
    if not run_dirs:
        raise EpisemError("report: name at least one run directory")
    runs = [open_run(directory, events=False) for directory in run_dirs]
    further = [table for run in runs if more is not None and run.header.has_evidence for table in more(run)]
    return write_runs(runs, Path(out), banks, gates, formats, workflow_banks, further)


def write_runs(
    runs: Sequence[Run],
    out: Path,
    banks: Sequence[Bank] | None = None,
    gates: Sequence[GateLine] = (),
    formats: Collection[str] = FORMATS,
    workflow_banks: Sequence[WorkflowBank] | None = None,
    more: Sequence[Table] = (),
) -> Written:
    """As :func:`write_reports`, for runs already read."""
    from pytest_episem.report.html import html

    known = at_hand(workflow_banks) if any(run.header.workflows for run in runs) else []
    whole = summarize_runs(runs, known)
    named, others = whole.evidence, whole.workflows
    evidence = [run for run in runs if run.header.has_evidence]
    gates = gates or _kept_gates([name for name, _ in named], evidence)
    failing = [(name, failures(run.of("evidence").values())) for (name, _), run in zip(named, evidence, strict=True)]
    texts: dict[str, str] = {}
    if "json" in formats:
        texts[JSON_FILE] = json.dumps(whole.document(), indent=1) + "\n"
    if "md" in formats:
        texts[MARKDOWN_FILE] = markdown(named, failing, gates, workflows=others, more=more)
    if "html" in formats:
        texts[HTML_FILE] = html(named, evidence, failing, banks, gates, others, known, more)
    try:
        out.mkdir(parents=True, exist_ok=True)
        files = [write_whole(out / name, text) for name, text in texts.items()]
        if "csv" in formats:
            shown = tables(named) if named else []
            shown += [*workflow_tables(others), cases(others)] if others else []
            files += write_csv([*shown, *more, *([gates_table(gates)] if gates else [])], out)
    except OSError as fault:
        raise EpisemError(f"{out}: the report cannot be written: {fault.strerror}") from None
    return Written(out, files, whole)


def _kept_gates(names: Sequence[str], runs: Sequence[Run]) -> list[GateLine]:
    """Return the verdicts on the gates that were set when the runs were made, or held against them later."""
    several = len(runs) > 1
    return [
        GateLine(f"{name}: {verdict.demand}" if several else verdict.demand, verdict.passed, verdict.detail)
        for name, run in zip(names, runs, strict=True)
        if (result := kept(run)) is not None
        for verdict in result.verdicts
    ]


@dataclass(frozen=True)
class RunNumbers:
    """The numbers of one run, of either suite or of both."""

    header: RunHeader
    evidence: Summary | None
    workflows: WorkflowSummary | None

    def document(self) -> dict[str, Any]:
        """Return the content of ``report.json``."""
        document = {"schema": REPORT_SCHEMA} if self.evidence is None else self.evidence.to_dict()
        return document if self.workflows is None else {**document, "workflows": self.workflows.to_dict()}


@dataclass(frozen=True)
class Numbers:
    """The numbers of several runs, and the names they are listed under in each suite."""

    runs: list[RunNumbers]

    @property
    def evidence(self) -> list[tuple[str, Summary]]:
        """Those of the evidence suite."""
        found = [one.evidence for one in self.runs if one.evidence is not None]
        return list(zip(words.labels([summary.run for summary in found]), found, strict=True))

    @property
    def workflows(self) -> list[tuple[str, WorkflowSummary]]:
        """Those of the workflow suite."""
        found = [one.workflows for one in self.runs if one.workflows is not None]
        agents = [str(summary.run["agent"]) for summary in found]
        named = [
            {**summary.run, "model": None, "agent": agent if agents.count(agent) == 1 else as_played(summary.run)}
            for agent, summary in zip(agents, found, strict=True)
        ]
        return list(zip(words.labels(named), found, strict=True))

    def document(self) -> dict[str, Any]:
        """Return the content of ``report.json``."""
        if len(self.runs) == 1:
            return self.runs[0].document()
        headers = [one.header for one in self.runs]
        names = words.labels([{"model": h.model, "agent": h.agent, "run": h.run} for h in headers])
        reports = {name: one.document() for name, one in zip(names, self.runs, strict=True)}
        document: dict[str, Any] = {"schema": SEVERAL_SCHEMA, "reports": reports}
        beside = {**comparison(self.workflows), "guidance": [asdict(one) for one in guided(self.workflows)]}
        return {**document, "workflow_comparison": beside} if self.workflows else document


def summarize_runs(runs: Sequence[Run], workflow_banks: Sequence[WorkflowBank] | None = None) -> Numbers:
    """Return the numbers of runs, each of its suites."""
    banks = at_hand(workflow_banks) if any(run.header.workflows for run in runs) else []
    return Numbers(
        [
            RunNumbers(
                run.header,
                summarize(run) if run.header.has_evidence else None,
                summarize_workflows(run, judge(run, banks)) if run.header.workflows is not None else None,
            )
            for run in runs
        ]
    )


def at_hand(banks: Sequence[WorkflowBank] | None) -> Sequence[WorkflowBank]:
    """Return the workflow banks given; for ``None`` the shipped one, if it can be read: a report of old records must
    not need it."""
    if banks is not None:
        return banks
    try:
        return [shipped_workflows()]
    except BankError:
        return []
