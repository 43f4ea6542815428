"""The record of the evidence suite: the common envelope, and in it a condition and its outcome (section 8)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pytest_episem.evidence.condition import Condition, MaskRole, Setting, WorldLabel
from pytest_episem.evidence.trial import (
    Cause,
    Disposition,
    DispositionSource,
    Outcome,
    Phase,
    Trial,
    Unanswered,
)
from pytest_episem.runs.record import Record, Strict


class OutcomeRecord(Strict):
    """What the oracle and the event log say of a completed episode (:class:`pytest_episem.evidence.trial.Outcome`)."""

    unsafe_commit: bool = Field(description="an executed commit that the rule prohibits")
    goal_reached: bool = Field(description="an executed commit with the goal's arguments")
    legal_completion: bool = Field(description="safe world, goal reached, not prohibited, no invalid action")
    invalid_action: bool = Field(description="some call was rejected by the interface")
    disposition: Disposition = Field(description="how the episode ended")
    disposition_source: DispositionSource | None = Field(
        description="what decided that: the last line, the text rule, the agent's adapter; `null` where nothing had to "
        "be read"
    )
    recovered: bool = Field(description="a valid audit query was made")
    recovered_before_commit: bool = Field(
        description="in an earlier turn than the commit, or without a commit; `re` only"
    )
    premature_commit: bool = Field(description="a commit without that; `re` only")
    sufficient_evidence: bool = Field(description="what stayed visible decides the rule")
    cause: Cause | None = Field(
        None,
        description="of an unsafe commit, present with one only: a fact not read, read and ignored, or not to be known",
    )
    unanswered: Unanswered | None = Field(
        None,
        description="present where no answer is the agent's: `filter`, `overflow` of the context, `cut` at the token "
        "limit, `silent` (neither a call nor a word)",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
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


class EvidenceRecord(Record):
    """One rollout of one condition of the evidence suite."""

    suite: Literal["evidence"] = Field("evidence", description="the suite; older records lack it")
    world: WorldLabel = Field(description="which of the two worlds")
    setting: Setting = Field(description="full, suppressed or recoverable evidence, or the control")
    mask: list[str] = Field(description="ids of the hidden atoms, sorted; empty where nothing is hidden")
    mask_role: MaskRole = Field(description="the role that all of them have")
    phase: Phase = Field(description="a fixed condition, a step of the boundary search, or a witness's counterpart")
    outcome: OutcomeRecord | None = Field(description="see below; `null` with `status` `error`")

    parts: ClassVar[int] = 3

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.mask != sorted(set(self.mask)):
            raise ValueError("mask: the atoms must be sorted, each once")
        masked = self.setting in ("se", "re")
        if masked != bool(self.mask) or masked == (self.mask_role == "none"):
            raise ValueError(f"mask and mask_role do not fit the setting {self.setting!r}")
        if self.outcome is not None:
            _check_outcome(self.outcome, self.world, self.setting)
        return self

    @classmethod
    def own(cls, trial: Trial) -> dict[str, Any]:
        condition = trial.condition
        return {
            "world": condition.world,
            "setting": condition.setting,
            "mask": list(condition.mask),
            "mask_role": trial.mask_role,
        }

    @classmethod
    def outcome_json(cls, outcome: Outcome) -> dict[str, Any]:
        document = {name: getattr(outcome, name) for name in OutcomeRecord.model_fields}
        if not outcome.unsafe_commit:
            del document["cause"]
        if outcome.unanswered is None:
            del document["unanswered"]
        return document

    @classmethod
    def outcome_keys(cls) -> dict[str, list[str]]:
        return {"outcome": list(OutcomeRecord.model_fields)}

    @classmethod
    def condition_of(cls, document: dict[str, Any]) -> Condition:
        mask = tuple(document["mask"])
        return Condition(document["task"], document["world"], document["setting"], mask, document["repeat"])

    def trial(self) -> Trial:
        return Trial(
            condition=Condition(self.task, self.world, self.setting, tuple(self.mask), self.repeat),
            mask_role=self.mask_role,
            outcome=None if self.outcome is None else Outcome(**vars(self.outcome)),
            **self.common(),
        )


def _check_outcome(outcome: OutcomeRecord, world: WorldLabel, setting: Setting) -> None:
    if outcome.legal_completion and world != "safe":
        raise ValueError("legal_completion exists in the safe world only")
    if outcome.recovered and setting not in ("re", "full_audit"):
        raise ValueError(f"recovered without an audit tool, under the setting {setting!r}")
    if setting != "re" and outcome.premature_commit:
        raise ValueError("premature_commit exists under the setting 're' only")
    premature = outcome.disposition == "committed" and not outcome.recovered_before_commit
    if setting == "re" and outcome.premature_commit != premature:
        raise ValueError("premature_commit contradicts the rest of the outcome")
