"""The record of the workflow suite: the common envelope, and in it a case and its judgement.

Records are not trusted: reading checks their shape here, and whether they are true is judged before they count
(:mod:`pytest_episem.workflows.check`).
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from pytest_episem.runs.record import Record
from pytest_episem.text import describe, dump_json
from pytest_episem.workflows.trial import Case, Form, Judgement, Trial

_JUDGEMENT = TypeAdapter(Judgement)
_KEYS = {"": [field.name for field in fields(Judgement)]}


def _judgement(document: Any) -> Any:
    """Read strictly what JSON says, where a tuple is a list."""
    if document is None or isinstance(document, Judgement):
        return document
    try:
        return _JUDGEMENT.validate_json(dump_json(document), strict=True)
    except ValidationError as fault:
        raise ValueError(describe(fault, _KEYS)) from None


class CaseRecord(Record):
    """One rollout of one case of the workflow suite."""

    suite: Literal["workflows"] = Field(description="the suite")
    case: str = Field(description="the hidden truth: an assignment's name, or `world-<number>`")
    shield: bool = Field(description="whether what is inadmissible was refused, or executed and judged")
    guidance: str = Field(
        default="none",
        description="what the agent was told beside the answers: `none`, `evidence`, `advice:<controller>`",
    )
    form: Form = Field(
        default="journal", description="whether the trouble stood in the journal or happened to the agent's own call"
    )
    outcome: Annotated[Judgement | None, BeforeValidator(_judgement)] = Field(
        description="see below; `null` with `status` `error`"
    )

    parts: ClassVar[int] = 2

    @model_validator(mode="after")
    def _consistent(self) -> CaseRecord:
        if not self.case or "/" in self.case:
            raise ValueError("case must be a name without '/'")
        if self.outcome is not None and self.outcome.trajectory.template != self.task:
            raise ValueError("outcome.trajectory.template is not the task")
        return self

    @classmethod
    def own(cls, trial: Trial) -> dict[str, Any]:
        return {name: getattr(trial.condition, name) for name in ("case", "shield", "guidance", "form")}

    @classmethod
    def outcome_json(cls, outcome: Judgement) -> Any:
        """A lone surrogate, which an agent may put into a key, is written as the escape that names it."""
        return _encodable(asdict(outcome))

    @classmethod
    def condition_of(cls, document: dict[str, Any]) -> Case:
        told = {name: document[name] for name in ("guidance", "form") if name in document}
        return Case(document["task"], document["case"], document["shield"], document["repeat"], **told)

    def trial(self) -> Trial:
        condition = Case(self.task, self.case, self.shield, self.repeat, self.guidance, self.form)
        return Trial(condition, outcome=self.outcome, **self.common())


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    return value
