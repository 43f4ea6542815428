"""``episem report``."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_episem.cli.banks import json_option
from pytest_episem.cli.output import colour, show_json, width, write
from pytest_episem.errors import EpisemError
from pytest_episem.metrics.summary import Summary, summarize
from pytest_episem.records.run_dir import Run, open_run
from pytest_episem.records.text import printable
from pytest_episem.report.files import FORMATS, write_reports
from pytest_episem.report.terminal import summary_lines

PIPE_WIDTH = 100


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Write the files here, not into the runs.")
@click.option("--format", "formats", multiple=True, type=click.Choice(list(FORMATS)), help="Only these files; repeat.")
@json_option
def command(directories: tuple[Path, ...], out: Path | None, formats: tuple[str, ...], as_json: bool) -> None:
    """Report runs from their records: print each summary, and write the reports into the run's directory.

    Needs no model and no bank; the same records give the same report anywhere. With --json the numbers of all runs
    are printed as one list and nothing is written, unless --out or --format asks for it.

    \b
    Examples:
      episem report .episem/my-run
      episem report run1 run2 --out reports
      episem report run1 --json
    """
    targets = _targets(directories, out)
    summaries: list[Summary] = []
    for directory in directories:
        run = open_run(directory)
        summary = summarize(run)
        summaries.append(summary)
        if not as_json:
            _print(run, summary, several=len(directories) > 1)
        if not as_json or out or formats:
            written = write_reports(run, summary, targets[directory], formats or tuple(FORMATS))
            if not as_json:
                write("".join(f"written: {printable(path)}\n" for path in written))
    if as_json:
        show_json([summary.to_dict() for summary in summaries])


def _targets(directories: tuple[Path, ...], out: Path | None) -> dict[Path, Path]:
    """Where each run's files go: into the run, into ``out``, or with several runs into ``out`` by the runs' names."""
    if out is None:
        return {directory: directory for directory in directories}
    if len(directories) == 1:
        return {directories[0]: out}
    targets = {directory: out / directory.resolve().name for directory in directories}
    if len(set(targets.values())) < len(targets):
        raise EpisemError("two of the runs have directories of the same name; report them one by one with --out")
    return targets


def _print(run: Run, summary: Summary, several: bool) -> None:
    if several:
        write(f"{printable(run.directory)}\n")
    for line in summary_lines(summary, width() or PIPE_WIDTH, colour()):
        write(f"{line}\n")
    if run.torn:
        write("a torn last record was skipped\n")
    if run.duplicates:
        write(f"{run.duplicates:,} records of a condition that has a better one were left out\n")


