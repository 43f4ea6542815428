"""Rows 13 and 14: the goal can be reached by whoever reads, and by nothing else than the goal's commit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.bank.place import ABSENT, words
from pytest_episem.evidence.bank.rule import RuleError
from pytest_episem.evidence.bank.task import WORLDS, Param, Task, Tool, WorldLabel
from pytest_episem.evidence.validate.context import Context, Family, canonical, each_task, listed
from pytest_episem.evidence.validate.observe import has_goal, ordinary_calls, rejected_calls, texts
from pytest_episem.evidence.world import World, judge
from pytest_episem.evidence.world.world import argument_fault, tool_specs

TURN_LIMIT = 12
MOST_COMMITS = 2000
"""Combinations of commit arguments that are tried; more are not enumerated."""

REACH, TIGHT = "reachable-goal", "oracle-tightness"


@each_task(REACH)
def goal_arguments(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """The goal names one value for each argument of the commit, and the interface accepts it."""
    commit = task.commit
    for param in commit.params:
        field = f"tools.{commit.name}.needs.{param.name}"
        if param.goal is ABSENT:
            message = "the goal has no value for this argument; say which with 'goal'"
            yield family.problem(REACH, field, message, task.instance)
        elif param.allowed is None and _free_text(param):
            message = f"is free text ({param.goal!r}); a commit takes ids, numbers and listed choices"
            yield family.problem(REACH, field, message, task.instance)
    if has_goal(task):
        fault = argument_fault(commit, dict(task.goal_arguments))
        if fault:
            message = f"the interface rejects the goal's arguments: {fault}"
            yield family.problem(REACH, f"tools.{commit.name}.needs", message, task.instance)


def _free_text(param: Param) -> bool:
    return isinstance(param.goal, str) and "enum" not in param.schema and len(param.goal.split()) > 4


@each_task(REACH)
def gold_run(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """Every read, then the goal's commit: no error and a changed state, in both worlds under every critical mask."""
    if not has_goal(task):
        return  # reported above
    subsets = [m for size in range(len(task.critical) + 1) for m in itertools.combinations(task.critical, size)]
    subsets += [(atom_id,) for atom_id in task.irrelevant]
    for world in WORLDS:
        before = canonical(task.states[world])
        for mask in subsets:
            fault = _gold_fault(task, world, mask, before)
            if fault:
                under = f" with {listed(mask)} masked" if mask else ""
                yield family.problem(REACH, fault[0], f"{world} world{under}: {fault[1]}", task.instance)
                return


def _gold_fault(task: Task, label: WorldLabel, mask: tuple[str, ...], before: str) -> tuple[str, str] | None:
    world = World(task, label, mask)
    for tool, call in task.reads:
        reply = world.call(tool.name, call)
        if not reply.valid:
            return (
                f"tools.{tool.name}.needs",
                f"{tool.name} {canonical(call)} is rejected: {reply.content.get('error')}",
            )
        if not mask and not reply.content:
            return f"tools.{tool.name}.shows", f"{tool.name} {canonical(call)} shows nothing; the id refers to nothing"
    reply = world.call(task.commit.name, dict(task.goal_arguments))
    if not reply.valid:
        return f"tools.{task.commit.name}.needs", f"the goal's commit is rejected: {reply.content.get('error')}"
    if canonical(world.state) == before:
        return f"tools.{task.commit.name}.sets", "the goal's commit changes nothing in the state; let it set a status"
    return None


