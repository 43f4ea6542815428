"""Tests of people's own tools: an item a fault, and the verdict when the test has run."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_episem.errors import EpisemError
from pytest_episem.flaky import DEFAULT, FlakyTools
from pytest_episem.flaky.faults import checked

FIXTURE = "episem_flaky"


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Make a test one item for each fault that its mark names, by default those that need nothing but the tool.

    Raises:
        UsageError: the mark says what it cannot say.
    """
    faults, call = _asked(metafunc.definition)
    chosen = [(fault, call) for fault in faults]
    metafunc.parametrize(FIXTURE, chosen, indirect=True, ids=[fault for fault, _ in chosen])


def _asked(node: Any) -> tuple[list[str], int]:
    mark = node.get_closest_marker(FIXTURE)
    given = dict(mark.kwargs) if mark is not None else {}
    faults = given.pop("faults", DEFAULT)
    call = given.pop("call", 1)
    try:
        if given or (mark is not None and mark.args):
            raise EpisemError("it takes faults=[…] and call=N alone")
        if type(call) is not int or call < 1:
            raise EpisemError(f"call must be a number from 1, not {call!r}")
        return checked([faults] if isinstance(faults, str) else faults), call
    except EpisemError as fault:
        raise pytest.UsageError(f"{node.nodeid}: @pytest.mark.{FIXTURE}: {fault}") from None


def judged(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test, and then hold the tools it wrapped to the ledger: who forgets to check does not pass."""
    result = yield
    tools = getattr(item, "funcargs", {}).get(FIXTURE)
    if isinstance(tools, FlakyTools) and not tools.checked:
        try:
            tools.check()
        except AssertionError as fault:
            pytest.fail(str(fault), pytrace=False)
    return result
