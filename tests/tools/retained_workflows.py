"""The workflow suite's part of the retained reports: the five controllers over all assignments, and over all worlds.

Times are left out, so that equal code gives equal files.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from pytest_episem import __version__
from pytest_episem.report.write import write_runs
from pytest_episem.runs.run import BankId, RunHeader, WorkflowPlan
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.version import PROTOCOL_VERSION
from pytest_episem.workflows.bank.load import WorkflowBank
from pytest_episem.workflows.controllers import CONTROLLERS
from pytest_episem.workflows.study import run_workflow
from pytest_episem.workflows.trial import Trial

Over = Literal["assignments", "worlds"]
FOLDERS: dict[Over, tuple[str, ...]] = {"assignments": ("json", "md", "html"), "worlds": ("json", "md")}
"""What is run, and which kinds of file are kept of it."""


def write_retained_workflows(bank: WorkflowBank, out: Path) -> list[Path]:
    """Write a folder for the assignments and one for the worlds, with the five side by side; return the files."""
    files: list[Path] = []
    for over, formats in FOLDERS.items():
        runs = workflow_runs(bank, over)
        files += write_runs(runs, out / over, [], formats=formats, workflow_banks=[bank]).files
    return files


def workflow_runs(bank: WorkflowBank, over: Over) -> list[Run]:
    """Run the five controllers over every case of a bank (workflow protocol, section 3)."""
    trials: dict[str, list[Trial]] = {name: [] for name in CONTROLLERS}
    for workflow in bank.workflows.values():
        for result in run_workflow(workflow, over):
            outcome = replace(result.trial.judged, search=replace(result.trial.judged.search, selection=()))
            trials[result.controller].append(replace(result.trial, outcome=outcome, seconds=0.0))
    return [_run(name, found, bank, over) for name, found in trials.items()]


def _run(name: str, trials: list[Trial], bank: WorkflowBank, over: Over) -> Run:
    source = BankId.of(bank)
    header = RunHeader(
        run=name,
        model=f"episem/{name}",
        agent=None,
        protocol_version=PROTOCOL_VERSION,
        plugin_version=__version__,
        bank=source,
        settings={"repeats": 1},
        search_seed="0",
        started="time not kept",
        workflows=WorkflowPlan(source, True, over, [trial.condition.path for trial in trials]),
    )
    return Run(header, {trial.condition: trial for trial in trials})
