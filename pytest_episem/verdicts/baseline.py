"""A baseline: what each task contributed to each of the six metrics in a run that people agreed to measure against.

``episem bless`` writes it as one small JSON file (schema ``episem.baseline/1``), one task a line, fit for version
control: ``{"schema", "run", "model", "agent", "bank", "protocol_version", "search_seed", "started", "metrics": [the
six names], "tasks": {task id: {"critical": [ids], "irrelevant": [ids], "values": [a number from 0 to 1 a metric]}}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_episem.errors import EpisemError, UnknownName, suggestion
from pytest_episem.evidence.metrics.six import METRICS, SIX
from pytest_episem.evidence.metrics.tasks import TaskTrials, group
from pytest_episem.files import read_regular
from pytest_episem.runs.run import BankId, RunHeader
from pytest_episem.runs.run_dir import Run, open_evidence
from pytest_episem.runs.whole import write_whole
from pytest_episem.suite import Metric
from pytest_episem.text import check_schema, dump_json, load_json, printable

BASELINE_SCHEMA = "episem.baseline/1"


@dataclass(frozen=True, slots=True)
class BaselineTask:
    """A task's atoms, and its part of each metric, 0 to 1; ``None`` where the run did not decide it."""

    critical: tuple[str, ...]
    irrelevant: tuple[str, ...]
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Baseline:
    """The values of a run by task id, and which bank and protocol they hold for."""

    run: str
    model: str | None
    agent: str | None
    bank: BankId
    protocol_version: str
    search_seed: str
    started: str
    tasks: Mapping[str, BaselineTask]
    merged: tuple[str, ...] = ()
    """The runs that a merged run, given as its directory, was made of."""
    metrics: tuple[Metric, ...] = METRICS
    """What it has values of: an older file knows fewer."""

    @classmethod
    def of_run(cls, run: Run) -> Baseline:
        """Return the baseline that a run gives."""
        header = run.header
        tasks = group(header.plan, run.trials, header.search_seed)
        return cls(
            run=header.run,
            model=header.model,
            agent=header.agent,
            bank=header.bank,
            protocol_version=header.protocol_version,
            search_seed=header.search_seed,
            started=header.started,
            tasks={task.plan.task: _baseline_task(task) for task in tasks},
            merged=tuple(header.merged),
        )

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """Read a baseline file or a run directory.

        Raises:
            EpisemError: it is neither, or not sound; the message names the file.
        """
        if path.is_dir():
            return cls.of_run(open_evidence(path, "baselines are"))
        try:
            document = load_json(read_regular(path), once=True)
        except OSError as fault:
            raise EpisemError(f"{path}: cannot be read: {fault.strerror}") from None
        except ValueError as fault:
            raise EpisemError(f"{path}: {printable(fault)}") from None
        return _read(check_schema(document, BASELINE_SCHEMA, str(path)), str(path))

    def incomplete(self) -> list[str]:
        """Return the tasks that miss one of the six, sorted."""
        return sorted(name for name, task in self.tasks.items() if None in task.values.values())

    def save(self, path: Path) -> None:
        """Write the file in one step.

        Raises:
            EpisemError: a task misses a value, or there is none.
        """
        open_tasks = self.incomplete()
        if open_tasks or not self.tasks:
            what = f"{len(open_tasks)} tasks are incomplete, the first: {open_tasks[0]}" if open_tasks else "no task"
            raise EpisemError(f"run {printable(self.run)} cannot be a baseline: {what}")
        lines = [f"  {dump_json(name)}: {dump_json(_task_json(task))}" for name, task in sorted(self.tasks.items())]
        head = {
            "schema": BASELINE_SCHEMA,
            "run": self.run,
            "model": self.model,
            "agent": self.agent,
            "bank": asdict(self.bank),
            "protocol_version": self.protocol_version,
            "search_seed": self.search_seed,
            "started": self.started,
            "metrics": [metric.name for metric in self.metrics],
        }
        parts = [f" {dump_json(key)}: {dump_json(value)}" for key, value in head.items()]
        parts.append(' "tasks": {\n' + ",\n".join(lines) + "\n }")
        write_whole(path, "{\n" + ",\n".join(parts) + "\n}\n")

    def refuse_other(self, header: RunHeader, where: str) -> None:
        """Refuse a run that cannot be held against this baseline.

        Raises:
            EpisemError: it is the run itself or a part of it; or bank, protocol version or search seed differ.
        """
        same = {self.run, *self.merged} & {header.run, *header.merged}
        if same:
            raise EpisemError(f"{where}: a run cannot be held against itself: both hold run {printable(min(same))}")
        pairs = (
            ("bank name", self.bank.name, header.bank.name),
            ("bank version", self.bank.version, header.bank.version),
            ("bank hash", self.bank.hash, header.bank.hash),
            ("protocol version", self.protocol_version, header.protocol_version),
            ("search seed", self.search_seed, header.search_seed),
        )
        found = [f"{what}: {printable(a)} there, {printable(b)} now" for what, a, b in pairs if a != b]
        if found:
            raise EpisemError(f"{where}: this run cannot be held against it: {'; '.join(found)}; bless a new baseline")


