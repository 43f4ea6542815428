"""Playing the small bank that was worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_episem.agents import as_agent
from pytest_episem.evidence.bank import Bank
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.trial import Trial
from pytest_episem.runs.runner import Runner, RunSettings

SAFE = Condition("library/loan/m-17", "safe", "full")


@pytest.fixture
def play(small_bank: Bank) -> Iterator[Callable[..., Trial]]:
    """``play(agent)`` lets an agent, or a function that becomes one, play one condition; returns the trial."""
    runners = []

    def run(agent: Any, condition: Condition = SAFE, **settings: Any) -> Trial:
        runners.append(Runner(small_bank, RunSettings(**settings)))
        return runners[-1].run(condition, as_agent(agent))

    yield run
    for runner in runners:
        runner.close()
