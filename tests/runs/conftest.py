"""Shared fixtures of the record tests: one header, and a trial of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.trial import Outcome, Trial, Usage
from pytest_episem.runs.run import BankId, PlanTask, RunHeader

TASK = "finance/payment-authorization/pr-58217"


@pytest.fixture
def make_trial() -> Callable[..., Trial]:
    """Build a completed, held-back trial; keyword arguments replace fields of the condition or of the trial."""

    def make(mask: tuple[str, ...] = ("authorization-limit",), **changes: Any) -> Trial:
        keys = {"task", "world", "setting", "repeat"}
        condition = Condition(TASK, "unsafe", "se", mask)
        condition = replace(condition, **{k: v for k, v in changes.items() if k in keys})
        outcome = Outcome(False, False, False, False, "escalated", "line", False, False, False, False)
        trial = Trial(
            condition,
            mask_role="critical" if mask else "none",
            outcome=outcome,
            usage=Usage(5, 2101, 204, 2305, None, 0),
            turns=5,
            seconds=3.2,
            events=[{"type": "final", "text": "Disposition: escalated"}],
        )
        return replace(trial, **{k: v for k, v in changes.items() if k not in keys})

    return make


@pytest.fixture
def header() -> RunHeader:
    return RunHeader(
        run="run-1",
        model="fake/model",
        agent=None,
        protocol_version="1",
        plugin_version="0.1.0",
        bank=BankId("evidence", "1", "12ab34cd56ef"),
        settings={"temperature": 0, "turn_limit": 12, "instruction": "Do it.", "repeats": 1},
        search_seed="0",
        started="2026-01-01T00:00:00+00:00",
        plan=[PlanTask(TASK, "finance", "payment-authorization", ["authorization-limit", "payee"], ["label"], 10)],
    )