def _baseline_task(task: TaskTrials) -> BaselineTask:
    values = {name: metric.value(task) if metric.covered(task) else None for name, metric in SIX.items()}
    return BaselineTask(tuple(sorted(task.plan.critical)), tuple(sorted(task.plan.irrelevant)), values)


def _task_json(task: BaselineTask) -> dict[str, Any]:
    return {
        "critical": list(task.critical),
        "irrelevant": list(task.irrelevant),
        "values": dict(task.values),
    }


_TEXTS = ("run", "protocol_version", "search_seed", "started")
_KEYS = {"schema", "model", "agent", "bank", "metrics", "tasks", *_TEXTS}
_NAMES = ("name", "version", "hash")


def _read(document: Mapping[str, Any], where: str) -> Baseline:
    unknown, lacking = sorted(document.keys() - _KEYS), sorted(_KEYS - document.keys())
    if unknown:
        raise EpisemError(f"{where}: unknown key {printable(repr(unknown[0]))}{suggestion(unknown[0], _KEYS)}")
    if lacking:
        raise EpisemError(f"{where}: key {lacking[0]!r} is missing")
    bank, tasks = document["bank"], document["tasks"]
    names = _metric_names(document["metrics"], where)
    _expect(all(isinstance(document[key], str) for key in _TEXTS), where, f"expected text in {', '.join(_TEXTS)}")
    for key in ("model", "agent"):
        _expect(document[key] is None or isinstance(document[key], str), where, f"{key}: expected text or null")
    _expect(isinstance(bank, dict) and set(bank) == set(_NAMES), where, f"bank: expected {', '.join(_NAMES)}")
    _expect(all(isinstance(bank[key], str) for key in _NAMES), where, "bank: expected text")
    _expect(isinstance(tasks, dict) and bool(tasks), where, "tasks: expected an object with at least one task")
    return Baseline(
        bank=BankId(**bank),
        tasks={name: _read_task(task, names, f"{where}: {printable(name)}") for name, task in tasks.items()},
        metrics=tuple(SIX[name] for name in names),
        model=document["model"],
        agent=document["agent"],
        **{key: document[key] for key in _TEXTS},
    )


def _metric_names(names: Any, where: str) -> list[str]:
    """Return the metrics that a file has values of: all, or those that there were when it was written."""
    listed = isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names)
    _expect(listed and len(set(names)) == len(names), where, f"metrics: expected some of {', '.join(SIX)}, each once")
    unknown = next((name for name in names if name not in SIX), None)
    if unknown is not None:
        raise UnknownName(f"metric in {where}", printable(unknown), SIX)
    return list(names)


def _read_task(task: Any, names: list[str], where: str) -> BaselineTask:
    keys = {"critical", "irrelevant", "values"}
    _expect(isinstance(task, dict) and set(task) == keys, where, f"expected {', '.join(sorted(keys))}")
    for key in ("critical", "irrelevant"):
        listed = isinstance(task[key], list) and all(isinstance(atom, str) for atom in task[key])
        _expect(listed, where, f"{key}: expected a list of atom ids")
    values = task["values"]
    if isinstance(values, list) and len(values) == len(names):  # as they were written before they had names
        values = dict(zip(names, values, strict=True))
    whole = isinstance(values, dict) and values.keys() == set(names)
    _expect(whole, where, f"values: expected a number for each of {', '.join(names)}")
    sound = all(type(value) in (int, float) and 0 <= value <= 1 for value in values.values())
    _expect(sound, where, "values: expected numbers from 0 to 1")
    atoms = tuple(sorted(task["critical"])), tuple(sorted(task["irrelevant"]))
    return BaselineTask(*atoms, {name: float(values[name]) for name in names})


def _expect(condition: bool, where: str, message: str) -> None:
    if not condition:
        raise EpisemError(f"{where}: {message}")
