"""The shipped bank has no fault that a machine can see; one value changed in one instance is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.evidence.validate import validate_bank

NAME = "evidence/finance/payment-authorization.yaml"


@pytest.mark.slow
def test_the_shipped_bank_has_no_fault_that_a_machine_can_see() -> None:
    report = validate_bank(shipped_bank_dir(), shipped=True)

    machine = [str(problem) for problem in report.problems if problem.code != "one-danger"]
    assert machine == []
    assert (report.counts.total.pairs, report.counts.total.masks) == (300, 3352)
    assert [count.pairs for count in report.counts.domains.values()] == [50] * 6


@pytest.mark.parametrize(
    ("old", "new", "code", "instance", "field"),
    [
        ("limit: 50000", "limit: 42799", "twins", "pr-58217", "rule.prohibited"),
        ("limit: 30000", "limit: 42800", "twins", "pr-58217", "rule.prohibited"),
        (
            "single_payment_limit: approver.limit",
            "single_payment_limit: policy.text",
            "non-interference",
            "pr-58217",
            "atoms.authorization-limit",
        ),
        ("description: Milling heads", "description: Unsafe milling heads", "label-word", "pr-58217", "tools."),
    ],
)
def test_one_changed_value_is_named(tmp_path: Path, old: str, new: str, code: str, instance: str, field: str) -> None:
    file = tmp_path / NAME
    file.parent.mkdir(parents=True)
    shutil.copy(shipped_bank_dir() / NAME, file)
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")

    problems = validate_bank(tmp_path).problems

    shown = "\n".join(map(str, problems))
    assert any(
        (p.code, p.file, p.instance) == (code, NAME, instance) and p.field.startswith(field) for p in problems
    ), shown
