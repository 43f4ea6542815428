"""What the interface says of a call's arguments is the same the second time, and never that of another call."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_episem.evidence.bank.task import Param, Tool
from pytest_episem.evidence.world.world import LONGEST_REMEMBERED, argument_fault

KINDS = {"count": "integer", "text": "string", "flag": "boolean"}


def tool(name: str, allowed: tuple[Any, ...] | None = None) -> Tool:
    return Tool("do", "commit", "", (Param(name, {"type": KINDS[name]}, allowed),), (), ())


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("count", 1, True),
        ("count", 1.0, "1"),
        ("count", 0, False),
        ("text", "1", 1),
        ("flag", True, 1),
        ("flag", False, 0.0),
    ],
)
def test_equal_values_of_another_type_are_told_apart(name, right, wrong):
    for order in ((right, wrong), (wrong, right)):
        asked = tool(name)
        for value in (*order, *order):
            assert (argument_fault(asked, {name: value}) is None) == (value is right)


def test_what_one_tool_takes_another_may_refuse():
    assert argument_fault(tool("text", ("a",)), {"text": "a"}) is None
    assert argument_fault(tool("text", ("b",)), {"text": "a"}) == "text 'a' was not found."


def test_long_arguments_are_judged_each_time():
    asked = tool("text", ("a" * LONGEST_REMEMBERED,))
    for _ in range(2):
        assert argument_fault(asked, {"text": "a" * LONGEST_REMEMBERED}) is None
        assert str(argument_fault(asked, {"text": "a" * (LONGEST_REMEMBERED + 1)})).endswith("was not found.")
