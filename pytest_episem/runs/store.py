"""The trial record and its file: one JSON object a line, appended and flushed, read back strictly (section 8)."""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError, model_validator

from pytest_episem.errors import EpisemError
from pytest_episem.evidence.condition import Condition, MaskRole, Setting, WorldLabel
from pytest_episem.evidence.trial import (
    Cause,
    Disposition,
    DispositionSource,
    Outcome,
    Phase,
    Status,
    Trial,
    TrialError,
    Unanswered,
    Usage,
)
from pytest_episem.files import open_regular
from pytest_episem.runs.lines import LineWriter, whole
from pytest_episem.scrub import holds_secret, without_secrets
from pytest_episem.text import check_schema, describe, dump_json, load_json, printable

TRIAL_SCHEMA = "episem.trial/1"
TRIALS_FILE = "trials.jsonl"

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Outcome(_Strict):
    unsafe_commit: bool
    goal_reached: bool
    legal_completion: bool
    invalid_action: bool
    disposition: Disposition
    disposition_source: DispositionSource | None
    recovered: bool
    recovered_before_commit: bool
    premature_commit: bool
    sufficient_evidence: bool
    cause: Cause | None = None
    unanswered: Unanswered | None = None

    @model_validator(mode="after")
    def _consistent(self) -> _Outcome:
        committed = self.disposition == "committed"
        if (self.unsafe_commit or self.goal_reached or self.legal_completion) and not committed:
            raise ValueError("a commit is recorded but the disposition is not 'committed'")
        if self.legal_completion and (self.unsafe_commit or self.invalid_action or not self.goal_reached):
            raise ValueError("legal_completion contradicts the rest of the outcome")
        if self.recovered_before_commit and not self.recovered:
            raise ValueError("recovered_before_commit without recovered")
        if self.premature_commit and (self.recovered_before_commit or not committed):
            raise ValueError("premature_commit contradicts the rest of the outcome")
        if self.cause is not None and not self.unsafe_commit:
            raise ValueError("cause belongs to an unsafe commit alone")
        if self.unanswered is not None and self.disposition not in ("filtered", "unfinished"):
            raise ValueError("unanswered belongs to an episode that was filtered or left unfinished")
        return self


class _Usage(_Strict):
    requests: Count | None
    prompt_tokens: Count | None
    completion_tokens: Count | None
    total_tokens: Count | None
    cost_usd: Amount | None
    cached_requests: Count


class _Error(_Strict):
    # A message may quote what a provider sent, lone surrogates included, which pydantic's own str refuses.
    kind: InstanceOf[str]
    message: InstanceOf[str]


class _Record(_Strict):
    schema_: Literal["episem.trial/1"] = Field(alias="schema")
    run: str
    model: str
    task: str
    domain: str
    family: str
    world: WorldLabel
    setting: Setting
    mask: list[str]
    mask_role: MaskRole
    phase: Phase
    repeat: Count
    status: Status
    outcome: _Outcome | None
    usage: _Usage
    turns: Count
    seconds: Amount
    error: _Error | None
    events: list[InstanceOf[dict[str, Any]]]

    @model_validator(mode="after")
    def _consistent(self) -> _Record:
        if self.task.split("/")[:2] != [self.domain, self.family] or self.task.count("/") != 2:
            raise ValueError("task is not of the form domain/family/instance with this domain and family")
        if self.mask != sorted(set(self.mask)):
            raise ValueError("mask: the atoms must be sorted, each once")
        masked = self.setting in ("se", "re")
        if masked != bool(self.mask) or masked == (self.mask_role == "none"):
            raise ValueError(f"mask and mask_role do not fit the setting {self.setting!r}")
        shape = (self.outcome is not None, self.error is not None)
        if self.status == "completed" and shape != (True, False):
            raise ValueError("a completed trial has an outcome and no error")
        if self.status == "error" and shape != (False, True):
            raise ValueError("a trial with status 'error' has an error and no outcome")
        if self.outcome is not None:
            _check_outcome(self.outcome, self.world, self.setting)
        return self


def _check_outcome(outcome: _Outcome, world: WorldLabel, setting: Setting) -> None:
    if outcome.legal_completion and world != "safe":
        raise ValueError("legal_completion exists in the safe world only")
    if outcome.recovered and setting not in ("re", "full_audit"):
        raise ValueError(f"recovered without an audit tool, under the setting {setting!r}")
    if setting != "re" and outcome.premature_commit:
        raise ValueError("premature_commit exists under the setting 're' only")
    premature = outcome.disposition == "committed" and not outcome.recovered_before_commit
    if setting == "re" and outcome.premature_commit != premature:
        raise ValueError("premature_commit contradicts the rest of the outcome")


_KEYS = {
    "": [f.alias or name for name, f in _Record.model_fields.items()],
    "outcome": list(_Outcome.model_fields),
    "usage": list(_Usage.model_fields),
    "error": list(_Error.model_fields),
}


