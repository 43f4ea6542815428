"""The outcome suite's half of a run directory: its plan, from ``run.json``, with its records; and joining shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_episem.errors import EpisemError
from pytest_episem.runs.run import RUN_FILE, OutcomePlan, RunHeader
from pytest_episem.text import printable
from pytest_episem.workflows.records import (
    OUTCOMES_FILE,
    OutcomeRecord,
    OutcomeWriter,
    encodable,
    read_outcome_file,
)


@dataclass(frozen=True)
class OutcomeRun:
    """What a run planned in the outcome suite and what it recorded; ``torn`` if a torn last record was skipped."""

    header: RunHeader
    plan: OutcomePlan
    records: tuple[OutcomeRecord, ...]
    torn: bool = False
    directory: Path | None = None


def open_outcome_run(directory: Path | str) -> OutcomeRun | None:
    """Read the outcome suite's half of a run; ``None`` if the run has none.

    Raises:
        EpisemError: a file is not sound, or it holds a record that the plan does not account for: of another case, or
            of another agent.
    """
    directory = Path(directory)
    header = RunHeader.load(directory)
    records, torn = read_outcome_file(directory)
    path = directory / OUTCOMES_FILE
    if header.outcomes is None:
        if records:
            raise EpisemError(f"{path}: holds outcome records, but {RUN_FILE} plans none")
        return None
    _check(header.outcomes, records, path)
    return OutcomeRun(header, header.outcomes, tuple(records), torn, directory)


def _check(plan: OutcomePlan, records: Sequence[OutcomeRecord], path: Path) -> None:
    planned = set(plan.planned)
    for record in records:
        name = printable(record.id)
        if record.agent != encodable(plan.agent):
            agents = f"{printable(record.agent)!r}, the run is of {printable(plan.agent)!r}"
            raise EpisemError(f"{path}: {name} is of {agents}")
        if record.id not in planned:
            raise EpisemError(f"{path}: {name} is a case that the plan in {RUN_FILE} does not list")


def merge_outcomes(shards: Sequence[OutcomeRun | None], out: Path) -> OutcomeRun | None:
    """Write the outcome records of shards into the joined run ``out``, whose ``run.json`` is there already.

    Where several shards hold a case, the first of them goes before. ``None`` if the run has no outcome suite.
    """
    joined = RunHeader.load(out)
    if joined.outcomes is None:
        return None
    found: dict[str, OutcomeRecord] = {}
    for shard in shards:
        for record in shard.records if shard is not None else ():
            found.setdefault(record.id, replace(record, run=joined.run))
    with OutcomeWriter(out) as writer:
        for record in found.values():
            writer.write(record)
    return open_outcome_run(out)