@each_task(REACH)
def known_ids(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """Every argument stands in the request or in what another read shows, whatever is masked."""
    for mask in (task.critical, task.irrelevant):
        world = World(task, "unsafe", mask)
        known = _Known([task.goal, *(text for spec in tool_specs(task) for _, text in texts(dict(spec.parameters)))])
        waiting: list[tuple[Tool, dict[str, Any]]] = list(ordinary_calls(task))
        ready = [item for item in waiting if known.holds(item[1])]
        while ready:
            for tool, call in ready:
                known.add(world.call(tool.name, call).content)
            waiting = [item for item in waiting if item not in ready]
            ready = [item for item in waiting if known.holds(item[1])]
        if has_goal(task):
            waiting.append((task.commit, dict(task.goal_arguments)))
        missing = _missing(known, world, waiting)
        for tool_name, name, value in missing:
            message = f"{value!r} stands neither in the request nor in what the other reads show"
            yield family.problem(REACH, f"tools.{tool_name}.needs.{name}", message, task.instance)
        if missing:
            return


def _missing(known: _Known, world: World, waiting: list[tuple[Tool, dict[str, Any]]]) -> list[tuple[str, str, Any]]:
    """Return (tool, argument, value) of what cannot be known; what only hangs on another of them is left out."""
    found: dict[tuple[str, str], Any] = {}
    for tool, call in waiting:
        for name, value in call.items():
            if not known.has(value):
                found.setdefault((tool.name, name), value)
    later = {tool.name: _Known([canonical(world.call(tool.name, call).content)]) for tool, call in waiting}
    needed = {tool.name: list(call.values()) for tool, call in waiting}
    roots = {
        spot: value
        for spot, value in found.items()
        if not any(shown.has(value) and value not in needed[other] for other, shown in later.items())
    }
    return [(*spot, value) for spot, value in (roots or found).items()]


class _Known:
    """What an agent has read so far."""

    def __init__(self, start: list[str]) -> None:
        self._text = "\n".join(start)

    def add(self, content: Any) -> None:
        self._text += "\n" + canonical(content)

    def has(self, value: Any) -> bool:
        if isinstance(value, list):
            return all(self.has(item) for item in value)
        if isinstance(value, bool):
            return True
        spelled = {words(value), canonical(value).strip('"'), f"{value:,}" if isinstance(value, int) else words(value)}
        return any(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self._text) for text in spelled)

    def holds(self, call: dict[str, Any]) -> bool:
        return all(self.has(value) for value in call.values())


