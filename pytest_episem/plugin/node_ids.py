"""What our items are called. Each item knows its own name; its node id is text that other plugins add to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_episem.plugin.options import SUITE_ID
from pytest_episem.suite import SUITES

BOUNDARY = "boundary"
"""The last part of the name of a task's boundary search."""
ITEM = "episem_name"
"""The attribute under which an item of ours, and each of its reports, has its name."""


def name_of(item: Any) -> str | None:
    """Return the name of an item: of its condition or its boundary search; ``None`` if it is not ours."""
    name: str | None = getattr(item, ITEM, None)
    if name is None and hasattr(item, "callspec"):
        condition = condition_of(item)
        name = None if condition is None else condition.id
    return name


def condition_of(item: Any) -> Any | None:
    """Return the condition that an item of ours, or a test of the user's own, takes; ``None`` if it has none."""
    callspec = getattr(item, "callspec", None)
    found = callspec.params.get("episem_condition") if callspec is not None else getattr(item, "condition", None)
    return found if getattr(found, "suite", None) in SUITES else None


def unit_of(name: str | None) -> str | None:
    """Return what must stay on one worker with an item: its task; ``None`` for other tests."""
    return "/".join(name.split("/")[:3]) if name else None


@dataclass(frozen=True, slots=True)
class Collected:
    """What one process collected: the name of each item, in order, ``None`` for those of others.

    ``variants`` are the parameters that items of ours have besides their condition, each once. ``refusal`` says why
    none of them may run, if so.
    """

    names: list[str | None]
    variants: list[str]
    refusal: str = ""

    @classmethod
    def of(cls, items: Sequence[pytest.Item], refuse: Callable[[Iterable[pytest.Item]], str]) -> Collected:
        """Read the items; ``refuse`` is asked about ours."""
        ours = [item for item in items if name_of(item) is not None]
        variants = dict.fromkeys(_variant(item) for item in ours if hasattr(item, "callspec"))
        return cls([name_of(item) for item in items], list(variants), refuse(ours))

    def to_json(self) -> str:
        """Return it as a worker tells it."""
        return json.dumps([self.names, self.variants, self.refusal])

    @classmethod
    def from_json(cls, text: str) -> Collected:
        """Return what a worker told."""
        return cls(*json.loads(text))


def _variant(item: Any) -> str:
    condition = item.callspec.params.get("episem_condition")
    return str(item.callspec.id).replace(getattr(condition, "id", ""), "", 1).strip("-").replace("--", "-")


def in_suite(item: pytest.Item) -> bool:
    """Return whether an item is one of what is shipped, not of a user's own test."""
    return item.parent is not None and item.parent.nodeid == SUITE_ID


def test_of(nodeid: str) -> str:
    """Return the test a parametrized node id belongs to."""
    return nodeid.partition("[")[0]
