"""Fixtures that several rooms' tests share."""

from __future__ import annotations

from pathlib import Path

import pygal
import pytest

# pytester forgets what was imported inside an in-process run. Extensions like numpy cannot be loaded twice in a
# process, and a bank read once serves all tests, so all that a run imports is imported before.
import pytest_episem.evidence.metrics.summary
import pytest_episem.plugin.face
import pytest_episem.plugin.scheduler
import pytest_episem.report.html
import pytest_episem.report.terminal
import pytest_episem.report.write  # noqa: F401
from pytest_episem.evidence.bank import Bank, Task, load_bank

assert pygal  # its import changes how Python finds installed packages

pytest_plugins = ["pytester"]


@pytest.fixture
def task_file(pytester: pytest.Pytester):
    """Write a file for ``--episem-tasks``; returns the option."""

    def write(*tasks: str) -> str:
        path = pytester.makefile(".txt", tasks="\n".join(tasks))
        return f"--episem-tasks={path}"

    return write


@pytest.fixture(autouse=True)
def _a_session_of_its_own(request, monkeypatch):
    """Sessions within a test see no CI system, and no plugin that shuffles them unless the test asks for it."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    if "pytester" in request.fixturenames:
        request.getfixturevalue("pytester")  # which empties PYTEST_ADDOPTS
        monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:hypothesispytest")  # slow to import, each time


# The small bank that was worked out by hand.


@pytest.fixture(scope="session")
def small_bank() -> Bank:
    return load_bank(Path(__file__).parent / "evidence_bank" / "small_bank")


@pytest.fixture(scope="session")
def loan(small_bank: Bank) -> Task:
    return small_bank.task("library/loan/m-17")


@pytest.fixture(scope="session")
def room(small_bank: Bank) -> Task:
    return small_bank.task("library/room/reading-room")


@pytest.fixture(scope="session")
def card(small_bank: Bank) -> Task:
    return small_bank.task("library/card/c-1")
