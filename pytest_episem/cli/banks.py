"""The banks a command works on, and the options that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pytest_episem.evidence.bank import Bank
    from pytest_episem.runs.run_dir import Run
    from pytest_episem.workflows.bank.load import WorkflowBank

SHIPPED = "shipped"


def bank_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--bank``."""
    return click.option(
        "--bank",
        "banks",
        multiple=True,
        metavar="DIR",
        help="Task bank directory; repeat to join several. 'shipped', the default, is the one that comes with it.",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


def open_banks(names: Iterable[str]) -> Bank:
    """``bank.open_banks``, imported when it is called: ``--help`` does without."""
    from pytest_episem.evidence import bank

    return bank.open_banks(names)


def open_bank(name: str = SHIPPED) -> Bank:
    """``bank.open_bank``, imported when it is called: ``--help`` does without."""
    from pytest_episem.evidence import bank

    return bank.open_bank(name)


def workflow_banks(names: Sequence[str], runs: Iterable[Run]) -> Sequence[WorkflowBank]:
    """Return the banks named that hold workflows, or the shipped one, with which the records of runs are replayed; none
    where no run has any. Several are one bank for the run made with them, and each for itself."""
    if not any(run.header.workflows for run in runs):
        return []
    from pytest_episem.report.write import at_hand
    from pytest_episem.workflows.bank.load import holds_workflows, open_workflows

    if not names:
        return at_hand(None)
    known = [name for name in names if name == SHIPPED or holds_workflows(Path(name))]
    banks = [open_workflows([name]) for name in known]
    return [*banks, open_workflows(known)] if len(banks) > 1 else banks