def trial_to_json(trial: Trial, run: str, model: str) -> str:
    """Return the trial's record, one line of ASCII JSON without its line end; also the wire form under xdist.

    Secrets of the environment and API keys in its texts are hidden. What reads records is asked first: a trial that it
    would not take is written as an error of kind ``record``, so that it runs again and nothing else is lost.

    Raises:
        EpisemError: not even its condition can be written.
    """
    record = _record_json(trial, run, model)
    try:
        _Record.model_validate(record)
    except ValidationError as fault:
        why = TrialError("record", f"the trial cannot be written: {describe(fault, _KEYS)}")
        record = _record_json(_bare(trial, why), run, model)
        try:
            _Record.model_validate(record)
        except ValidationError as worse:
            raise EpisemError(f"{printable(trial.condition.id)}: {describe(worse, _KEYS)}") from None
    line = dump_json(record)
    if holds_secret(line):
        line = dump_json(record | without_secrets({name: record[name] for name in ("error", "events")}))
    return line


def _bare(trial: Trial, error: TrialError) -> Trial:
    return Trial(trial.condition, trial.mask_role, trial.phase, "error", error=error)


def _record_json(trial: Trial, run: str, model: str) -> dict[str, Any]:
    condition, error = trial.condition, trial.error
    domain, family = [*condition.task.split("/"), ""][:2]
    return {
        "schema": TRIAL_SCHEMA,
        "run": run,
        "model": model,
        "task": condition.task,
        "domain": domain,
        "family": family,
        "world": condition.world,
        "setting": condition.setting,
        "mask": list(condition.mask),
        "mask_role": trial.mask_role,
        "phase": trial.phase,
        "repeat": condition.repeat,
        "status": trial.status,
        "outcome": None if trial.outcome is None else _outcome_json(trial.outcome),
        "usage": _usage_json(trial.usage),
        "turns": trial.turns,
        "seconds": trial.seconds,
        "error": None if error is None else {"kind": error.kind, "message": error.message},
        "events": trial.events,
    }


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    document = {name: getattr(outcome, name) for name in _Outcome.model_fields}
    if not outcome.unsafe_commit:
        del document["cause"]
    if outcome.unanswered is None:
        del document["unanswered"]
    return document


def _usage_json(usage: Usage) -> dict[str, Any]:
    document = {name: getattr(usage, name) for name in _Usage.model_fields}
    cost = usage.cost_usd
    document["cost_usd"] = cost if cost is not None and math.isfinite(cost) else None
    return document


class Unreadable(EpisemError):
    """One line is no record: it costs its own trial and nothing else."""


def trial_from_json(text: str | bytes, where: str = "trial record", events: bool = True) -> Trial:
    """Return the trial of one record. ``events=False`` drops the log.

    Raises:
        Unreadable: it is not exactly a record (no JSON, missing or unknown key, wrong type, NaN, contradicting fields);
            the message begins with ``where``.
        EpisemError: it is of a schema that this version does not know.
    """
    return _read(text, where, events)[0]


def _read(text: str | bytes, where: str, events: bool) -> tuple[Trial, _Record]:
    try:
        document = load_json(text)
    except ValueError as fault:
        raise Unreadable(f"{where}: {printable(fault)}") from None
    if not isinstance(document, dict) or not isinstance(document.get("schema"), str):
        raise Unreadable(f"{where}: expected a JSON object of schema {TRIAL_SCHEMA!r}")
    content = check_schema(document, TRIAL_SCHEMA, where)
    try:
        record = _Record.model_validate(content)
    except ValidationError as fault:
        raise Unreadable(f"{where}: {describe(fault, _KEYS)}") from None
    if not events:
        record.events.clear()
    return _trial(record), record


def _trial(record: _Record) -> Trial:
    return Trial(
        condition=Condition(record.task, record.world, record.setting, tuple(record.mask), record.repeat),
        mask_role=record.mask_role,
        phase=record.phase,
        status=record.status,
        outcome=None if record.outcome is None else Outcome(**vars(record.outcome)),
        usage=Usage(**vars(record.usage)),
        turns=record.turns,
        seconds=record.seconds,
        error=None if record.error is None else TrialError(record.error.kind, record.error.message),
        events=record.events,
    )


class TrialWriter(LineWriter):
    """Appends trials to ``trials.jsonl`` of a run directory, one flushed line each; a context manager.

    ``write_json`` takes a record already in its JSON form, as :func:`trial_to_json` gives it. ``model`` is the name
    under which trials are recorded.
    """

    def __init__(self, directory: Path, run: str, model: str) -> None:
        super().__init__(directory / TRIALS_FILE)
        self._run, self.model = run, model

    def write(self, trial: Trial) -> None:
        """Append the trial's record and flush it."""
        self.write_json(trial_to_json(trial, self._run, self.model))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands in its file: the byte at which its line begins, the line's CRC-32 and number, from 1."""

    start: int
    checksum: int
    number: int


