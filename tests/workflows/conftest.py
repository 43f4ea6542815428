"""The shipped outcome bank, and its models, made once. The helpers beside the tests are importable by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pytest_episem.workflows.bank.load import OutcomeBank, shipped_outcomes
from pytest_episem.workflows.study import Result, run_workflow


@pytest.fixture(scope="session")
def bank() -> OutcomeBank:
    return shipped_outcomes()


@pytest.fixture(scope="session")
def over_assignments(bank: OutcomeBank) -> list[Result]:
    """Every controller on every assignment."""
    return [result for workflow in bank.workflows.values() for result in run_workflow(workflow)]


@pytest.fixture(scope="session")
def over_worlds(bank: OutcomeBank) -> list[Result]:
    """Every controller in every world."""
    return [result for workflow in bank.workflows.values() for result in run_workflow(workflow, over="worlds")]
