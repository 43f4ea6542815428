"""People's own tools under faults: does an agent whose payment timed out pay twice, give up, or find out?"""

from pytest_episem.flaky.faults import FAULTS, FlakyError, FlakyFailure, choose
from pytest_episem.flaky.ledger import Effect
from pytest_episem.flaky.tools import FlakyTools

__all__ = ["FAULTS", "Effect", "FlakyError", "FlakyFailure", "FlakyTools", "choose"]
