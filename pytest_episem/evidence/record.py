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
    cause: Cause | None = Field(None, description="Of an unsafe commit alone.")
    unanswered: Unanswered | None = Field(None, description="Why the agent's own end is missing, where it is.")

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

    suite: Literal["evidence"] = Field("evidence", description="The suite; evidence in older records, that lack it.")
    world: WorldLabel
    setting: Setting
    mask: list[str] = Field(description="The hidden atoms, sorted.")
    mask_role: MaskRole
    phase: Phase = Field(description="fixed, or what the boundary search added.")
    outcome: OutcomeRecord | None = Field(description="What came of it; null after an error.")

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
