"""The shipped workflow bank, and its models, made once."""

from __future__ import annotations

import pytest

from pytest_episem.workflows.bank.load import WorkflowBank, shipped_workflows
from pytest_episem.workflows.study import Result, run_workflow
from pytest_episem.workflows.support import Model

PLANNED = {"over_assignments", "over_worlds"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With ``--dist loadgroup`` one worker plans for all tests that need every controller's plans."""
    for item in items:
        asked = [*getattr(item, "fixturenames", ()), *getattr(getattr(item, "callspec", None), "params", {}).values()]
        if any(one in PLANNED for one in asked if isinstance(one, str)):
            item.add_marker(pytest.mark.xdist_group("controllers"))


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
