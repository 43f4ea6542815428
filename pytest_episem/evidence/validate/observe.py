"""What an agent can see of a task: every call it may make, and every answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_episem.evidence.bank.place import ABSENT, Path, State
from pytest_episem.evidence.bank.task import Exposure, Task, Tool, WorldLabel, spots
from pytest_episem.evidence.validate.context import Context, canonical
from pytest_episem.evidence.world import World
from pytest_episem.evidence.world.evidence import find


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer: the call, whether the interface took it, and the content."""

    tool: str
    arguments: Any
    valid: bool
    content: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The answer as the agent gets it."""
        return canonical(self.content)

    def __str__(self) -> str:
        return f"{self.tool} {canonical(self.arguments)}"


def ordinary_calls(task: Task) -> Iterator[tuple[Tool, dict[str, Any]]]:
    """Yield every read, every prepare, and every read once more where a prepare may have changed something."""
    prepares = [(tool, call) for tool in task.tools.values() if tool.kind == "prepare" for call in tool.calls()]
    yield from task.reads
    yield from prepares
    if prepares:
        yield from task.reads


def rejected_calls(task: Task) -> Iterator[tuple[str, Any]]:
    """Yield calls that the interface rejects: unknown tool and ids, missing, extra and mistyped arguments."""
    yield "no_such_tool", {}
    for tool in task.tools.values():
        good = sample_arguments(tool)
        yield tool.name, {**good, "unexpected": "value"}
        for param in tool.params:
            yield tool.name, {name: value for name, value in good.items() if name != param.name}
            yield tool.name, {**good, param.name: {"wrong": "type"}}
            if param.allowed is not None:
                yield tool.name, {**good, param.name: "XX-no-such-id"}


def sample_arguments(tool: Tool) -> dict[str, Any]:
    """Return one valid set of arguments: the goal's where there is one, else the first that exists."""
    sample: dict[str, Any] = {}
    for param in tool.params:
        known = [] if param.goal is ABSENT else [param.goal]
        sample[param.name] = [*known, *(param.allowed or ()), ""][0]
    return sample


def has_goal(task: Task) -> bool:
    """Whether the goal has a value for every argument of the commit."""
    return all(param.goal is not ABSENT for param in task.commit.params)


def with_state(task: Task, label: WorldLabel, state: State) -> Task:
    """Return ``task`` with another state in one world, everything else as it is."""
    return replace(task, states={**task.states, label: state})


def observe(task: Task, label: WorldLabel, mask: Iterable[str], errors: bool = True) -> list[Seen]:
    """Run every ordinary call, rejected calls, and the goal's commit in a fresh world; return the answers."""
    world = World(task, label, mask)
    calls: list[tuple[str, Any]] = [(tool.name, call) for tool, call in ordinary_calls(task)]
    calls += rejected_calls(task) if errors else []
    calls += [(task.commit.name, dict(task.goal_arguments))] if has_goal(task) else []
    answers = []
    for name, arguments in calls:
        reply = world.call(name, arguments)
        answers.append(Seen(name, arguments, reply.valid, reply.content))
    return answers


def seen(context: Context, task: Task, label: WorldLabel, mask: tuple[str, ...]) -> list[Seen]:
    """Return ``observe`` of the task itself, computed once for each world and mask."""
    answers: list[Seen] = context.once(("seen", task.id, label, mask), lambda: observe(task, label, mask))
    return answers


def all_exposures(task: Task, atom_id: str) -> list[Exposure]:
    """Return the exposures of an atom, those in the commit's acknowledgement too."""
    atom = task.atoms[atom_id]
    exposures = list(task.exposures[atom_id])
    for shown in task.commit.shows if has_goal(task) else ():
        base = shown.at(task.goal_arguments)
        exposures += [
            Exposure(task.commit.name, dict(task.goal_arguments), path, part) for path, part in spots(shown, base, atom)
        ]
    return exposures


def exposed_in(answers: Iterable[Seen], exposures: Iterable[Exposure]) -> Iterator[tuple[Seen, Exposure, Any]]:
    """Yield each answer and exposure that meet, with what stands there (``ABSENT`` for nothing)."""
    exposures = list(exposures)
    for answer in answers:
        for exposure in exposures:
            if answer.valid and (exposure.tool, exposure.arguments) == (answer.tool, answer.arguments):
                yield answer, exposure, find(answer.content, exposure.path)


def texts(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield every text in a JSON value, keys included."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield (*path, str(key)), str(key)
            yield from texts(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item, path)
    elif isinstance(value, str):
        yield path, value
