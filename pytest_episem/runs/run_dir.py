"""A run directory, header and trials together, and the joining of shards."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_episem.errors import EpisemError
from pytest_episem.runs.owner import owned
from pytest_episem.runs.record import trial_to_json
from pytest_episem.runs.run import PLANNED, RUN_FILE, PlanTask, RunHeader, SessionEnd, WorkflowPlan, mismatch
from pytest_episem.runs.store import (
    TRIALS_FILE,
    Line,
    Place,
    TrialLog,
    TrialWriter,
    iter_trials,
    rank,
    read_trials,
    records_at,
    refuse_contradiction,
)
from pytest_episem.suite import suite
from pytest_episem.text import printable


@dataclass(frozen=True)
class Run:
    """A run: its header and its trials by condition; ``torn``, ``duplicates``, ``places`` and ``unreadable`` as in
    ``TrialLog``."""

    header: RunHeader
    trials: Mapping[Any, Any]
    directory: Path | None = None
    torn: int = 0
    duplicates: int = 0
    places: Mapping[Any, Place] = field(default_factory=dict)
    unreadable: Sequence[str] = ()

    @property
    def plan(self) -> list[PlanTask]:
        """The pairs of the plan, from which N, c and every denominator come."""
        return self.header.plan

    def of(self, suite: str) -> dict[Any, Any]:
        """Return the trials of one suite."""
        return {condition: trial for condition, trial in self.trials.items() if condition.suite == suite}

    def records(self, trials: Iterable[Any]) -> Iterator[str]:
        """Yield the records of some of the run's trials, in order, as JSON text with the event logs: those of a run
        directory are taken from its file one by one, so that nobody holds more than one.

        Raises:
            EpisemError: the file cannot be read any more, or was changed.
        """
        if self.directory is None or not self.places:
            return (trial_to_json(trial, self.header.run, self.header.label) for trial in trials)
        return records_at(self.directory / TRIALS_FILE, (self.places[trial.condition] for trial in trials))


def open_run(directory: Path | str, events: bool = True) -> Run:
    """Read a run directory; without a ``trials.jsonl`` yet it has no trials.

    Besides the faults of its two files it refuses a trial that the header does not account for: of a task or atom
    outside the plan, of another run or of another model. ``events=False`` leaves the event logs out and keeps memory
    flat.
    """
    directory = Path(directory)
    header = RunHeader.load(directory)
    path = directory / TRIALS_FILE
    log = read_trials(path, events) if path.exists() else TrialLog(path)
    _check_trials(header, log, path)
    return Run(header, log.trials, directory, log.torn, log.duplicates, log.places, log.unreadable)


def _check_trials(header: RunHeader, log: TrialLog, path: Path) -> None:
    asked = {name: suite(name).unplanned(header) for name in header.suites}
    for condition, trial in log.trials.items():
        if condition.suite not in asked:
            raise EpisemError(f"{path}: holds a trial of the suite {condition.suite}, but {RUN_FILE} plans none")
        fault = asked[condition.suite](trial)
        if fault:
            raise EpisemError(f"{path}: {printable(condition.id)} {fault}")
    for model, line in log.models.items() if header.model is not None else ():
        if model != header.label:
            raise EpisemError(
                f"{path} line {line}: holds trials of {printable(model)!r}, the run is of {printable(header.label)!r}"
            )
    for run, line in log.runs.items():
        if run not in (header.run, *header.merged):
            raise EpisemError(
                f"{path} line {line}: is of run {printable(run)!r}, {RUN_FILE} is of {printable(header.run)!r}"
            )


def merge_runs(directories: Sequence[Path | str], out: Path | str) -> Run:
    """Join the shards of one run into a new directory ``out`` and return the joined run, without event logs.

    Shards must agree in bank, protocol version, model, agent, search seed and settings, else each difference is
    named. The plan is the union; a task that several shards list keeps the largest ``selected`` of them, so that
    merging a run with itself changes nothing and no order of merging matters. Records are united under the key
    rule, ties going to the directory named first, and carry the joined run's name: the shards' own if they share
    one, else a name made from theirs. Lines that are no records are left out.

    Raises:
        EpisemError: the shards differ, a shard is not sound, or two records contradict each other, in one shard or
            between two.
    """
    sources, target = [Path(d) for d in directories], Path(out)
    if not sources:
        raise EpisemError("merge: name at least one run directory")
    if (target / RUN_FILE).exists() or (target / TRIALS_FILE).exists():
        raise EpisemError(f"{target}: already holds a run; merge into a new directory")
    headers = [RunHeader.load(source) for source in sources]
    joined = _joined_header(headers, sources)
    winners = _winners(sources, headers)
    with owned(target):
        if (target / RUN_FILE).exists():
            raise EpisemError(f"{target}: already holds a run; merge into a new directory")
        try:
            joined.save(target)
            with TrialWriter(target, joined.run, joined.label) as writer:
                for log in winners.logs:
                    for line in _lines(log.path, events=True):
                        if line.trial is not None and winners.holds(log, line):
                            writer.write(line.trial)
        except BaseException:  # half of a joined run would look like a whole one
            for name in (RUN_FILE, TRIALS_FILE):
                with contextlib.suppress(OSError):
                    (target / name).unlink()
            raise
    return open_run(target, events=False)


def _lines(path: Path, events: bool) -> Iterator[Line]:
    return iter_trials(path, events) if path.exists() else iter(())


@dataclass(slots=True)
class _Winners:
    """The logs of several shards, and for each condition the one whose record stays."""

    logs: list[TrialLog] = field(default_factory=list)
    winners: dict[Any, TrialLog] = field(default_factory=dict)

    def add(self, log: TrialLog) -> None:
        """Take one more shard.

        Raises:
            EpisemError: a record of it contradicts one of an earlier shard.
        """
        self.logs.append(log)
        for condition, trial in log.trials.items():
            present = self.winners.setdefault(condition, log)
            if present is not log:
                best = present.trials[condition]
                refuse_contradiction(best, present.where(condition), trial, log.where(condition))
                if rank(trial) > rank(best):
                    self.winners[condition] = log

    def holds(self, log: TrialLog, line: Line) -> bool:
        """Whether the record on a line of a shard is one that stays."""
        condition = line.trial.condition if line.trial is not None else None
        return condition is not None and self.winners[condition] is log and log.places[condition] == line.place


def _winners(sources: Sequence[Path], headers: Sequence[RunHeader]) -> _Winners:
    found = _Winners()
    for source, header in zip(sources, headers, strict=True):
        log = TrialLog(source / TRIALS_FILE)
        for line in _lines(log.path, events=False):
            log.add(line)
        _check_trials(header, log, log.path)
        found.add(log)
    return found


def _joined_header(headers: Sequence[RunHeader], sources: Sequence[Path]) -> RunHeader:
    first = headers[0]
    for header, source in zip(headers[1:], sources[1:], strict=True):
        differences = mismatch(first, header, (f"in {sources[0]}", f"in {source}"))
        if differences:
            raise EpisemError(f"cannot merge: {'; '.join(differences)}")
    base = min(headers, key=lambda h: (h.started, h.run))
    names = sorted({h.run for h in headers})
    digest = hashlib.sha256("\x1f".join(names).encode("utf-8", "backslashreplace")).hexdigest()
    name = names[0] if len(names) == 1 else f"merge-{digest[:12]}"
    made_of = {one for header in headers for one in (header.run, *header.merged)} - {name}
    ends = [header.session for header in headers if header.session is not None]
    return replace(joined_plans(base, headers), run=name, merged=sorted(made_of), session=_joined_end(ends))


def _joined_end(ends: Sequence[SessionEnd]) -> SessionEnd | None:
    """Return how the sessions of several shards ended; if one did not, the whole did not."""
    if not ends:
        return None
    times = [end.ended for end in ends if end.ended is not None]
    complaints = dict.fromkeys(complaint for end in ends for complaint in end.complaints)
    return SessionEnd(max(times) if len(times) == len(ends) else None, list(complaints))


def joined_plans(base: RunHeader, headers: Sequence[RunHeader]) -> RunHeader:
    """Return ``base`` with everything that any of ``headers`` planned.

    Raises:
        EpisemError: the plans differ in a task's atoms.
    """
    settings = [setting for setting in PLANNED if any(setting in header.planned_settings for header in headers)]
    return replace(base, plan=joined_plan(headers), workflows=joined_workflows(headers), planned_settings=settings)


def joined_workflows(headers: Sequence[RunHeader]) -> WorkflowPlan | None:
    """Return the union of the plans of the workflow suite, in the order in which they name their cases."""
    plans = [header.workflows for header in headers if header.workflows is not None]
    if not plans:
        return None
    planned = list(dict.fromkeys(case for plan in plans for case in plan.planned))
    pilot = {case for plan in plans for case in plan.pilot}
    return replace(plans[0], planned=planned, pilot=[case for case in planned if case in pilot])


def joined_plan(headers: Sequence[RunHeader]) -> list[PlanTask]:
    """Return the union of the plans; a task in several keeps the largest ``selected`` of them.

    Raises:
        EpisemError: the plans differ in a task's atoms.
    """
    plan: dict[str, PlanTask] = {}
    for task in (task for header in headers for task in header.plan):
        present = plan.setdefault(task.task, task)
        if replace(task, selected=present.selected) != present:
            raise EpisemError(f"cannot merge: the plans differ in the atoms of {printable(task.task)!r}")
        plan[task.task] = replace(present, selected=max(present.selected, task.selected))
    return [plan[name] for name in sorted(plan)]
