"""``episem compare``."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_episem.cli.banks import bank_option, json_option, workflow_banks
from pytest_episem.cli.output import show, show_json, write
from pytest_episem.report.comparison_page import comparison_page
from pytest_episem.runs.run_dir import open_run
from pytest_episem.runs.unanswered import unanswered, unanswered_words
from pytest_episem.verdicts.compare import compare, shared_suites

COMPARES_SCHEMA = "episem.compares/2"
"""Of two runs of several suites: a comparison for each."""


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Name every task that moved.")
@bank_option
@json_option
def command(a: Path, b: Path, everything: bool, banks: tuple[str, ...], as_json: bool) -> None:
    """Compare run B with run A, the baseline, task by task.

    Prints how each metric changed with a paired interval, and which tasks got better or worse. Only masks that
    completed in both runs are compared; records of the workflow suite are replayed first.

    \b
    Examples:
      episem compare .episem/main .episem/branch
      episem compare run1 run2 --json
    """
    runs = [open_run(a, events=False), open_run(b, events=False)]
    at_hand = workflow_banks(banks, runs)
    found = [compare(runs[0], runs[1], name, at_hand) for name in shared_suites(runs[0], runs[1])]
    if as_json:
        documents = [one.to_dict() for one in found]
        show_json(documents[0] if len(documents) == 1 else {"schema": COMPARES_SCHEMA, "comparisons": documents})
        return
    for one in found:
        show(comparison_page(one, everything))
        for name, run in zip("AB", runs, strict=True):
            if said := unanswered_words(*unanswered(run.of(one.suite).values())):
                write(f"{name}: {said}: they look like holding back\n")
