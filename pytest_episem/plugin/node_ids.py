"""What the node ids of our items say. Workers send nothing else of their collection."""

from __future__ import annotations

import re
from typing import NamedTuple

from pytest_episem.plugin.options import SUITE_ID

OUTCOMES = "outcomes"
_NAME = r"[a-z0-9-]+"
_ITEM = re.compile(rf"({_NAME}/{_NAME}/{_NAME})/((?:un)?safe-.+|boundary)$")
_CASE = re.compile(rf"{SUITE_ID}::{OUTCOMES}/({_NAME}/{_NAME})/({_NAME})$")


class CaseName(NamedTuple):
    """A case of the outcome suite: its template, ``domain/workflow``, and its name there."""

    template: str
    case: str

    @property
    def id(self) -> str:
        """The case's id in records."""
        return f"{self.template}/{self.case}"

    @property
    def item(self) -> str:
        """The name of its item."""
        return f"{OUTCOMES}/{self.id}"


def of_suite(nodeid: str) -> bool:
    """Return whether a node id is one of what is shipped, not of a user's own test."""
    return nodeid.startswith(f"{SUITE_ID}::")


def parse_item(nodeid: str) -> tuple[str, str] | None:
    """Return (task id, condition name) of a node id of the evidence suite, or ``None``."""
    name = nodeid.split("::", 1)[-1]
    if of_suite(nodeid):
        found = _ITEM.match(name)
    elif name.endswith("]") and "[" in name:
        found = _ITEM.search(name[name.index("[") + 1 : -1])
    else:
        found = _ITEM.match(name.rsplit("::", 1)[-1])
    return (found.group(1), found.group(2)) if found else None


def parse_case(nodeid: str) -> CaseName | None:
    """Return the case of a node id of the outcome suite, or ``None``."""
    found = _CASE.match(nodeid)
    return CaseName(found.group(1), found.group(2)) if found else None


def is_ours(nodeid: str) -> bool:
    """Return whether an item is one of either suite."""
    return parse_item(nodeid) is not None or parse_case(nodeid) is not None


def unit_of(nodeid: str) -> str | None:
    """Return what must stay on one worker with ``nodeid``: its task, or its template; ``None`` for other tests."""
    found = parse_item(nodeid)
    if found:
        return found[0]
    case = parse_case(nodeid)
    return f"{OUTCOMES}/{case.template}" if case else None


def test_of(nodeid: str) -> str:
    """Return the test a parametrized node id belongs to."""
    return nodeid.partition("[")[0]
