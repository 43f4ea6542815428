"""The small bank that was worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_episem.bank import Bank, Task, load_bank


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
