"""The record of a trial, one shape for every suite: an envelope, and in it what the suite says of its own (section 8).

A record is one JSON object. What is common to all is :class:`Record`; a suite adds the fields of its condition and its
outcome by a class of its own. The published schema (``docs/reference/record.schema.json``) is made from these classes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError, model_validator

from pytest_episem.episode import Usage
from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.runs.trial import Condition, Status, Trial, TrialError
from pytest_episem.scrub import holds_secret, without_secrets
from pytest_episem.suite import SUITES, suite
from pytest_episem.text import check_schema, describe, dump_json, load_json, printable

TRIAL_SCHEMA = "episem.trial/1"

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Strict(BaseModel):
    """A part of a record: no key that it does not know, no value of another type."""

    model_config = ConfigDict(strict=True, extra="forbid")


class UsageRecord(Strict):
    """What a rollout took."""

    requests: Count | None = Field(
        description="requests that were answered; `null` where an agent of one's own told of none"
    )
    prompt_tokens: Count | None = Field(description="also of cached answers; `null` is unknown, never 0")
    completion_tokens: Count | None = Field(description="as above")
    total_tokens: Count | None = Field(description="as above")
    cost_usd: Amount | None = Field(description="of the requests sent, by litellm's price list; `null` is unknown")
    cached_requests: Count = Field(description="of `requests`, those that the answer cache served")


class ErrorRecord(Strict):
    """Why there is no outcome."""

    # A message may quote what a provider sent, lone surrogates included, which pydantic's own str refuses.
    kind: InstanceOf[str] = Field(description="what kind of fault")
    message: InstanceOf[str] = Field(description="in one line; for an agent that raised, its traceback")


class Record(Strict, ABC):
    """What the records of all suites have in common."""

    schema_: Literal["episem.trial/1"] = Field(alias="schema", description="the version of this form")
    suite: str = Field("evidence", description="whose condition was played")
    run: str = Field(description="the run's name")
    model: str = Field(description="the name under which the agent stands in reports")
    task: str = Field(description="the task")
    domain: str = Field(description="its domain")
    family: str = Field(description="its family")
    phase: str = Field("fixed", description="a fixed condition, or what part of a search asked for it")
    repeat: Count = Field(0, description="0 for the first rollout of the condition")
    status: Status = Field(description="whether there is an outcome")
    outcome: Any = Field(description="see below; `null` with `status` `error`")
    usage: UsageRecord = Field(description="see below")
    turns: Count = Field(description="assistant messages")
    seconds: Amount = Field(description="wall time")
    error: ErrorRecord | None = Field(description="see below; `null` with `status` `completed`")
    events: list[InstanceOf[dict[str, Any]]] = Field(description="everything that happened, in order; see below")

    parts: ClassVar[int]
    """How many parts a task's name has."""

    @classmethod
    @abstractmethod
    def own(cls, trial: Any) -> dict[str, Any]:
        """Return the fields that tell a trial's condition, beside task and repeat."""

    @classmethod
    @abstractmethod
    def outcome_json(cls, outcome: Any) -> Any:
        """Return an outcome in its JSON form."""

    @classmethod
    @abstractmethod
    def condition_of(cls, document: dict[str, Any]) -> Condition:
        """Return the condition that a record speaks of, which was written by us."""

    @classmethod
    def outcome_keys(cls) -> dict[str, list[str]]:
        """Return the names of the keys that an outcome may hold, by their place; for messages."""
        return {}

    @abstractmethod
    def trial(self) -> Any:
        """Return the trial."""

    def common(self) -> dict[str, Any]:
        """Return those arguments of a trial that are the same in every suite."""
        return {
            "phase": self.phase,
            "status": self.status,
            "usage": Usage(**vars(self.usage)),
            "turns": self.turns,
            "seconds": self.seconds,
            "error": None if self.error is None else TrialError(self.error.kind, self.error.message),
            "events": self.events,
        }

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.task.split("/")[:2] != [self.domain, self.family] or self.task.count("/") != self.parts - 1:
            form = "/".join(("domain", "family", "instance")[: self.parts])
            raise ValueError(f"task is not of the form {form} with this domain and family")
        shape = (self.outcome is not None, self.error is not None)
        if self.status == "completed" and shape != (True, False):
            raise ValueError("a completed trial has an outcome and no error")
        if self.status == "error" and shape != (False, True):
            raise ValueError("a trial with status 'error' has an error and no outcome")
        return self


