"""The shipped workflow bank, and its models, made once."""

from __future__ import annotations

import pytest

from pytest_episem.workflows.bank.load import WorkflowBank, shipped_workflows
from pytest_episem.workflows.study import Result, run_workflow
from pytest_episem.workflows.support import Model


@pytest.fixture(scope="session")
def bank() -> WorkflowBank:
    return shipped_workflows()


@pytest.fixture(scope="session")
def models(bank: WorkflowBank) -> dict[str, Model]:
    """The support of every workflow. Planning takes most of these tests' time; what was planned stays with these."""
    return {name: Model(workflow.template) for name, workflow in bank.workflows.items()}


@pytest.fixture(scope="session")
def over_assignments(bank: WorkflowBank, models: dict[str, Model]) -> list[Result]:
    """Every controller on every assignment."""
    return [r for name, workflow in bank.workflows.items() for r in run_workflow(workflow, model=models[name])]


@pytest.fixture(scope="session")
def over_worlds(bank: WorkflowBank) -> list[Result]:
    """Every controller in every world."""
    return [result for workflow in bank.workflows.values() for result in run_workflow(workflow, over="worlds")]
