"""People's own tools under faults: a call whose answer is lost, late or wrong, and a ledger of what really happened."""

from pytest_episem.flaky.faults import DEFAULT, FAULTS
from pytest_episem.flaky.tools import FlakyTools

__all__ = ["DEFAULT", "FAULTS", "FlakyTools"]
