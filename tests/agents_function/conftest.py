"""The small bank that was worked out by hand, and playing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.agents import as_agent
from pytest_episem.bank import Bank, Task, load_bank
from pytest_episem.protocol.condition import Condition
from pytest_episem.protocol.runner import Runner, RunSettings
from pytest_episem.protocol.trial import Trial

SAFE = Condition("library/loan/m-17", "safe", "full")


@pytest.fixture(scope="session")
def small_bank() -> Bank:
    return load_bank(Path(__file__).parents[1] / "bank" / "small_bank")


@pytest.fixture(scope="session")
def loan(small_bank: Bank) -> Task:
    return small_bank.task("library/loan/m-17")


@pytest.fixture(scope="session")
def room(small_bank: Bank) -> Task:
    return small_bank.task("library/room/reading-room")


@pytest.fixture(scope="session")
def card(small_bank: Bank) -> Task:
    return small_bank.task("library/card/c-1")


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
