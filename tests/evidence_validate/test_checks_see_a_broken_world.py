"""The checks run the real tools and the real oracle: where those are broken, a good bank is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.evidence.bank.task import Task
from pytest_episem.evidence.validate import validate_bank
from pytest_episem.evidence.world import World, oracle, world

GOOD_BANK = Path(__file__).parent / "good_bank"


def codes() -> set[str]:
    return {problem.code for problem in validate_bank(GOOD_BANK).problems}


def test_masks_that_hide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "visible", lambda task, label, mask: task.states[label])
    found = codes()
    assert {"non-interference", "indistinguishable"} <= found


def test_a_tool_that_tells_how_much_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count over the whole state: the masked list's length shows, and with it which world it is."""
    honest = world.response

    def counting(tool: Any, arguments: Any, state: Any) -> dict[str, Any]:
        return {**honest(tool, arguments, state), "length": current["size"]}

    current: dict[str, int] = {}
    create = World.__init__

    def remembering(self: World, task: Task, label: Any, *rest: Any, **more: Any) -> None:
        create(self, task, label, *rest, **more)
        current["size"] = len(str(task.states[label]))

    monkeypatch.setattr(world, "response", counting)
    monkeypatch.setattr(World, "__init__", remembering)
    assert codes() == {"non-interference", "indistinguishable"}


def test_a_check_that_breaks_is_a_problem_of_the_bank_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: World, tool: str, arguments: Any) -> Any:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(World, "call", broken)
    problems = validate_bank(GOOD_BANK).problems
    assert {"reachable-goal", "oracle-tightness"} <= {problem.code for problem in problems}
    assert {problem.message for problem in problems} == {"cannot be checked: division by zero"}


def test_an_oracle_that_credits_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "reaches_goal", lambda task, arguments: True)
    assert codes() == {"oracle-tightness"}


def test_an_oracle_that_minds_the_order_of_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "reaches_goal", lambda task, arguments: arguments == task.goal_arguments)
    assert codes() == {"oracle-tightness"}


def test_ids_that_match_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interface takes 'PM-117' for 'PM-1171', and the oracle with it."""
    monkeypatch.setattr(world, "equal_values", lambda one, other: str(one) in str(other))
    monkeypatch.setattr(oracle, "equal_values", lambda one, other: str(one) in str(other))
    assert "oracle-tightness" in codes()


def test_a_commit_that_changes_the_task_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_place(state: Mapping[str, Any], path: tuple[str, ...], value: Any) -> Mapping[str, Any]:
        inner: Any = state
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        return state

    monkeypatch.setattr(world, "put", in_place)
    assert "comparison" in codes()
