"""pytest-episem: does an LLM agent act only on evidence it has, and still get the work done?

What this module exports is public and stays; everything else is private and may change with any version. Names are
loaded when they are first asked for, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_episem.agents.base import Agent, InfrastructureError
    from pytest_episem.agents.function import EpisodeView
    from pytest_episem.agents.mcp import mcp_agent
    from pytest_episem.episode import AgentEpisode, Call, Observation, Usage
    from pytest_episem.errors import EpisemError, UnknownName
    from pytest_episem.evidence.condition import Condition
    from pytest_episem.evidence.metrics.summary import Summary, summarize
    from pytest_episem.evidence.trial import Outcome, Trial
    from pytest_episem.flaky import Effect, FlakyError, FlakyFailure, FlakyTools
    from pytest_episem.report.tables import Column, Table
    from pytest_episem.report.write import write_reports
    from pytest_episem.runs.record import trial_from_json
    from pytest_episem.runs.run import RunHeader
    from pytest_episem.runs.run_dir import Run, merge_runs, open_run
    from pytest_episem.suite import Metric, Suite, suites
    from pytest_episem.verdicts.compare import compare
    from pytest_episem.verdicts.gates import Gates, Limit, evaluate
    from pytest_episem.verdicts.intervals import Estimate
    from pytest_episem.workflows.actions import (
        Attempt,
        Compensate,
        Finish,
        HandOff,
        Query,
        Revalidate,
        Stop,
        Wait,
    )
    from pytest_episem.workflows.controllers import Controller
    from pytest_episem.workflows.support import Belief, Model
    from pytest_episem.workflows.trial import Case, Judgement

__version__ = "0.1.0"

PUBLIC: dict[str, dict[str, str]] = {
    "Agents": {
        "Agent": "agents.base",
        "EpisodeView": "agents.function",
        "AgentEpisode": "episode",
        "Call": "episode",
        "Observation": "episode",
        "Usage": "episode",
        "InfrastructureError": "agents.base",
        "mcp_agent": "agents.mcp",
    },
    "Runs and records": {
        "open_run": "runs.run_dir",
        "merge_runs": "runs.run_dir",
        "Run": "runs.run_dir",
        "RunHeader": "runs.run",
        "trial_from_json": "runs.record",
        "Condition": "evidence.condition",
        "Trial": "evidence.trial",
        "Outcome": "evidence.trial",
        "Case": "workflows.trial",
        "Judgement": "workflows.trial",
    },
    "Numbers and verdicts": {
        "suites": "suite",
        "Suite": "suite",
        "Metric": "suite",
        "summarize": "evidence.metrics.summary",
        "Summary": "evidence.metrics.summary",
        "Estimate": "verdicts.intervals",
        "evaluate": "verdicts.gates",
        "Gates": "verdicts.gates",
        "Limit": "verdicts.gates",
        "compare": "verdicts.compare",
        "write_reports": "report.write",
        "Table": "report.tables",
        "Column": "report.tables",
    },
    "Controllers of the workflow suite": {
        "Controller": "workflows.controllers",
        "Model": "workflows.support",
        "Belief": "workflows.support",
        "Attempt": "workflows.actions",
        "Query": "workflows.actions",
        "Wait": "workflows.actions",
        "Compensate": "workflows.actions",
        "Revalidate": "workflows.actions",
        "HandOff": "workflows.actions",
        "Finish": "workflows.actions",
        "Stop": "workflows.actions",
    },
    "Your own tools under faults": {
        "FlakyTools": "flaky",
        "Effect": "flaky",
        "FlakyFailure": "flaky",
        "FlakyError": "flaky",
    },
    "Errors": {"EpisemError": "errors", "UnknownName": "errors"},
}
"""The public names by what they are for, and the module that each comes from."""

_HOMES = {name: module for names in PUBLIC.values() for name, module in names.items()}

__all__ = [
    "Agent",
    "AgentEpisode",
    "Attempt",
    "Belief",
    "Call",
    "Case",
    "Column",
    "Compensate",
    "Condition",
    "Controller",
    "Effect",
    "EpisemError",
    "EpisodeView",
    "Estimate",
    "Finish",
    "FlakyError",
    "FlakyFailure",
    "FlakyTools",
    "Gates",
    "HandOff",
    "InfrastructureError",
    "Judgement",
    "Limit",
    "Metric",
    "Model",
    "Observation",
    "Outcome",
    "Query",
    "Revalidate",
    "Run",
    "RunHeader",
    "Stop",
    "Suite",
    "Summary",
    "Table",
    "Trial",
    "UnknownName",
    "Usage",
    "Wait",
    "compare",
    "evaluate",
    "mcp_agent",
    "merge_runs",
    "open_run",
    "suites",
    "summarize",
    "trial_from_json",
    "write_reports",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
