"""The outcome suite's part of the retained reports: the five controllers over all assignments, and over all worlds.

Times are left out, so that equal code gives equal files.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from pytest_episem import __version__
from pytest_episem.report.write import write_runs
from pytest_episem.runs.run import BankId, OutcomePlan, RunHeader
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.version import PROTOCOL_VERSION
from pytest_episem.workflows.bank.load import OutcomeBank
from pytest_episem.workflows.controllers import CONTROLLERS
from pytest_episem.workflows.records import OutcomeRecord, record_of
from pytest_episem.workflows.run_dir import OutcomeRun
from pytest_episem.workflows.study import run_workflow

Over = Literal["assignments", "worlds"]
FOLDERS: dict[Over, tuple[str, ...]] = {"assignments": ("json", "md", "html"), "worlds": ("json", "md")}
"""What is run, and which kinds of file are kept of it."""


def write_retained_outcomes(bank: OutcomeBank, out: Path) -> list[Path]:
    """Write a folder for the assignments and one for the worlds, with the five side by side; return the files."""
    files: list[Path] = []
    for over, formats in FOLDERS.items():
        outcomes = outcome_runs(bank, over)
        runs = [Run(found.header, {}) for found in outcomes]
        files += write_runs(runs, out / over, [], formats=formats, outcomes=outcomes, outcome_banks=[bank]).files
    return files


def outcome_runs(bank: OutcomeBank, over: Over) -> list[OutcomeRun]:
    """Run the five controllers over every case of a bank (outcome protocol, section 3)."""
    records: dict[str, list[OutcomeRecord]] = {name: [] for name in CONTROLLERS}
    for template, workflow in bank.workflows.items():
        for result in run_workflow(workflow, over):
            agent = f"episem/{result.controller}"
            record = record_of(result, result.controller, agent, template.partition("/")[0])
            records[result.controller].append(replace(record, selection=(), seconds=0.0))
    return [_run(name, found, bank, over) for name, found in records.items()]


def _run(name: str, records: list[OutcomeRecord], bank: OutcomeBank, over: Over) -> OutcomeRun:
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
        outcomes=OutcomePlan(source, agent, True, over, [record.id for record in records]),
    )
    assert header.outcomes is not None
    return OutcomeRun(header, header.outcomes, tuple(records))
