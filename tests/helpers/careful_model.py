"""A model that plays like ``episem/careful``, told only by what stands in the request: for tests and benchmarks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_episem.evidence.bank import Task
from pytest_episem.evidence.world import AUDIT_TOOL, Delivery, evidence_of


class CarefulModel:
    """Reads everything in the tasks' order, audits where it can, then commits or escalates.

    It makes one call a message, or with ``together`` all its reads in the first. Its call ids are new in every answer,
    as a provider's are.
    """

    def __init__(self, tasks: Iterable[Task], together: bool = False) -> None:
        self._together = together
        self._tasks = {task.goal: task for task in tasks}
        self._ids = itertools.count(1)

    def __call__(self, body: Mapping[str, Any]) -> tuple[str | None, list[dict[str, Any]]]:
        """Return text and calls of the answer to a request in the form of OpenAI's chat completions."""
        messages = body["messages"]
        task = self._tasks[messages[1]["content"]]
        tools = [tool["function"]["name"] for tool in body["tools"]]
        called = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
        seen = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
        if len(called) < len(task.reads):
            until = None if self._together else len(called) + 1
            return None, [self._call(tool.name, arguments) for tool, arguments in task.reads[len(called) : until]]
        if AUDIT_TOOL in tools and len(called) == len(task.reads):
            return None, [self._call(AUDIT_TOOL, {})]
        deliveries = [
            Delivery(call["name"], json.loads(call["arguments"]), content, call["name"] == AUDIT_TOOL)
            for call, content in zip(called, seen, strict=True)
        ]
        evidence = evidence_of(task)
        if evidence.verdicts(evidence.learned(deliveries)) == {False}:
            return None, [self._call(task.commit.name, dict(task.goal_arguments))]
        return "I refer it to a person.\nDisposition: escalated", []

    def _call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"id": f"call_{next(self._ids)}", "type": "function", "function": function}
