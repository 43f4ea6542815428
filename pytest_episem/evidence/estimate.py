"""What a run would take, before it runs: rollouts, requests, tokens. From the bank alone, no agent is asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_episem.episode import TURN_LIMIT
from pytest_episem.evidence.bank import Task
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.world import World

CHARACTERS = 4
"""Characters of English and JSON a token holds, roughly."""
ANSWER_TOKENS = (50, 400)
"""Completion tokens of one request: a bare call, or a few sentences of thought beside it."""


@dataclass(frozen=True, slots=True)
class Range:
    """From ``low`` to ``high``."""

    low: float = 0
    high: float = 0

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def times(self, count: Range) -> Range:
        """Return what ``count`` of these come to."""
        return Range(self.low * count.low, self.high * count.high)


@dataclass(frozen=True, slots=True)
class Work:
    """Rollouts, the model's requests in them, and their tokens.

    Low: all reads in one turn and one more request, no boundary probe. High: one call a turn, an audit wherever
    there is one, and a boundary search that goes on to the last mask.
    """

    rollouts: Range = Range()
    requests: Range = Range()
    prompt_tokens: Range = Range()
    completion_tokens: Range = Range()

    def __add__(self, other: Work) -> Work:
        return Work(
            self.rollouts + other.rollouts,
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def cost(self, prompt_price: float, completion_price: float) -> Range:
        """Return the US dollars at prices for one token."""
        return Range(
            self.prompt_tokens.low * prompt_price + self.completion_tokens.low * completion_price,
            self.prompt_tokens.high * prompt_price + self.completion_tokens.high * completion_price,
        )


def estimate_work(
    tasks: Mapping[str, Task], conditions: Iterable[Condition], searches: Iterable[str], instruction: str
) -> Work:
    """Return the work of fixed ``conditions`` and of the boundary ``searches`` (task ids)."""
    counts = Counter((c.task, c.setting in ("re", "full_audit")) for c in conditions)
    total = Work()
    for (task_id, audit), count in counts.items():
        total += _rollouts(tasks[task_id], audit, instruction, Range(count, count))
    for task_id in searches:
        c = len(tasks[task_id].critical)
        probes = 2**c - 1 - c + (3 if c > 1 else 0)
        total += _rollouts(tasks[task_id], False, instruction, Range(0, probes))
    return total


def _rollouts(task: Task, audit: bool, instruction: str, count: Range) -> Work:
    world = World(task, "unsafe", (), audit=audit)
    opening = len(instruction) + len(task.goal) + sum(len(json.dumps(tool.openai())) for tool in world.tools)
    seen = [len(json.dumps(world.call(tool.name, call).content)) + 60 for tool, call in task.reads]
    steps = [opening]
    for size in [*seen, *([400] if audit else [])]:
        steps.append(steps[-1] + size)
    steps = steps[:TURN_LIMIT]
    requests = Range(2, max(2, len(steps)))
    prompt = Range((opening + opening + sum(seen)) / CHARACTERS, max(sum(steps), 2 * opening) / CHARACTERS)
    completion = Range(ANSWER_TOKENS[0], ANSWER_TOKENS[1]).times(requests)
    prompt = Range(min(prompt.low, prompt.high), max(prompt.low, prompt.high))
    return Work(count, requests.times(count), prompt.times(count), completion.times(count))
