"""``episem report``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from pytest_episem.bank import Bank
from pytest_episem.cli.banks import bank_option, json_option, open_bank
from pytest_episem.cli.output import colour, show_json, unicode, width, write
from pytest_episem.errors import EpisemError
from pytest_episem.metrics.summary import Summary, summarize
from pytest_episem.records.run_dir import Run, open_run
from pytest_episem.records.text import printable
from pytest_episem.report.layout import counted
from pytest_episem.report.terminal import comparison_lines, summary_lines
from pytest_episem.report.words import labels
from pytest_episem.report.write import FORMATS, Written, report_document, write_runs

PIPE_WIDTH = 100

Named = list[tuple[str, Summary]]


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Write one report of all runs here.")
@click.option(
    "--format", "formats", multiple=True, type=click.Choice(FORMATS), help="Write only this kind of file; repeatable."
)
@bank_option
@json_option
def command(
    directories: tuple[Path, ...], out: Path | None, formats: tuple[str, ...], banks: tuple[str, ...], as_json: bool
) -> None:
    """Report runs from their records: print the summary of each and write the report's files.

    The files of a run go into its own directory; with --out one common report of all the runs goes there. Needs no
    model: the same records give the same report on any machine. The bank of a run, if it is at hand, adds the hidden
    facts to its transcripts. With --json the numbers are printed and nothing is written, unless --out or --format
    asks for it.

    \b
    Examples:
      episem report .episem/my-run
      episem report run1 run2 --out both
      episem report run1 --format md
      episem report run1 --json
    """
    runs = [open_run(directory) for directory in directories]
    if as_json and not (out or formats):
        show_json(report_document(_named([summarize(run) for run in runs])))
        return
    written = _write(runs, out, formats or FORMATS, _banks(banks))
    named = _named([summary for one in written for _, summary in one.runs])
    if as_json:
        show_json(report_document(named))
        return
    _print(runs, named)
    write("".join(f"written: {printable(path)}\n" for path in _shown(written)))


def _named(summaries: list[Summary]) -> Named:
    return list(zip(labels([summary.run for summary in summaries]), summaries, strict=True))


def _banks(names: Sequence[str]) -> list[Bank]:
    """The banks named; without a name the shipped one, and none if that cannot be used: a report needs none."""
    if names:
        return [open_bank(name) for name in names]
    try:
        return [open_bank()]
    except EpisemError:
        return []


def _write(runs: Sequence[Run], out: Path | None, formats: Sequence[str], banks: Sequence[Bank]) -> list[Written]:
    """Write the report's files: of all runs into ``out``, or of each run into its own directory."""
    if out is not None:
        return [write_runs(runs, out, banks, formats=formats)]
    return [write_runs([run], run.directory, banks, formats=formats) for run in runs if run.directory is not None]


def _shown(written: Sequence[Written]) -> list[Path]:
    """The files to name: each, but the folder alone for the many of the tables."""
    files = [path if path.parent == one.directory else path.parent for one in written for path in one.files]
    return list(dict.fromkeys(files))


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
        remarks.append(f"{counted(run.duplicates, 'record')} left out, of conditions that have a better one")
    return remarks