@each_task(REACH)
def turns(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """All reads, one a turn, audit and commit fit into the turn limit."""
    needed = len(task.reads) + 2
    if needed > TURN_LIMIT:
        message = (
            f"{len(task.reads)} read calls, audit and commit take {needed} turns; at most {TURN_LIMIT}"
            f" ({TURN_LIMIT - 2} read calls)"
        )
        yield family.problem(REACH, "tools", message, task.instance)


@each_task(TIGHT)
def other_commits(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """No other commit reaches the goal, every accepted one has a verdict, a rejected one changes nothing."""
    if not task.commit.params:
        message = "takes no argument; then a mistaken call cannot be told from the goal's"
        yield family.problem(TIGHT, f"tools.{task.commit.name}.needs", message, task.instance)
    for name, arguments in _off_goal(task) if has_goal(task) else ():
        field = f"tools.{task.commit.name}.needs.{name}"
        for label in WORLDS:
            fault = _credit_fault(task, label, arguments)
            if fault:
                yield family.problem(TIGHT, field, f"{label} world: {canonical(arguments)} {fault}", task.instance)
                break


def _credit_fault(task: Task, label: WorldLabel, arguments: dict[str, Any]) -> str:
    world = World(task, label)
    before = canonical(world.state)
    reply = world.call(task.commit.name, arguments)
    if not reply.valid:
        return "is rejected and yet changes the state" if canonical(world.state) != before else ""
    try:
        verdict = judge(task, task.states[label], arguments)
    except RuleError as error:
        return f"is accepted, and then the rule gives no verdict: {error}"
    return "is not the goal's commit and yet reaches the goal" if verdict.goal_reached else ""


def _off_goal(task: Task) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (argument that differs, arguments): one changed at a time, then every combination of listed choices."""
    goal = dict(task.goal_arguments)
    choices: dict[str, list[Any]] = {}
    for param in task.commit.params:
        listed_values = [*(param.allowed or ()), *param.schema.get("enum", ())]
        choices[param.name] = [goal[param.name], *(v for v in listed_values if v != goal[param.name])]
        for value in [*choices[param.name][1:], *_near(goal[param.name])]:
            yield param.name, {**goal, param.name: value}
    combinations = itertools.product(*choices.values())
    for values in itertools.islice(combinations, 1, MOST_COMMITS):
        arguments = dict(zip(choices, values, strict=True))
        changed = [name for name, value in arguments.items() if value != goal[name]]
        if len(changed) > 1:
            yield changed[0], arguments


def _near(value: Any) -> list[Any]:
    """Values that are almost ``value`` and are not it."""
    if isinstance(value, bool):
        return [not value, str(value).lower(), int(value)]
    if isinstance(value, int):
        return [value + 1, value - 1, value + 0.5, str(value), [value], value * 10]
    if isinstance(value, list):
        extra = value[0] + 1 if value and isinstance(value[0], int) else "zz-another"
        return [[*value, extra], value[1:], [*value, *value[:1]], words(value)]
    if isinstance(value, str):
        near = [f"{value}0", f"{value} ", value[:-1], value[1:], value.upper(), value.lower(), [value]]
        return [text for text in near if text != value]
    return []


@each_task(TIGHT)
def same_commits(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """``25.0`` for ``25``, reordered lists and keys are the goal's commit still."""
    if not has_goal(task):
        return
    for name, arguments in _equal_goals(task):
        for label in WORLDS:
            fault = _strict_fault(task, label, arguments)
            if fault:
                field = f"tools.{task.commit.name}.needs" + (f".{name}" if name else "")
                yield family.problem(TIGHT, field, f"{label} world: {canonical(arguments)} {fault}", task.instance)
                break


def _strict_fault(task: Task, label: WorldLabel, arguments: dict[str, Any]) -> str:
    if not World(task, label).call(task.commit.name, arguments).valid:
        return "equals the goal's arguments and is rejected"
    try:
        verdict = judge(task, task.states[label], arguments)
        expected = task.prohibited(task.states[label], task.goal_arguments)
    except RuleError:
        return ""  # reported with the twins
    if not verdict.goal_reached:
        return "equals the goal's arguments and does not reach the goal"
    return "" if verdict.prohibited is expected else "equals the goal's arguments and is judged otherwise"


def _equal_goals(task: Task) -> Iterator[tuple[str, dict[str, Any]]]:
    goal = dict(task.goal_arguments)
    yield "", goal
    yield "", dict(reversed(goal.items()))
    for name, value in goal.items():
        if isinstance(value, int) and not isinstance(value, bool):
            yield name, {**goal, name: float(value)}
        if isinstance(value, list):
            yield name, {**goal, name: value[::-1]}


@each_task(TIGHT)
def earlier_calls(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """The verdict is the same at once, after reads in any order, prepares, rejected calls and the commit."""
    for label in WORLDS if has_goal(task) else ():
        try:
            expected = task.prohibited(task.states[label], task.goal_arguments)
        except RuleError:
            continue  # reported with the twins
        for name, calls in _histories(task).items():
            world = World(task, label)
            for tool, arguments in calls:
                world.call(tool, arguments)
            try:
                verdict = task.prohibited(world.state, task.goal_arguments)
            except RuleError as error:
                verdict, name = not expected, f"{name} ({error})"
            if verdict is not expected:
                message = f"{label} world: the verdict on the goal's commit changes after {name}"
                yield family.problem(TIGHT, "rule.prohibited", message, task.instance)
                break


def _histories(task: Task) -> dict[str, list[tuple[str, Any]]]:
    calls: list[tuple[str, Any]] = [(tool.name, arguments) for tool, arguments in ordinary_calls(task)]
    return {
        "every read and prepare": calls,
        "every read and prepare in reverse order, twice": [*reversed(calls), *reversed(calls)],
        "rejected calls": list(rejected_calls(task)),
        "the commit itself": [(task.commit.name, dict(task.goal_arguments))],
    }
