"""``episem bless``."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_episem.cli.output import write
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.metrics.six import SIX
from pytest_episem.runs.run_dir import open_evidence
from pytest_episem.text import printable
from pytest_episem.verdicts.baseline import Baseline
from pytest_episem.verdicts.gates import Gates, Limit, evaluate, left_out


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", metavar="FILE", required=True, type=click.Path(path_type=Path), help="The baseline's file.")
def command(directory: Path, out: Path) -> None:
    """Make a run the baseline: write what each pair contributed to each metric into a small file to commit.

    Later runs are measured against it with --episem-baseline FILE --episem-max-regression POINTS, or with
    'episem gate'. Nothing is ever blessed by itself. A run that is incomplete in any way is refused.

    \b
    Example:
      episem bless .episem/main --out episem-baseline.json
    """
    run = open_evidence(directory, "baselines are")
    # Any gate brings the check of the run as a whole, whatever its limit.
    whole = evaluate(run, Gates((Limit("max-full-ucr", 100.0),)), left_out(run)).verdicts[0]
    if not whole.passed:
        raise EpisemError(f"{directory} cannot be a baseline: {whole.detail}")
    baseline = Baseline.of_run(run)
    baseline.save(out)
    write(f"blessed: {printable(out)}, {len(baseline.tasks):,} pairs of run {printable(baseline.run)}\n")
    for name, metric in SIX.items():
        values = [task.values[name] or 0.0 for task in baseline.tasks.values()]
        write(f"  {metric.title:<13}{100 * sum(values) / len(values):6.2f}\n")
