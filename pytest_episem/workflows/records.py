"""The record of one workflow case and its file ``workflows.jsonl``: one JSON object a line, read back strictly.

Records are not trusted: reading checks their shape here, and whether they are true is judged when a report is made
(:mod:`pytest_episem.workflows.check`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_episem.errors import EpisemError
from pytest_episem.files import open_regular
from pytest_episem.runs.lines import LineWriter, whole
from pytest_episem.text import check_schema, describe, dump_json, load_json, printable
from pytest_episem.workflows.verdict import Trajectory

if TYPE_CHECKING:
    from pytest_episem.workflows.study import Result

SCHEMA = "episem.workflow/1"
WORKFLOWS_FILE = "workflows.jsonl"

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class WorkflowRecord:
    """One agent's run of one hidden truth of one template.

    Attributes:
        run: the run's name.
        agent: the name under which the agent stands in reports, ``episem/joint``.
        domain, template, case: which case; ``case`` is an assignment's name, or ``world-<n>``.
        trajectory: what was done and what came of it.
        faults: what the adjudicator found wrong when the episode ended; empty when it stands.
        selection: the seconds that each decision took; ``seconds``: those of the whole episode.
        cutoffs, fallbacks, nodes: decisions whose search was cut off, those among them that followed another
            controller's rollout, and beliefs expanded; 0 for agents that do not search.
    """

    run: str
    agent: str
    domain: str
    template: str
    case: str
    trajectory: Trajectory
    faults: tuple[str, ...] = ()
    selection: tuple[float, ...] = ()
    seconds: float = 0.0
    cutoffs: int = 0
    fallbacks: int = 0
    nodes: int = 0

    @property
    def id(self) -> str:
        """The case's id, ``<domain>/<template>/<case>``."""
        return f"{self.domain}/{self.template}/{self.case}"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")

    schema_: Literal["episem.workflow/1"] = Field(alias="schema")
    run: str
    agent: str
    domain: str
    template: str
    case: str
    trajectory: Trajectory
    faults: tuple[str, ...]
    selection: tuple[Seconds, ...]
    seconds: Seconds
    cutoffs: Count
    fallbacks: Count
    nodes: Count

    @model_validator(mode="after")
    def _consistent(self) -> _Record:
        names = (self.domain, self.template, self.case)
        if not all(names) or any("/" in name for name in names):
            raise ValueError("domain, template and case must be names without '/'")
        if self.trajectory.template != f"{self.domain}/{self.template}":
            raise ValueError("trajectory.template is not domain/template")
        return self


_KEYS = {"": [field.alias or name for name, field in _Record.model_fields.items()]}


def record_of(result: Result, run: str, agent: str, domain: str) -> WorkflowRecord:
    """Return the record of a finished episode of ``run``, listed under ``agent``."""
    return WorkflowRecord(
        run=run,
        agent=agent,
        domain=domain,
        template=result.template.removeprefix(f"{domain}/"),
        case=result.case,
        trajectory=result.trajectory,
        faults=result.faults,
        selection=result.selection,
        seconds=result.seconds,
        cutoffs=result.cutoffs,
        fallbacks=result.fallbacks,
        nodes=result.nodes,
    )


def workflow_to_json(record: WorkflowRecord) -> str:
    """Return a record as one line of ASCII JSON without its line end.

    A lone surrogate, which an agent may put into a key, is written as the escape that names it.
    """
    return dump_json({"schema": SCHEMA, **_encodable(asdict(record))})


def encodable(text: str) -> str:
    """Return a text as a record holds it, with lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    return value


def workflow_from_json(text: str | bytes, where: str = "workflow record") -> WorkflowRecord:
    """Return the record of one line.

    Raises:
        EpisemError: it is not exactly a record of the known schema; one line that begins with ``where``.
    """
    try:
        document = load_json(text)
    except ValueError as fault:
        raise EpisemError(f"{where}: {printable(fault)}") from None
    check_schema(document, SCHEMA, where)
    try:
        found = _Record.model_validate_json(text, strict=True)
    except ValidationError as fault:
        raise EpisemError(f"{where}: {describe(fault, _KEYS)}") from None
    content = dict(found)
    del content["schema_"]
    return WorkflowRecord(**content)


class WorkflowWriter(LineWriter):
    """Appends records to ``workflows.jsonl`` of a run directory, one flushed line each; a context manager.

    ``write_json`` takes a record already in its JSON form, as :func:`workflow_to_json` gives it.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory / WORKFLOWS_FILE)

    def write(self, record: WorkflowRecord) -> None:
        """Append a record and flush it."""
        self.write_json(workflow_to_json(record))


def read_workflow_file(directory: Path) -> tuple[list[WorkflowRecord], bool]:
    """Return the records of a run directory, and whether a torn last line was skipped; none without the file.

    Of several of one agent and case that came to the same the first stays.

    Raises:
        EpisemError: the file cannot be read, a line is no record, or two contradict each other; it names file and line.
    """
    found: dict[tuple[str, str], tuple[WorkflowRecord, int]] = {}
    torn = False
    path = directory / WORKFLOWS_FILE
    for number, record in _records(path):
        if record is None:
            torn = True
            continue
        first, line = found.setdefault((record.agent, record.id), (record, number))
        refuse_contradiction(first, f"{path} line {line}", record, f"line {number}")
    return [record for record, _ in found.values()], torn


def refuse_contradiction(one: WorkflowRecord, where: str, other: WorkflowRecord, there: str) -> None:
    """Refuse two records of one case that came to different things: nobody can tell which of them counts.

    Raises:
        EpisemError: naming the case and where both stand.
    """
    if one.trajectory != other.trajectory:
        raise EpisemError(f"{where} and {there} contradict each other: two outcomes of {printable(one.id)}")


def _records(path: Path) -> Iterator[tuple[int, WorkflowRecord | None]]:
    """Yield line numbers and records of a file, and ``None`` for a torn last line."""
    if not path.exists():
        return
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, workflow_from_json(line, f"{path} line {number}") if whole(line) else None
    except OSError as fault:
        raise EpisemError(f"{path}: cannot be read: {fault.strerror}") from None
