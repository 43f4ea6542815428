"""Runs to report on: the protocol's worked example, real ones of agents with a known answer, and a hostile one."""

from __future__ import annotations

import pytest
from report_runs import hostile_run, known_run, worked_example

from pytest_episem.evidence.metrics.summary import Summary, summarize
from pytest_episem.runs.run_dir import Run


@pytest.fixture(scope="session")
def example() -> Run:
    """The worked example of the protocol, section 10."""
    return worked_example()


@pytest.fixture(scope="session")
def summary(example: Run) -> Summary:
    return summarize(example, draws=200)


@pytest.fixture(scope="session")
def trusting() -> Run:
    """``episem/trusting`` on one finance pair: it commits under either hidden fact, with and without the audit."""
    return known_run("trusting")


@pytest.fixture(scope="session")
def careful() -> Run:
    return known_run("careful")


@pytest.fixture(scope="session")
def hostile() -> Run:
    """A run whose model name, messages and arguments try to be markup, terminal control and broken text."""
    return hostile_run()
