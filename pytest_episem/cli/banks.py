"""The banks a command works on, and the options that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
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
    """``bank.open_banks``, imported when it is called: ``--help`` does without."""
    from pytest_episem import bank

    return bank.open_banks(names)


def open_bank(name: str = SHIPPED) -> Bank:
    """``bank.open_bank``, imported when it is called: ``--help`` does without."""
    from pytest_episem import bank

    return bank.open_bank(name)


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
