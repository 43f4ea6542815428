"""The task bank: family files to validated tasks. Knows nothing of agents or of pytest."""

from pytest_episem.bank.load import (
    Bank,
    BankError,
    Problem,
    join_banks,
    load_bank,
    open_bank,
    open_banks,
    shipped_bank,
    shipped_bank_dir,
)
from pytest_episem.bank.task import WORLDS, Arguments, Atom, Exposure, Task, Tool, WorldLabel

__all__ = [
    "WORLDS",
    "Arguments",
    "Atom",
    "Bank",
    "BankError",
    "Exposure",
    "Problem",
    "Task",
    "Tool",
    "WorldLabel",
    "join_banks",
    "load_bank",
    "open_bank",
    "open_banks",
    "shipped_bank",
    "shipped_bank_dir",
]
