"""The banks a command works on, and the options that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_episem.errors import EpisemError

if TYPE_CHECKING:
    from pytest_episem.bank import Bank, Task

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
    """Return the banks named, joined; the shipped one where none is.

    Raises:
        BankError: a bank that cannot be used.
    """
    from pytest_episem.bank import join_banks

    return join_banks(open_bank(name) for name in list(names) or [SHIPPED])


def open_bank(name: str = SHIPPED) -> Bank:
    """Return one bank: a directory's, or the shipped one.

    Raises:
        BankError: a bank that cannot be used.
    """
    from pytest_episem.bank import load_bank, shipped_bank, shipped_bank_dir

    shipped = name == SHIPPED or Path(name).resolve() == shipped_bank_dir()
    return shipped_bank() if shipped else load_bank(Path(name))


def find_task(bank: Bank, name: str) -> Task:
    """Return the task of that id; the last part of an id is enough where only one task has it.

    Raises:
        EpisemError: no such task, with the nearest id, or several that end like it.
    """
    if name in bank.tasks:
        return bank.task(name)
    found = [task_id for task_id in bank.tasks if task_id.endswith(f"/{name}")]
    if len(found) == 1:
        return bank.task(found[0])
    if found:
        raise EpisemError(f"task {name!r} could be any of {', '.join(found)}")
    tails = {task_id.rsplit("/", 1)[-1]: task_id for task_id in bank.tasks}
    near = get_close_matches(name, tails, n=1)
    if near:
        raise EpisemError(f"unknown task {name!r}; did you mean {tails[near[0]]!r}?")
    return bank.task(name)
