"""The banks a command works on, and the options that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pytest_episem.bank import Bank

SHIPPED = "shipped"


def bank_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--bank``."""
    return click.option(
        "--bank",
        "banks",
        multiple=True,
        metavar="DIR",
        help="Task bank directory; repeat to join several. 'shipped' is the one that comes with the plugin, the default.",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


def open_banks(names: Iterable[str]) -> Bank:
    """Return the banks named, joined; the shipped one where none is.

    Raises:
        BankError: a bank that cannot be used.
    """
    from pytest_episem.bank import join_banks, load_bank, shipped_bank, shipped_bank_dir

    return join_banks(
        shipped_bank() if name == SHIPPED or Path(name).resolve() == shipped_bank_dir() else load_bank(Path(name))
        for name in list(names) or [SHIPPED]
    )
