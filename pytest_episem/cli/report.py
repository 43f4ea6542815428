"""``episem report``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from pytest_episem.cli.banks import SHIPPED, bank_option, json_option, open_bank, workflow_banks
from pytest_episem.cli.output import colour, show_json, unicode, width, write
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import Bank
from pytest_episem.report.layout import counted
from pytest_episem.report.terminal import comparison_lines, summary_lines
from pytest_episem.report.workflow_terminal import workflow_comparison_lines, workflow_lines
from pytest_episem.report.write import FORMATS, Numbers, Written, summarize_runs, write_runs
from pytest_episem.runs.run_dir import Run, open_run
from pytest_episem.text import printable
from pytest_episem.verdicts.gate_file import kept
from pytest_episem.workflows.bank.load import WorkflowBank, holds_evidence

PIPE_WIDTH = 100


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
    facts to its transcripts; records of the workflow suite are replayed with it before they count. With --json the
    numbers are printed and nothing is written, unless --out or --format asks for it.

    \b
    Examples:
      episem report .episem/my-run
      episem report run1 run2 --out both
      episem report run1 --format md
      episem report run1 --json
    """
    runs = [open_run(directory, events=False) for directory in directories]
    others = workflow_banks(banks, runs)
    if as_json and not (out or formats):
        show_json(summarize_runs(runs, others).document())
        return
    written = _write(runs, out, formats or FORMATS, _banks(banks, runs), others)
    numbers = Numbers([found for one in written for found in one.numbers.runs])
    if as_json:
        show_json(numbers.document())
        return
    _print(runs, numbers, others)
    write("".join(f"written: {printable(path)}\n" for path in _shown(written)))


def _banks(names: Sequence[str], runs: Sequence[Run]) -> list[Bank]:
    """The banks named that hold the evidence suite; without a name the shipped one, and none if that cannot be used: a
    report needs none."""
    if not any(one.header.has_evidence for one in runs):
        return []
    if names:
        return [open_bank(name) for name in names if name == SHIPPED or holds_evidence(Path(name))]
    try:
        return [open_bank()]
    except EpisemError:
        return []


def _write(
    runs: Sequence[Run],
    out: Path | None,
    formats: Sequence[str],
    banks: Sequence[Bank],
    workflow_banks: Sequence[WorkflowBank],
) -> list[Written]:
    """Write the report's files: of all runs into ``out``, or of each run into its own directory."""
    groups = [(list(runs), out)] if out is not None else [([one], one.directory) for one in runs]
    return [
        write_runs(group, home, banks, formats=formats, workflow_banks=workflow_banks)
        for group, home in groups
        if home is not None
    ]


def _shown(written: Sequence[Written]) -> list[Path]:
    """The files to name: each, but the folder alone for the many of the tables."""
    files = [path if path.parent == one.directory else path.parent for one in written for path in one.files]
    return list(dict.fromkeys(files))


def _print(runs: Sequence[Run], numbers: Numbers, banks: Sequence[WorkflowBank]) -> None:
    page, colours, letters = width() or PIPE_WIDTH, colour(), unicode()
    for one, found in zip(runs, numbers.runs, strict=True):
        lines = [f"== {printable(one.directory)}"] if len(runs) > 1 else []
        if found.evidence is not None:
            lines += [
                *summary_lines(found.evidence, page, colours, unicode=letters),
                *_remarks(one),
                "",
            ]
        if found.workflows is not None:
            lines += [*workflow_lines(found.workflows, page, colours, unicode=letters), ""]
        lines += _verdict(one, banks)
        write("\n".join([*lines, ""]))
    if len(numbers.evidence) > 1:
        lines = comparison_lines(numbers.evidence, page, colours, unicode=letters)
        write("\n".join(["== side by side", *lines, "", ""]))
    if len(numbers.workflows) > 1:
        lines = workflow_comparison_lines(numbers.workflows, page, colours, unicode=letters)
        write("\n".join(["== workflows side by side", *lines, "", ""]))


def _verdict(run: Run, banks: Sequence[WorkflowBank]) -> list[str]:
    found = kept(run, banks)
    return [] if found is None else [found.line, ""]


def _remarks(run: Run) -> list[str]:
    remarks = ["a torn last record was skipped"] if run.torn else []
    if run.duplicates:
        remarks.append(f"{counted(run.duplicates, 'record')} left out, of conditions that have a better one")
    return remarks
