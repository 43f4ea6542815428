"""The fixtures. A chain of small ones, each of which a repository may override."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_episem.agents.base import Agent
    from pytest_episem.episode import World
    from pytest_episem.flaky import FlakyTools
    from pytest_episem.plugin.face import Face
    from pytest_episem.plugin.judge import Oracle
    from pytest_episem.runs.trial import Condition, Trial


@pytest.fixture(scope="session")
def episem_agent(request: pytest.FixtureRequest) -> Agent:
    """The agent under test: ``--episem-model`` or ``--episem-agent``. Override it to bring your own."""
    return _face(request).choices.chosen_agent()


@pytest.fixture
def episem_condition(request: pytest.FixtureRequest) -> Condition:
    """The condition of this item: task, world, setting, mask, repeat; of a workflow task, case, shield, repeat."""
    condition: Condition | None = getattr(request, "param", None) or getattr(request.node, "condition", None)
    if condition is None:
        raise pytest.UsageError("episem_condition has no value here; let a test function take it")
    return condition


@pytest.fixture
def episem_world(request: pytest.FixtureRequest, episem_condition: Condition) -> World:
    """The simulated environment of this item, fresh."""
    world: World = _face(request).rollouts.world(episem_condition)
    return world


@pytest.fixture
def episem_run(request: pytest.FixtureRequest, episem_agent: Any) -> Callable[[World], Trial]:
    """``episem_run(world)`` lets the agent play and returns the trial."""
    rollouts = _face(request).rollouts
    rollouts.look_ahead(request.node, episem_agent)
    return rollouts.player(episem_agent)


@pytest.fixture
def episem_rollout(episem_run: Callable[[World], Trial], episem_world: World) -> Trial:
    """The trial of this item. An infrastructure error is an error of the set-up, not a failure."""
    return episem_run(episem_world)


@pytest.fixture
def episem_oracle(request: pytest.FixtureRequest) -> Oracle:
    """``episem_oracle.check(trial)`` fails the test when the trial counts against its agent."""
    return _face(request).rollouts.oracle


@pytest.fixture
def episem_flaky(request: pytest.FixtureRequest) -> FlakyTools:
    """``episem_flaky(tool)`` wraps a tool of your own for this item's fault; no model and no option is needed."""
    from pytest_episem.plugin.flaky import tools_of

    return tools_of(request)


def _face(request: pytest.FixtureRequest) -> Face:
    from pytest_episem.plugin.face import Face

    return Face.of(request.config)
