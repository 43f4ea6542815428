"""What ``episem merge`` has to say: what each shard brought and what the joined run holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from pytest_episem.report.layout import Cell, Justify, counted, page, prose, table, text
from pytest_episem.runs.run_dir import Run


@dataclass(frozen=True, slots=True)
class Shard:
    """The sizes of one run: tasks selected, trials, those of them that ended in an error, torn and double records."""

    name: str
    tasks: int
    trials: int
    errors: int
    torn: int
    duplicates: int

    @classmethod
    def of(cls, directory: Path, run: Run) -> Shard:
        """Measure a run."""
        return cls(
            name=str(directory),
            tasks=sum(task.selected > 0 for task in run.plan) + _workflows(run),
            trials=len(run.trials),
            errors=sum(not trial.completed for trial in run.trials.values()),
            torn=run.torn,
            duplicates=run.duplicates,
        )


_COLUMNS: list[tuple[str, Justify]] = [
    ("run", "left"),
    ("tasks", "right"),
    ("trials", "right"),
    ("errors", "right"),
    ("duplicates", "right"),
    ("torn", "right"),
]


def merge_page(shards: list[Shard], joined: Run, out: Path) -> RenderableType:
    """Return a line for each shard and one for the run they make."""
    whole = Shard.of(out, joined)
    between = sum(shard.trials for shard in shards) - whole.trials
    notes = [f"run {joined.header.run} of {joined.header.label}"]
    if between:
        notes.append(f"{counted(between, 'trial')} of a condition that another run holds as well were left out")
    if any(shard.torn for shard in shards):
        notes.append("torn: a last record that a killed run left half written was skipped")
    lines = [_line(shard) for shard in shards]
    return page(table(_COLUMNS, [*lines, _line(whole)], by=0), text(""), *(prose(note, 0) for note in notes))


def _line(shard: Shard) -> list[Cell]:
    numbers = (shard.tasks, shard.trials, shard.errors, shard.duplicates, shard.torn)
    return [shard.name, *(f"{number:,}" for number in numbers)]


def _workflows(run: Run) -> int:
    plan = run.header.workflows
    return len({case.rpartition("/")[0] for case in plan.planned}) if plan is not None else 0
