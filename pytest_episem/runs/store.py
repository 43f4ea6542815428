"""The file of the records, one a line: appended and flushed, read back strictly (section 8)."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pytest_episem.errors import EpisemError
from pytest_episem.files import open_regular
from pytest_episem.runs.lines import LineWriter, whole
from pytest_episem.runs.record import Unreadable, read_record, trial_to_json
from pytest_episem.text import printable

TRIALS_FILE = "trials.jsonl"


class TrialWriter(LineWriter):
    """Appends trials to ``trials.jsonl`` of a run directory, one flushed line each; a context manager.

    ``write_json`` takes a record already in its JSON form, as :func:`trial_to_json` gives it. ``model`` is the name
    under which trials are recorded.
    """

    def __init__(self, directory: Path, run: str, model: str) -> None:
        super().__init__(directory / TRIALS_FILE)
        self._run, self.model = run, model

    def write(self, trial: Any) -> None:
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
    trials: dict[Any, Any] = field(default_factory=dict)
    places: dict[Any, Place] = field(default_factory=dict)
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

    def where(self, condition: Any) -> str:
        """Return file and line of a condition's record."""
        return f"{self.path} line {self.places[condition].number}"


def refuse_contradiction(one: Any, where: str, other: Any, there: str) -> None:
    """Refuse two completed trials of one condition with unequal outcomes: nobody can tell which of them counts.

    Raises:
        EpisemError: naming the condition and where both stand.
    """
    if one.completed and other.completed and one.outcome != other.outcome:
        raise EpisemError(f"{where} and {there} contradict each other: two outcomes of {printable(one.condition.id)}")


def rank(trial: Any) -> int:
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
    trial: Any | None
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
        record = read_record(line, f"{path} line {place.number}", events)
    except Unreadable as fault:
        return Line(place, None, fault=str(fault))
    return Line(place, record.trial(), record.model, record.run)


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


def missing(conditions: Iterable[Any], trials: Mapping[Any, Any]) -> list[Any]:
    """Return, in order, the conditions without a completed trial: what a resumed run still has to run."""
    return [c for c in conditions if c not in trials or not trials[c].completed]
