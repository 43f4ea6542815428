"""The task bank: family files to validated tasks. Knows nothing of agents or of pytest."""

from pytest_episem.evidence.bank.load import Bank, join_banks, load_bank, open_bank, open_banks, shipped_bank
from pytest_episem.evidence.bank.task import WORLDS, Arguments, Atom, Exposure, Task, Tool, WorldLabel

__all__ = [
    "WORLDS",
    "Arguments",
    "Atom",
    "Bank",
    "Exposure",
    "Task",
    "Tool",
    "WorldLabel",
    "join_banks",
    "load_bank",
    "open_bank",
    "open_banks",
    "shipped_bank",
]