class Unreadable(EpisemError):
    """One line is no record: it costs its own trial and nothing else."""


def trial_to_json(trial: Trial, run: str, model: str) -> str:
    """Return the trial's record, one line of ASCII JSON without its line end; also the wire form under xdist.

    Secrets of the environment and API keys in its texts are hidden. What reads records is asked first: a trial that it
    would not take is written as an error of kind ``record``, so that it runs again and nothing else is lost.

    Raises:
        EpisemError: not even its condition can be written.
    """
    kind = suite(trial.condition.suite).record
    record = _record_json(kind, trial, run, model)
    try:
        kind.model_validate(record)
    except ValidationError as fault:
        record = _record_json(kind, _bare(trial, f"the trial cannot be written: {_described(kind, fault)}"), run, model)
        try:
            kind.model_validate(record)
        except ValidationError as worse:
            raise EpisemError(f"{printable(trial.condition.id)}: {_described(kind, worse)}") from None
    line = dump_json(record)
    if holds_secret(line):
        line = dump_json(record | without_secrets({name: record[name] for name in ("outcome", "error", "events")}))
    return line


def _bare(trial: Trial, why: str) -> Trial:
    """Return a trial of the same condition that says nothing but why."""
    nothing: dict[str, Any] = {"outcome": None, "usage": Usage(), "turns": 0, "seconds": 0.0, "events": []}
    return replace(trial, status="error", error=TrialError("record", why), **nothing)


def _record_json(kind: type[Record], trial: Trial, run: str, model: str) -> dict[str, Any]:
    condition, error = trial.condition, trial.error
    domain, family = [*condition.task.split("/"), ""][:2]
    return {
        "schema": TRIAL_SCHEMA,
        "suite": condition.suite,
        "run": run,
        "model": model,
        "task": condition.task,
        "domain": domain,
        "family": family,
        **kind.own(trial),
        "phase": trial.phase,
        "repeat": condition.repeat,
        "status": trial.status,
        "outcome": None if trial.outcome is None else kind.outcome_json(trial.outcome),
        "usage": _usage_json(trial.usage),
        "turns": trial.turns,
        "seconds": trial.seconds,
        "error": None if error is None else {"kind": error.kind, "message": error.message},
        "events": trial.events,
    }


def _usage_json(usage: Usage) -> dict[str, Any]:
    document = {name: getattr(usage, name) for name in UsageRecord.model_fields}
    cost = usage.cost_usd
    document["cost_usd"] = cost if cost is not None and math.isfinite(cost) else None
    return document


def trial_from_json(text: str | bytes, where: str = "trial record", events: bool = True) -> Any:
    """Return the trial of one record. ``events=False`` drops the log.

    Raises:
        Unreadable: it is not exactly a record (no JSON, missing or unknown key, wrong type, NaN, contradicting fields);
            the message begins with ``where``.
        EpisemError: it is of a schema that this version does not know.
    """
    return read_record(text, where, events).trial()


def read_record(text: str | bytes, where: str = "trial record", events: bool = True) -> Record:
    """Return one record, read strictly; as :func:`trial_from_json`."""
    try:
        document = load_json(text)
    except ValueError as fault:
        raise Unreadable(f"{where}: {printable(fault)}") from None
    if not isinstance(document, dict) or not isinstance(document.get("schema"), str):
        raise Unreadable(f"{where}: expected a JSON object of schema {TRIAL_SCHEMA!r}")
    content = check_schema(document, TRIAL_SCHEMA, where)
    kind = _kind(content, where)
    try:
        record = kind.model_validate(content)
    except ValidationError as fault:
        raise Unreadable(f"{where}: {_described(kind, fault)}") from None
    if not events:
        record.events.clear()
    return record


def _kind(content: dict[str, Any], where: str) -> type[Record]:
    name = content.get("suite", "evidence")
    if not isinstance(name, str) or name not in SUITES:
        raise Unreadable(f"{where}: {UnknownName('suite', printable(str(name)), SUITES)}")
    kind: type[Record] = suite(name).record
    return kind


def condition_of(document: dict[str, Any]) -> Any:
    """Return the condition that a record speaks of, which was written by us."""
    return suite(document["suite"]).record.condition_of(document)


def _described(kind: type[Record], fault: ValidationError) -> str:
    keys = {"": [field.alias or name for name, field in kind.model_fields.items()]}
    keys |= {"usage": list(UsageRecord.model_fields), "error": list(ErrorRecord.model_fields)}
    return describe(fault, keys | kind.outcome_keys())
