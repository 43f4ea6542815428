"""The workflow suite's half of a run directory: its plan, from ``run.json``, with its records; and joining shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_episem.errors import EpisemError
from pytest_episem.runs.run import RUN_FILE, RunHeader, WorkflowPlan
from pytest_episem.text import printable
from pytest_episem.workflows.records import (
    WORKFLOWS_FILE,
    WorkflowRecord,
    WorkflowWriter,
    encodable,
    read_workflow_file,
    refuse_contradiction,
)


@dataclass(frozen=True)
class WorkflowRun:
    """What a run planned in the workflow suite and what it recorded; ``torn`` if a torn last record was skipped."""

    header: RunHeader
    plan: WorkflowPlan
    records: tuple[WorkflowRecord, ...]
    torn: bool = False
    directory: Path | None = None


def open_workflow_run(directory: Path | str) -> WorkflowRun | None:
    """Read the workflow suite's half of a run; ``None`` if the run has none.

    Raises:
        EpisemError: a file is not sound, or it holds a record that the header does not account for: of another case, of
            another agent or of another run.
    """
    directory = Path(directory)
    header = RunHeader.load(directory)
    records, torn = read_workflow_file(directory)
    path = directory / WORKFLOWS_FILE
    if header.workflows is None:
        if records:
            raise EpisemError(f"{path}: holds workflow records, but {RUN_FILE} plans none")
        return None
    _check(header, header.workflows, records, path)
    return WorkflowRun(header, header.workflows, tuple(records), torn, directory)


def _check(header: RunHeader, plan: WorkflowPlan, records: Sequence[WorkflowRecord], path: Path) -> None:
    runs = {encodable(run) for run in (header.run, *header.merged)}
    planned = set(plan.planned)
    for record in records:
        name = printable(record.id)
        if record.agent != encodable(plan.agent):
            agents = f"{printable(record.agent)!r}, the run is of {printable(plan.agent)!r}"
            raise EpisemError(f"{path}: {name} is of {agents}")
        if record.run not in runs:
            whose = f"run {printable(record.run)!r}, {RUN_FILE} is of {printable(header.run)!r}"
            raise EpisemError(f"{path}: {name} is of {whose}")
        if record.id not in planned:
            raise EpisemError(f"{path}: {name} is a case that the plan in {RUN_FILE} does not list")


def merge_workflows(shards: Sequence[WorkflowRun | None], out: Path) -> WorkflowRun | None:
    """Write the workflow records of shards into the joined run ``out``, whose ``run.json`` is there already.

    Where several shards hold a case, the first of them goes before. ``None`` if the run has no workflow suite.

    Raises:
        EpisemError: two shards contradict each other.
    """
    joined = RunHeader.load(out)
    if joined.workflows is None:
        return None
    with WorkflowWriter(out) as writer:
        for record in united(shards):
            writer.write(replace(record, run=joined.run))
    return open_workflow_run(out)


def united(shards: Sequence[WorkflowRun | None]) -> list[WorkflowRecord]:
    """Return the workflow records of shards, of each case the first.

    Raises:
        EpisemError: two shards contradict each other; names both.
    """
    found: dict[str, tuple[WorkflowRecord, WorkflowRun]] = {}
    for shard in filter(None, shards):
        for record in shard.records:
            first, source = found.setdefault(record.id, (record, shard))
            refuse_contradiction(first, str(source.directory), record, str(shard.directory))
    return [record for record, _ in found.values()]
