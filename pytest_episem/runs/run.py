"""The header of a run, ``run.json``: what was run, under which settings, and the plan that gives every denominator."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Strict, TypeAdapter, ValidationError

from pytest_episem.errors import EpisemError
from pytest_episem.evidence.condition import Setting
from pytest_episem.files import read_regular
from pytest_episem.runs.whole import write_whole
from pytest_episem.text import check_schema, describe, dump_json, load_json, printable

RUN_SCHEMA = "episem.run/1"
RUN_FILE = "run.json"

PLANNED: tuple[Setting, ...] = ("full", "se", "re")
"""The settings that a run plans unless fewer were chosen."""

_CONFIG = ConfigDict(extra="forbid")
# Strict field by field: a strict dataclass would not be read from a dict.
Text = Annotated[str, Strict()]
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]


@dataclass(frozen=True)
class PlanTask:
    """One task of the plan, always whole: its critical and irrelevant atoms, and how many items were selected."""

    __pydantic_config__ = _CONFIG

    task: Text
    domain: Text
    family: Text
    critical: list[Text]
    irrelevant: list[Text]
    selected: Whole


@dataclass(frozen=True)
class BankId:
    """Which bank a run used: name, version and content hash."""

    __pydantic_config__ = _CONFIG

    name: Text
    version: Text
    hash: Text

    @classmethod
    def of(cls, bank: Any) -> BankId:
        """Return which one a bank is."""
        return cls(bank.name, bank.version, bank.hash)


@dataclass(frozen=True)
class WorkflowPlan:
    """What a run plans to do in the workflow suite.

    ``shield``: whether what is inadmissible is refused; ``planned``: the cases, ``domain/workflow/case``, over the
    bank's assignments or over every world; ``guidance``: what agents are told beside the answers; ``form``: where the
    trouble happens; ``pilot``: those of the cases that are for trying things out, all others are held out.
    """

    __pydantic_config__ = _CONFIG

    bank: BankId
    shield: Flag
    cases: Literal["assignments", "worlds"]
    planned: list[Text]
    guidance: Text = "none"
    form: Literal["journal", "live"] = "journal"
    pilot: list[Text] = field(default_factory=list)


@dataclass(frozen=True)
class SessionEnd:
    """How the last session of a run ended.

    ``ended`` is an ISO 8601 time, ``None`` while it runs and after it was killed; ``complaints`` are what it says
    against its own records (interrupted, stopped, conditions without a record), each of which fails every gate.
    """

    __pydantic_config__ = _CONFIG

    ended: Text | None
    complaints: list[Text]


@dataclass(frozen=True)
class RunHeader:
    """What ``run.json`` holds.

    ``model`` is the model's name, or ``None`` when an agent of the user's own played. ``agent`` is the name under which
    the run is listed where that is not the model's.
    ``settings`` binds the run: sampling arguments, turn limit, ``instruction`` (the text) with
    ``instruction_sha256``, ``repeats`` and whatever else changes what a rollout may give; what only changes speed
    or cost does not belong there. ``started`` is an ISO 8601 time. ``workflows`` is the plan of the workflow suite; a
    run without it has none, and the key is left out of the file. A run of that suite alone has an empty ``plan``.
    ``merged`` names the runs that a merged run was made of. ``planned_settings`` are the settings in which each pair of
    the plan was to be run, all three if nothing is said. ``session`` is ``None`` in runs of earlier versions.
    """

    __pydantic_config__ = _CONFIG

    run: Text
    model: Text | None
    agent: Text | None
    protocol_version: Text
    plugin_version: Text
    bank: BankId
    settings: dict[str, Any]
    search_seed: Text
    started: Text
    plan: list[PlanTask] = field(default_factory=list)
    workflows: WorkflowPlan | None = None
    merged: list[Text] = field(default_factory=list)
    planned_settings: list[Setting] = field(default_factory=lambda: list(PLANNED))
    session: SessionEnd | None = None

    @property
    def has_evidence(self) -> bool:
        """Whether the run is of the evidence suite, alone or beside the other."""
        return bool(self.plan) or self.workflows is None

    @property
    def suites(self) -> list[str]:
        """The names of the suites that the run plays."""
        return ["evidence"] * self.has_evidence + ["workflows"] * (self.workflows is not None)

    @property
    def domains(self) -> set[str]:
        """The domains of everything planned."""
        cases = self.workflows.planned if self.workflows is not None else []
        return {task.domain for task in self.plan} | {case.partition("/")[0] for case in cases}

    @property
    def label(self) -> str:
        """The name under which reports list the run: its agent's, else its model's."""
        return self.agent or self.model or self.run

    @property
    def repeats(self) -> int:
        """How often each fixed condition runs (protocol, section 7)."""
        return int(self.settings.get("repeats", 1))

    def save(self, directory: Path) -> Path:
        """Write ``run.json`` into ``directory`` (made if missing), in one step; return its path."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / RUN_FILE
        content = {"schema": RUN_SCHEMA, **asdict(self)}
        if self.workflows is None:
            del content["workflows"]
        return write_whole(path, dump_json(content) + "\n")

    @classmethod
    def load(cls, directory: Path) -> RunHeader:
        """Read and check ``run.json``; ``EpisemError`` names the file and what is wrong with it."""
        path = directory / RUN_FILE
        try:
            document = load_json(read_regular(path), once=True)
        except FileNotFoundError:
            raise EpisemError(f"{directory}: not a run directory, it holds no {RUN_FILE}{_newest(directory)}") from None
        except OSError as fault:
            raise EpisemError(f"{path}: cannot be read: {fault.strerror}") from None
        except ValueError as fault:
            raise EpisemError(f"{path}: {printable(fault)}") from None
        content = dict(check_schema(document, RUN_SCHEMA, str(path)))
        del content["schema"]
        try:
            header = _HEADER.validate_python(content)
        except ValidationError as fault:
            raise EpisemError(f"{path}: {describe(fault, _KEYS)}") from None
        _check_header(header, str(path))
        return header


