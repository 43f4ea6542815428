"""The hooks that other plugins and ``conftest.py`` may implement. Imports nothing heavy: every session loads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_episem.evidence.trial import Trial
    from pytest_episem.report.tables import Table
    from pytest_episem.runs.run_dir import Run


@pytest.hookspec
def pytest_episem_banks(config: pytest.Config) -> Mapping[str, Path]:  # type: ignore[empty-body]
    """Give names to task banks: ``--episem-bank=NAME`` then means that directory.

    Called once a process. A name that two plugins give, or ``shipped``, is a usage error.
    """


@pytest.hookspec(firstresult=True)
def pytest_episem_agent(config: pytest.Config, name: str) -> Any | None:
    """Return the agent that ``--episem-model=NAME`` means, or ``None`` to leave the name to others and to litellm.

    Whatever ``episem_agent`` may return may be returned here. Names that begin with ``episem/`` are not asked about.
    The first answer counts.
    """


@pytest.hookspec
def pytest_episem_judge(config: pytest.Config, trial: Trial) -> str | None:
    """Judge a finished trial by a rule of your own: return what is wrong with it in a line or more, or ``None``.

    Called when an item of the evidence suite asks the oracle, in the process that ran it. An objection fails the item
    in the usual way, gates or not; it changes no record and no metric.
    """


@pytest.hookspec
def pytest_episem_report_tables(config: pytest.Config, run: Run) -> Iterable[Table]:  # type: ignore[empty-body]
    """Return tables to stand behind our own in the report's files.

    Called when the session writes its report, in the controller alone; ``run`` holds all its records. What a later
    ``episem report`` writes has our own tables alone.
    """
