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
from pytest_episem.workflows.records import WorkflowRecord, record_of
from pytest_episem.workflows.run_dir import WorkflowRun
from pytest_episem.workflows.study import run_workflow

Over = Literal["assignments", "worlds"]
FOLDERS: dict[Over, tuple[str, ...]] = {"assignments": ("json", "md", "html"), "worlds": ("json", "md")}
"""What is run, and which kinds of file are kept of it."""


def write_retained_workflows(bank: WorkflowBank, out: Path) -> list[Path]:
    """Write a folder for the assignments and one for the worlds, with the five side by side; return the files."""
    files: list[Path] = []
    for over, formats in FOLDERS.items():
        workflows = workflow_runs(bank, over)
        runs = [Run(found.header, {}) for found in workflows]
        files += write_runs(runs, out / over, [], formats=formats, workflows=workflows, workflow_banks=[bank]).files
    return files


def workflow_runs(bank: WorkflowBank, over: Over) -> list[WorkflowRun]:
    """Run the five controllers over every case of a bank (workflow protocol, section 3)."""
    records: dict[str, list[WorkflowRecord]] = {name: [] for name in CONTROLLERS}
    for template, workflow in bank.workflows.items():
        for result in run_workflow(workflow, over):
            agent = f"episem/{result.controller}"
            record = record_of(result, result.controller, agent, template.partition("/")[0])
            records[result.controller].append(replace(record, selection=(), seconds=0.0))
    return [_run(name, found, bank, over) for name, found in records.items()]


def _run(name: str, records: list[WorkflowRecord], bank: WorkflowBank, over: Over) -> WorkflowRun:
    source = BankId(bank.name, bank.version, bank.hash)
    agent = f"episem/{name}"
    header = RunHeader(
        run=name,
        model=agent,
        agent=None,
        protocol_version=PROTOCOL_VERSION,
        plugin_version=__version__,
        bank=source,
        settings={"repeats": 1},
        search_seed="0",
        started="time not kept",
        workflows=WorkflowPlan(source, agent, True, over, [record.id for record in records]),
    )
    assert header.workflows is not None
    return WorkflowRun(header, header.workflows, tuple(records))
