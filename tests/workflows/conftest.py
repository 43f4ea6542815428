"""The shipped workflow bank, and its models, made once. The helpers beside the tests are importable by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pytest_episem.workflows.bank.load import WorkflowBank, shipped_workflows
from pytest_episem.workflows.study import Result, run_workflow


@pytest.fixture(scope="session")
def bank() -> WorkflowBank:
    return shipped_workflows()


@pytest.fixture(scope="session")
def over_assignments(bank: WorkflowBank) -> list[Result]:
    """Every controller on every assignment."""
    return [result for workflow in bank.workflows.values() for result in run_workflow(workflow)]


@pytest.fixture(scope="session")
def over_worlds(bank: WorkflowBank) -> list[Result]:
    """Every controller in every world."""
    return [result for workflow in bank.workflows.values() for result in run_workflow(workflow, over="worlds")]
