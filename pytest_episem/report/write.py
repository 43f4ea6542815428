"""All the files of a report at once: ``report.json``, ``report.md``, ``report.html`` and ``tables/*.csv``."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_episem.bank import Bank
from pytest_episem.errors import EpisemError
from pytest_episem.metrics.summary import Summary, summarize
from pytest_episem.records.run_dir import Run, open_run
from pytest_episem.report import words
from pytest_episem.report.csv_files import write_csv
from pytest_episem.report.examples import failures
from pytest_episem.report.markdown import markdown
from pytest_episem.report.tables import GateLine, gates_table, tables

JSON_FILE, MARKDOWN_FILE, HTML_FILE = "report.json", "report.md", "report.html"
FORMATS = ("json", "md", "html", "csv")
SEVERAL_SCHEMA = "episem.reports/1"


@dataclass(frozen=True)
class Written:
    """What was written: the report's files, and the runs with the names they are listed under."""

    directory: Path
    files: list[Path]
    runs: list[tuple[str, Summary]]

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
) -> Written:
    """Read the run directories and write every file of their common report into ``out`` (made if missing).

    ``banks`` are those at hand; a run's tasks are explained from the one whose hash it carries, and a run whose bank
    is not among them shows what its records alone hold. ``report.json`` holds one run's numbers (schema
    ``episem.report/1``), or for several ``{"schema": "episem.reports/1", "reports": {name: numbers}}``. Every file
    is replaced in one step. ``formats`` names the kinds of file to write, of ``FORMATS``.

    Raises:
        EpisemError: a directory is no run or its records are not sound, or a file cannot be written.
    """
    if not run_dirs:
        raise EpisemError("report: name at least one run directory")
    runs = [open_run(directory) for directory in run_dirs]
    return write_runs(runs, Path(out), banks, gates, formats)


def write_runs(
    runs: Sequence[Run],
    out: Path,
    banks: Sequence[Bank] | None = None,
    gates: Sequence[GateLine] = (),
    formats: Collection[str] = FORMATS,
) -> Written:
    """As :func:`write_reports`, for runs already read with their event logs."""
    from pytest_episem.report.html import html

    summaries = [summarize(run) for run in runs]
    names = words.labels([summary.run for summary in summaries])
    named = list(zip(names, summaries, strict=True))
    failing = [(name, failures(run.trials.values())) for name, run in zip(names, runs, strict=True)]
    texts: dict[str, str] = {}
    if "json" in formats:
        texts[JSON_FILE] = json.dumps(report_document(named), indent=1) + "\n"
    if "md" in formats:
        texts[MARKDOWN_FILE] = markdown(named, failing, gates)
    if "html" in formats:
        texts[HTML_FILE] = html(named, runs, failing, banks, gates)
    try:
        out.mkdir(parents=True, exist_ok=True)
        files = [replace_file(out / name, text) for name, text in texts.items()]
        if "csv" in formats:
            files += write_csv(tables(named) + ([gates_table(gates)] if gates else []), out)
    except OSError as fault:
        raise EpisemError(f"{out}: the report cannot be written: {fault.strerror}") from None
    return Written(out, files, named)


def report_document(runs: Sequence[tuple[str, Summary]]) -> dict[str, Any]:
    """Return the content of ``report.json``."""
    if len(runs) == 1:
        return runs[0][1].to_dict()
    return {"schema": SEVERAL_SCHEMA, "reports": {name: summary.to_dict() for name, summary in runs}}


def replace_file(path: Path, text: str) -> Path:
    """Write ``text`` in one step, so that no reader meets half a file; return the path."""
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    os.replace(draft, path)
    return path
