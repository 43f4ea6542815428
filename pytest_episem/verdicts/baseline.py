"""A baseline: what each pair or case contributed to each metric in a run that people agreed to measure against.

``episem bless`` writes it as one small JSON file (schema ``episem.baseline/1``), one task a line, fit for version
control: ``{"schema", "suite", "run", "model", "agent", "bank", "protocol_version", "search_seed", "started",
"played": {what is the test's and not the agent's: its value}, "metrics": [names], "tasks": {id: {what must be the same,
such as "critical": [ids], "values": {metric: 0 to 1}}}}``.
Without ``suite``, as in older files, it is of the evidence suite; without ``played`` nothing is said of how the run was
played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_episem.errors import EpisemError, UnknownName, suggestion
from pytest_episem.files import read_regular
from pytest_episem.runs.run import BankId, RunHeader
from pytest_episem.runs.run_dir import Run, open_run
from pytest_episem.runs.whole import write_whole
from pytest_episem.suite import SUITES, Measured, Metric, Suite, suite
from pytest_episem.text import check_schema, dump_json, load_json, printable

BASELINE_SCHEMA = "episem.baseline/1"


@dataclass(frozen=True, slots=True)
class BaselineTask:
    """What a task must have in common with another run's to be compared (a pair: its atoms), and its part of each
    metric, 0 to 1; ``None`` where the run did not decide it."""

    terms: Mapping[str, tuple[str, ...]]
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
    suite: str = "evidence"
    metrics: tuple[Metric, ...] = ()
    """What it has values of: an older file knows fewer."""
    played: Mapping[str, str] = field(default_factory=dict)
    """How the run was played (:meth:`pytest_episem.suite.Suite.played`)."""

    @classmethod
    def of_run(cls, run: Run, name: str | None = None, banks: Sequence[Any] = ()) -> Baseline:
        """Return the baseline that a run gives in one of its suites, by default its first; ``banks`` are those at hand,
        with which records are replayed."""
        header = run.header
        played = suite(name or header.suites[0])
        tasks = played.group(run, banks)
        return cls(
            run=header.run,
            model=header.model,
            agent=header.agent,
            bank=played.source(header),
            protocol_version=header.protocol_version,
            search_seed=header.search_seed,
            started=header.started,
            tasks={task.id: _baseline_task(task, played.metrics) for task in tasks},
            merged=tuple(header.merged),
            suite=played.name,
            metrics=played.metrics,
            played=played.played(header),
        )

    @classmethod
    def load(cls, path: Path, name: str | None = None, banks: Sequence[Any] = ()) -> Baseline:
        """Read a baseline file, or a run directory as :meth:`of_run` does.

        Raises:
            EpisemError: it is neither, or not sound; the message names the file.
        """
        if path.is_dir():
            return cls.of_run(open_run(path, events=False), name, banks)
        try:
            document = load_json(read_regular(path), once=True)
        except OSError as fault:
            raise EpisemError(f"{path}: cannot be read: {fault.strerror}") from None
        except ValueError as fault:
            raise EpisemError(f"{path}: {printable(fault)}") from None
        return _read(check_schema(document, BASELINE_SCHEMA, str(path)), str(path))

    def incomplete(self) -> list[str]:
        """Return the tasks that miss a metric, sorted."""
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
            "suite": self.suite,
            "run": self.run,
            "model": self.model,
            "agent": self.agent,
            "bank": asdict(self.bank),
            "protocol_version": self.protocol_version,
            "search_seed": self.search_seed,
            "started": self.started,
            "played": dict(self.played),
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
        if self.suite not in header.suites:
            raise EpisemError(f"{where}: is a baseline of the suite {self.suite}, which this run does not play")
        bank = suite(self.suite).source(header)
        same = {self.run, *self.merged} & {header.run, *header.merged}
        if same:
            raise EpisemError(f"{where}: a run cannot be held against itself: both hold run {printable(min(same))}")
        pairs = (
            ("bank name", self.bank.name, bank.name),
            ("bank version", self.bank.version, bank.version),
            ("bank hash", self.bank.hash, bank.hash),
            ("protocol version", self.protocol_version, header.protocol_version),
            ("search seed", self.search_seed, header.search_seed),
        )
        now = suite(self.suite).played(header)
        told = ((what, self.played.get(what, "unknown"), now.get(what, "unknown")) for what in {**self.played, **now})
        found = [f"{what}: {printable(a)} there, {printable(b)} now" for what, a, b in (*pairs, *told) if a != b]
        if found:
            raise EpisemError(f"{where}: this run cannot be held against it: {'; '.join(found)}; bless a new baseline")


def _baseline_task(task: Measured, metrics: Sequence[Metric]) -> BaselineTask:
    values = {metric.name: metric.value(task) if metric.covered(task) else None for metric in metrics}
    return BaselineTask({key: tuple(names) for key, names in task.terms.items()}, values)


def _task_json(task: BaselineTask) -> dict[str, Any]:
    return {**{key: list(names) for key, names in task.terms.items()}, "values": dict(task.values)}


_TEXTS = ("run", "protocol_version", "search_seed", "started")
_KEYS = {"schema", "model", "agent", "bank", "metrics", "tasks", *_TEXTS}
_LATER = {"suite", "played"}
"""Keys that older files lack."""
_NAMES = ("name", "version", "hash")


def _read(document: Mapping[str, Any], where: str) -> Baseline:
    known = _KEYS | _LATER
    unknown, lacking = sorted(document.keys() - known), sorted(_KEYS - document.keys())
    if unknown:
        raise EpisemError(f"{where}: unknown key {printable(repr(unknown[0]))}{suggestion(unknown[0], known)}")
    if lacking:
        raise EpisemError(f"{where}: key {lacking[0]!r} is missing")
    bank, tasks = document["bank"], document["tasks"]
    of = document.get("suite", "evidence")
    if of not in SUITES:
        raise UnknownName(f"suite in {where}", printable(str(of)), SUITES)
    metrics = {metric.name: metric for metric in suite(of).metrics}
    names = _metric_names(document["metrics"], metrics, where)
    _expect(all(isinstance(document[key], str) for key in _TEXTS), where, f"expected text in {', '.join(_TEXTS)}")
    for key in ("model", "agent"):
        _expect(document[key] is None or isinstance(document[key], str), where, f"{key}: expected text or null")
    _expect(isinstance(bank, dict) and set(bank) == set(_NAMES), where, f"bank: expected {', '.join(_NAMES)}")
    _expect(all(isinstance(bank[key], str) for key in _NAMES), where, "bank: expected text")
    played = document.get("played", {})
    told = isinstance(played, dict) and all(isinstance(value, str) for value in played.values())
    _expect(told, where, "played: expected an object of texts")
    _expect(isinstance(tasks, dict) and bool(tasks), where, "tasks: expected an object with at least one task")
    return Baseline(
        bank=BankId(**bank),
        tasks={name: _read_task(task, suite(of), names, f"{where}: {printable(name)}") for name, task in tasks.items()},
        metrics=tuple(metrics[name] for name in names),
        suite=of,
        played=played,
        model=document["model"],
        agent=document["agent"],
        **{key: document[key] for key in _TEXTS},
    )


def _metric_names(names: Any, known: Mapping[str, Metric], where: str) -> list[str]:
    """Return the metrics that a file has values of: all, or those that there were when it was written."""
    listed = isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names)
    _expect(listed and len(set(names)) == len(names), where, f"metrics: expected some of {', '.join(known)}, each once")
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise UnknownName(f"metric in {where}", printable(unknown), known)
    return list(names)


def _read_task(task: Any, of: Suite, names: list[str], where: str) -> BaselineTask:
    keys = {*of.terms, "values"}
    _expect(isinstance(task, dict) and set(task) == keys, where, f"expected {', '.join(sorted(keys))}")
    for key in of.terms:
        listed = isinstance(task[key], list) and all(isinstance(name, str) for name in task[key])
        _expect(listed, where, f"{key}: expected a list of atom ids")
    values = task["values"]
    if isinstance(values, list) and len(values) == len(names):  # as they were written before they had names
        values = dict(zip(names, values, strict=True))
    whole = isinstance(values, dict) and values.keys() == set(names)
    _expect(whole, where, f"values: expected a number for each of {', '.join(names)}")
    sound = all(type(value) in (int, float) and 0 <= value <= 1 for value in values.values())
    _expect(sound, where, "values: expected numbers from 0 to 1")
    terms = {key: tuple(sorted(task[key])) for key in of.terms}
    return BaselineTask(terms, {name: float(values[name]) for name in names})


def _expect(condition: bool, where: str, message: str) -> None:
    if not condition:
        raise EpisemError(f"{where}: {message}")
