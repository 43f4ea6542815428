"""The banks a command works on, and the options that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pytest_episem.evidence.bank import Bank

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