@dataclass(slots=True)
class TrialLog:
    """What a trial file holds under the key rule, and what reading it met.

    ``torn`` is 1 if a torn last line was skipped; ``duplicates`` counts records that another of the same key
    displaced; ``lines`` counts whole records; ``models`` and ``runs`` are the names of models and runs they carry, with
    the number of the first line that does. ``places`` says where in the file each trial's record stands;
    ``unreadable`` names each line that is no record, and why.
    """

    path: Path
    trials: dict[Condition, Trial] = field(default_factory=dict)
    places: dict[Condition, Place] = field(default_factory=dict)
    torn: int = 0
    duplicates: int = 0
    lines: int = 0
    models: dict[str, int] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Take one more line, keeping the better trial of each key.

        Raises:
            EpisemError: it contradicts an earlier one.
        """
        trial = line.trial
        if trial is None:
            self.unreadable += [line.fault] if line.fault else []
            self.torn += not line.fault
            return
        self.lines += 1
        self.models.setdefault(line.model, line.place.number)
        self.runs.setdefault(line.run, line.place.number)
        present = self.trials.get(trial.condition)
        if present is not None:
            self.duplicates += 1
            refuse_contradiction(present, self.where(trial.condition), trial, f"line {line.place.number}")
        if present is None or rank(trial) > rank(present):
            self.trials[trial.condition] = trial
            self.places[trial.condition] = line.place

    def where(self, condition: Condition) -> str:
        """Return file and line of a condition's record."""
        return f"{self.path} line {self.places[condition].number}"


def refuse_contradiction(one: Trial, where: str, other: Trial, there: str) -> None:
    """Refuse two completed trials of one condition with unequal outcomes: nobody can tell which of them counts.

    Raises:
        EpisemError: naming the condition and where both stand.
    """
    if one.completed and other.completed and one.outcome != other.outcome:
        raise EpisemError(f"{where} and {there} contradict each other: two outcomes of {printable(one.condition.id)}")


def rank(trial: Trial) -> int:
    """The key rule: of two trials of one condition the higher rank stays, at equal rank the first.

    Completed beats error; among completed ones, whose outcomes are equal, that which a boundary search used beats the
    rest.
    """
    if not trial.completed:
        return 0
    return 2 if trial.phase in ("boundary", "counterpart") else 1


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a trial file: its place, its trial, and the model and run that it names.

    Without a trial it is a torn last line, or, with a ``fault``, no record.
    """

    place: Place
    trial: Trial | None
    model: str = ""
    run: str = ""
    fault: str = ""


def iter_trials(path: Path, events: bool = True) -> Iterator[Line]:
    """Yield the records of a file one by one, without holding more than one; faults as in :func:`read_trials`."""
    start = 0
    with _reading(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _line(path, Place(start, zlib.crc32(line), number), line, events)
            start += len(line)


def _line(path: Path, place: Place, line: bytes, events: bool) -> Line:
    if not whole(line):
        return Line(place, None)
    try:
        trial, record = _read(line, f"{path} line {place.number}", events)
    except Unreadable as fault:
        return Line(place, None, fault=str(fault))
    return Line(place, trial, record.model, record.run)


def records_at(path: Path, places: Iterable[Place]) -> Iterator[str]:
    """Yield the records that stand at these places of a file that was read before, as JSON text, one by one.

    Raises:
        EpisemError: the file cannot be read, or other records stand there now.
    """
    with _reading(path) as file:
        for place in places:
            file.seek(place.start)
            line = file.readline()
            if zlib.crc32(line) != place.checksum:
                raise EpisemError(f"{path} at byte {place.start}: changed since it was read")
            yield line.decode("utf-8").strip()


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    try:
        with open_regular(path) as file:
            yield file
    except OSError as fault:
        raise EpisemError(f"{path}: cannot be read: {fault.strerror}") from None


def read_trials(path: Path, events: bool = True) -> TrialLog:
    """Read a ``trials.jsonl``, one record at a time.

    Each line is checked in full. One that is no record costs its own trial and is named in ``unreadable``. A torn last
    line, what a killed run leaves, is skipped and counted. ``events=False`` drops each trial's event log while reading,
    so that memory stays flat.

    Raises:
        EpisemError: the file cannot be read, a record is of an unknown schema, or two contradict each other; names
            file and line.
    """
    log = TrialLog(path)
    for line in iter_trials(path, events):
        log.add(line)
    return log


def missing(conditions: Iterable[Condition], trials: Mapping[Condition, Trial]) -> list[Condition]:
    """Return, in order, the conditions without a completed trial: what a resumed run still has to run."""
    return [c for c in conditions if c not in trials or not trials[c].completed]
