"""``episem bless``."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_episem.cli.banks import bank_option, workflow_banks
from pytest_episem.cli.output import write
from pytest_episem.errors import EpisemError
from pytest_episem.runs.run_dir import open_run
from pytest_episem.suite import SUITES, suite
from pytest_episem.text import printable
from pytest_episem.verdicts.baseline import Baseline
from pytest_episem.verdicts.gates import Gates, Limit, evaluate, left_out


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", metavar="FILE", required=True, type=click.Path(path_type=Path), help="The baseline's file.")
@click.option(
    "--suite", "name", type=click.Choice(list(SUITES)), help="Of a run of both, the suite to measure against."
)
@bank_option
def command(directory: Path, out: Path, name: str | None, banks: tuple[str, ...]) -> None:
    """Make a run the baseline: write what each pair or case contributed to each metric into a small file to commit.

    Later runs are measured against it with --episem-baseline FILE --episem-max-regression POINTS, or with
    'episem gate'. Nothing is ever blessed by itself. A run that is incomplete in any way is refused.

    \b
    Example:
      episem bless .episem/main --out episem-baseline.json
    """
    run = open_run(directory, events=False)
    played = suite(name or run.header.suites[0])
    if played.name not in run.header.suites:
        raise EpisemError(f"{directory} cannot be a baseline: it does not play the suite {played.name}")
    at_hand = workflow_banks(banks, [run])
    # Any gate brings the check of the run as a whole, whatever its limit.
    whole = evaluate(run, Gates((Limit(played.metrics[0].gate, 0.0),)), left_out(run), banks=at_hand).verdicts[0]
    if not whole.passed:
        raise EpisemError(f"{directory} cannot be a baseline: {whole.detail}")
    baseline = Baseline.of_run(run, played.name, at_hand)
    baseline.save(out)
    write(f"blessed: {printable(out)}, {len(baseline.tasks):,} {played.unit[1]} of run {printable(baseline.run)}\n")
    width = max(len(metric.title) for metric in baseline.metrics) + 1
    for metric in baseline.metrics:
        values = [task.values[metric.name] or 0.0 for task in baseline.tasks.values()]
        write(f"  {metric.title:<{width}}{100 * sum(values) / len(values):6.2f}\n")
