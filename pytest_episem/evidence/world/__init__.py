"""One task in one world under one mask: tools, projection, audit source, oracle. Pure and without I/O."""

from pytest_episem.evidence.bank.task import AUDIT_TOOL
from pytest_episem.evidence.world.evidence import Delivery, Evidence, evidence_of
from pytest_episem.evidence.world.oracle import Verdict, judge, normal_form
from pytest_episem.evidence.world.world import World

__all__ = [
    "AUDIT_TOOL",
    "Delivery",
    "Evidence",
    "Verdict",
    "World",
    "evidence_of",
    "judge",
    "normal_form",
]
