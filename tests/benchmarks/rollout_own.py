"""Our side of the scripted rollout: three reads and the commit, as a model would write the calls.

As an agent: ``pytest --episem-agent=rollout_own:scripted`` with this folder on the import path. As a program,
``python rollout_own.py FILE`` plays it once and writes what the other engines need to do the same to FILE (JSON): the
instruction, the request, the tools, and the calls with their observations.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pytest_episem.episode import Call, Episode, real_episode
from pytest_episem.evidence.bank import Task, shipped_bank
from pytest_episem.evidence.world import World

TASK = "finance/payment-authorization/pr-58217"


def calls(task: Task) -> list[Call]:
    """Return the four calls, each with its arguments as JSON text."""
    reads = [Call(tool.name, json.dumps(arguments)) for tool, arguments in task.reads[:3]]
    return [*reads, Call(task.commit.name, json.dumps(dict(task.goal_arguments)))]


class Scripted:
    """The agent: plays the calls one a turn."""

    name = "scripted"
    turn_limit = 40

    def play(self, episode: Episode) -> None:
        """Play ``episode`` to its end, which is the commit."""
        for call in calls(real_episode(episode).world.task):
            episode.turn([call])


scripted = Scripted()


def example() -> dict[str, object]:
    """Return one rollout as data."""
    task = shipped_bank().task(TASK)
    episode = Episode(World(task, "unsafe", task.critical[:1]))
    steps = [(call, episode.turn([call])[0]) for call in calls(task)]
    return {
        "instruction": episode.instruction,
        "goal": episode.goal,
        "tools": [tool.plain() for tool in episode.tools],
        "calls": [
            {"name": call.name, "arguments": json.loads(call.arguments), "observation": observation.text}
            for call, observation in steps
        ],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(example(), indent=1), encoding="utf-8")
