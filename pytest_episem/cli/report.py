"""``episem report``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from pytest_episem.cli.banks import json_option
from pytest_episem.cli.output import colour, show_json, unicode, width, write
from pytest_episem.metrics.summary import Summary, summarize
from pytest_episem.records.run_dir import Run, open_run
from pytest_episem.records.text import printable
from pytest_episem.report.terminal import comparison_lines, summary_lines
from pytest_episem.report.words import labels
from pytest_episem.report.write import JSON_FILE, replace_file, report_document

PIPE_WIDTH = 100
FORMATS = ("json",)

Named = list[tuple[str, Summary]]


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Write one report of all runs here.")
@click.option("--format", "formats", multiple=True, type=click.Choice(FORMATS), help="Write only this; repeatable.")
@json_option
def command(directories: tuple[Path, ...], out: Path | None, formats: tuple[str, ...], as_json: bool) -> None:
    """Report runs from their records: print the summary of each and write the report's files.

    The files of a run go into its own directory; with --out one common report of all the runs goes there. Needs no
    model: the same records give the same report on any machine. With --json the numbers are printed instead, and
    files are written only where --out or --format asks for them.

    \b
    Examples:
      episem report .episem/my-run
      episem report run1 run2 --out both
      episem report run1 --json
    """
    runs = [open_run(directory) for directory in directories]
    summaries = [summarize(run) for run in runs]
    named = list(zip(labels([summary.run for summary in summaries]), summaries, strict=True))
    if as_json:
        show_json(report_document(named))
    else:
        _print(runs, named)
    if not as_json or out or formats:
        written = _write(runs, named, out, formats or FORMATS)
        if not as_json:
            write("".join(f"written: {printable(path)}\n" for path in written))


def _print(runs: Sequence[Run], named: Named) -> None:
    for run, (_, summary) in zip(runs, named, strict=True):
        title = [f"== {printable(run.directory)}"] if len(named) > 1 else []
        lines = summary_lines(summary, width() or PIPE_WIDTH, colour(), unicode=unicode())
        write("\n".join([*title, *lines, *_remarks(run), "", ""]))
    if len(named) > 1:
        lines = comparison_lines(named, width() or PIPE_WIDTH, colour(), unicode=unicode())
        write("\n".join(["== side by side", *lines, "", ""]))


def _remarks(run: Run) -> list[str]:
    remarks = ["a torn last record was skipped"] if run.torn else []
    if run.duplicates:
        were = "record of a condition that has a better one was" if run.duplicates == 1 else "records of conditions that have a better one were"
        remarks.append(f"{run.duplicates:,} {were} left out")
    return remarks


def _write(runs: Sequence[Run], named: Named, out: Path | None, formats: Sequence[str]) -> list[Path]:
    """Write the report's files: of all runs into ``out``, or of each run into its own directory."""
    groups = [(out, named)] if out else [(run.directory, [one]) for run, one in zip(runs, named, strict=True)]
    written: list[Path] = []
    for directory, group in groups:
        if directory is None:
            continue
        directory.mkdir(parents=True, exist_ok=True)
        if "json" in formats:
            text = json.dumps(report_document(group), indent=1) + "\n"
            written.append(replace_file(directory / JSON_FILE, text))
    return written