_HEADER = TypeAdapter(RunHeader)
_KEYS = {
    "": [f.name for f in fields(RunHeader)],
    "bank": [f.name for f in fields(BankId)],
    "workflows": [f.name for f in fields(WorkflowPlan)],
    "workflows.bank": [f.name for f in fields(BankId)],
    "session": [f.name for f in fields(SessionEnd)],
}


def mismatch(a: RunHeader, b: RunHeader, names: tuple[str, str] = ("in the run", "now")) -> list[str]:
    """Return one line for each thing that makes the trials of two runs incomparable; empty if they may be joined.

    Compared are bank, protocol version, model, agent, search seed, every setting and the terms of the workflow suite,
    not plan, time or plugin version. ``names`` say where each value stands: ``bank hash: 12ab… in the run, 98cd… now``.
    """
    pairs: list[tuple[str, Any, Any]] = [
        ("bank name", a.bank.name, b.bank.name),
        ("bank version", a.bank.version, b.bank.version),
        ("bank hash", a.bank.hash, b.bank.hash),
        ("protocol version", a.protocol_version, b.protocol_version),
        ("model", a.model, b.model),
        ("agent", a.agent, b.agent),
        ("search seed", a.search_seed, b.search_seed),
    ]
    for key in sorted(a.settings.keys() | b.settings.keys()):
        one, other = a.settings.get(key), b.settings.get(key)
        if key == "instruction":
            one, other = _digest(one), _digest(other)
        elif key == "instruction_sha256" and {"instruction"} <= a.settings.keys() & b.settings.keys():
            continue
        pairs.append((key.replace("_", " "), one, other))
    pairs += _workflow_terms(a.workflows, b.workflows)
    return [
        f"{printable(what)}: {_short(one)} {names[0]}, {_short(other)} {names[1]}"
        for what, one, other in pairs
        if one != other
    ]


def _workflow_terms(a: WorkflowPlan | None, b: WorkflowPlan | None) -> list[tuple[str, Any, Any]]:
    if a is None or b is None:
        return [("workflow suite", a is not None, b is not None)]
    return [
        ("workflow bank name", a.bank.name, b.bank.name),
        ("workflow bank version", a.bank.version, b.bank.version),
        ("workflow bank hash", a.bank.hash, b.bank.hash),
        ("shield", a.shield, b.shield),
        ("workflow cases", a.cases, b.cases),
        ("guidance", a.guidance, b.guidance),
        ("form", a.form, b.form),
    ]


def _digest(text: Any) -> str | None:
    """A long text as the start of its SHA-256, since two instructions often begin alike."""
    if text is None:
        return None
    return f"sha256 {hashlib.sha256(str(text).encode('utf-8', 'backslashreplace')).hexdigest()[:12]}…"


def _short(value: Any) -> str:
    if value is None:
        return "none"
    text = printable(value if isinstance(value, str) else dump_json(value))
    return text if len(text) <= 60 else f"{text[:12]}…"


def _check_header(header: RunHeader, where: str) -> None:
    repeats = header.settings.get("repeats", 1)
    if type(repeats) is not int or repeats < 1:
        raise EpisemError(f"{where}: settings.repeats: expected a whole number of at least 1")
    seen: set[str] = set()
    for task in header.plan:
        name = printable(task.task)
        atoms = task.critical + task.irrelevant
        if task.task in seen:
            raise EpisemError(f"{where}: plan: task {name!r} is listed twice")
        if task.task.split("/")[:2] != [task.domain, task.family] or task.task.count("/") != 2:
            raise EpisemError(f"{where}: plan: task {name!r} is not of the form domain/family/instance")
        if len(set(atoms)) != len(atoms):
            raise EpisemError(f"{where}: plan: task {name!r} lists an atom twice")
        if task.selected < 0:
            raise EpisemError(f"{where}: plan: task {name!r} has a negative number of selected items")
        seen.add(task.task)
    if header.workflows is not None:
        _check_planned(header.workflows.planned, where)


def _check_planned(planned: list[str], where: str) -> None:
    seen: set[str] = set()
    for case in planned:
        if case in seen:
            raise EpisemError(f"{where}: workflows: case {printable(case)!r} is planned twice")
        if case.count("/") != 2 or not all(case.split("/")):
            raise EpisemError(f"{where}: workflows: case {printable(case)!r} is not of the form domain/template/case")
        seen.add(case)


def _newest(directory: Path) -> str:
    """Name the newest run inside a directory that is none, or beside one that is not there."""
    place = directory if directory.is_dir() else directory.parent
    try:
        runs = sorted(place.glob(f"*/{RUN_FILE}"), key=lambda file: file.stat().st_mtime)
    except OSError:
        return ""
    return printable(f"; the newest run there is {runs[-1].parent}") if runs else ""
