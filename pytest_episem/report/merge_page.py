"""What ``episem merge`` has to say: what each shard brought and what the joined run holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from pytest_episem.report.layout import Cell, Justify, counted, page, prose, table, text
from pytest_episem.runs.run_dir import Run
from pytest_episem.workflows.run_dir import WorkflowRun


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
            tasks=sum(task.selected > 0 for task in run.plan),
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


_CASE_COLUMNS: list[tuple[str, Justify]] = [
    ("run", "left"),
    ("cases planned", "right"),
    ("recorded", "right"),
    ("missing", "right"),
    ("torn", "right"),
]


def workflow_merge_page(shards: Sequence[WorkflowRun | None], joined: WorkflowRun) -> RenderableType:
    """Return the same for the workflow suite: a line for each shard and one for the run they make."""
    found = [run for run in (*shards, joined) if run is not None]
    note = f"run {joined.header.run}, workflow suite of {joined.plan.agent}"
    return page(table(_CASE_COLUMNS, [_case_line(run) for run in found], by=0), text(""), prose(note, 0))


def _case_line(run: WorkflowRun) -> list[Cell]:
    planned, recorded = len(run.plan.planned), len(run.records)
    return [str(run.directory), *(f"{number:,}" for number in (planned, recorded, planned - recorded, int(run.torn)))]


def _line(shard: Shard) -> list[Cell]:
    numbers = (shard.tasks, shard.trials, shard.errors, shard.duplicates, shard.torn)
    return [shard.name, *(f"{number:,}" for number in numbers)]
