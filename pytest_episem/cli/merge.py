"""``episem merge``."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_episem.cli.output import show
from pytest_episem.report.merge_page import Shard, merge_page
from pytest_episem.runs.run_dir import merge_runs, open_run


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", metavar="DIR", required=True, type=click.Path(path_type=Path), help="The new run's directory.")
def command(directories: tuple[Path, ...], out: Path) -> None:
    """Join the shards of one run, as from a matrix of CI jobs, into a new run.

    The shards must be of the same bank, model, API address and settings; any difference is named. Where several hold
    the same condition a completed trial goes before an error; of equal ones the first stays, unequal ones are refused.

    \b
    Example:
      episem merge shard1 shard2 shard3 --out whole
      episem report whole
    """
    shards = [Shard.of(directory, open_run(directory, events=False)) for directory in directories]
    joined = merge_runs(directories, out)
    show(merge_page(shards, joined, out))
