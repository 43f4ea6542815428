"""``episem compare``."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_episem.cli.banks import json_option
from pytest_episem.cli.output import show, show_json, write
from pytest_episem.evidence.metrics.tasks import unanswered, unanswered_words
from pytest_episem.report.comparison_page import comparison_page
from pytest_episem.runs.run_dir import open_evidence
from pytest_episem.verdicts.compare import compare


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Name every task that moved.")
@json_option
def command(a: Path, b: Path, everything: bool, as_json: bool) -> None:
    """Compare run B with run A, the baseline, task by task.

    Prints how each of the six metrics changed with a paired interval, and which tasks got better or worse. Only
    masks that completed in both runs are compared.

    \b
    Examples:
      episem compare .episem/main .episem/branch
      episem compare run1 run2 --json
    """
    first, second = open_evidence(a, "comparisons are"), open_evidence(b, "comparisons are")
    found = compare(first, second)
    if as_json:
        show_json(found.to_dict())
    else:
        show(comparison_page(found, everything))
        for name, run in (("A", first), ("B", second)):
            if said := unanswered_words(*unanswered(run.trials.values())):
                write(f"{name}: {said}: they look like holding back\n")
