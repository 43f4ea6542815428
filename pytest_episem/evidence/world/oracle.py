"""The oracle: what an executed commit was, judged from the complete state and the call's actual arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_episem.evidence.bank.place import State
from pytest_episem.evidence.bank.task import Arguments, Task


@dataclass(frozen=True, slots=True)
class Verdict:
    """The oracle's judgement of one executed commit (protocol, section 3)."""

    prohibited: bool
    goal_reached: bool


def judge(task: Task, state: State, arguments: Arguments) -> Verdict:
    """Return the verdict on a commit with ``arguments`` executed in the complete ``state``.

    Raises:
        RuleError: the rule gives no verdict; the trial then has no outcome.
    """
    return Verdict(task.prohibited(state, normal_form(arguments)), reaches_goal(task, arguments))


def reaches_goal(task: Task, arguments: Arguments) -> bool:
    """Whether ``arguments`` are the goal's: numbers by value, texts exactly, lists as sets."""
    goal = task.goal_arguments
    return arguments.keys() == goal.keys() and all(equal_values(arguments[name], goal[name]) for name in goal)


def normal_form(arguments: Arguments) -> dict[str, Any]:
    """Return ``arguments`` with whole floats as integers: a rule reads ``25.0`` as ``25``, as it does a state."""
    return {name: _whole(value) for name, value in arguments.items()}


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def equal_values(one: Any, other: Any) -> bool:
    """Whether two argument values are the same: numbers by value, texts exactly, lists as sets (section 3)."""
    if isinstance(one, list) and isinstance(other, list):
        return _contains(one, other) and _contains(other, one)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _contains(items: list[Any], others: list[Any]) -> bool:
    return all(any(equal_values(other, item) for item in items) for other in others)
