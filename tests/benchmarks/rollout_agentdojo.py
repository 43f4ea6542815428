"""AgentDojo's side of the scripted rollout: ``python rollout_agentdojo.py TRIALS LOGS`` (in its own environment).

Three reads and one payment in its banking suite, the smallest: its first user task, which this solves. The model is a
pipeline element that answers from the script, put where a model stands; the tools are carried out by AgentDojo's own
loop. Nothing is printed; the trace file of each trial is written, which is its record. Each trial has a log folder of
its own, as AgentDojo keeps one file a task and folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentdojo.agent_pipeline import AgentPipeline, InitQuery, SystemMessage, ToolsExecutionLoop, ToolsExecutor
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.benchmark import benchmark_suite_without_injections
from agentdojo.functions_runtime import FunctionCall
from agentdojo.logging import LOGGER_STACK, NullLogger
from agentdojo.task_suite import get_suite
from agentdojo.types import ChatAssistantMessage, text_content_block_from_string

VERSION, SUITE, TASK = "v1.2.2", "banking", "user_task_0"
READS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"file_path": "bill-december-2023.txt"}),
    ("get_most_recent_transactions", {"n": 5}),
    ("get_user_info", {}),
]
SYSTEM = "Carry out the user's request with the tools you have. Look at what you need before you act."


class ScriptedModel(BasePipelineElement):
    """Answers with the next call of the script, at its end with a text."""

    name = "local"

    def __init__(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        self.calls = calls

    def query(
        self, query: str, runtime: Any, env: Any = None, messages: Sequence[Any] = (), extra_args: Any = None
    ) -> tuple[str, Any, Any, Sequence[Any], Any]:
        done = sum(message["role"] == "assistant" for message in messages)
        asked = []
        if done < len(self.calls):
            name, arguments = self.calls[done]
            asked = [FunctionCall(function=name, args=dict(arguments), id=f"call_{done}")]
        text = "" if asked else "The bill is paid."
        answer = ChatAssistantMessage(
            role="assistant", content=[text_content_block_from_string(text)], tool_calls=asked or None
        )
        return query, runtime, env, [*messages, answer], extra_args


class Quiet(NullLogger):
    """Prints nothing; says where the trace files go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Quiet:
        super().__enter__()
        self.logdir = str(self.folder)
        LOGGER_STACK.get().append(self)
        return self

    def __exit__(self, *raised: object) -> bool:
        LOGGER_STACK.get().pop()
        return False


def main(trials: int, logs: Path) -> None:
    suite = get_suite(VERSION, SUITE)
    task = suite.get_user_task_by_id(TASK)
    paid = task.ground_truth(suite.load_and_inject_default_environment({}))[-1]
    model = ScriptedModel([*READS, (paid.function, dict(paid.args))])
    loop = ToolsExecutionLoop([ToolsExecutor(), model])
    pipeline = AgentPipeline([SystemMessage(SYSTEM), InitQuery(), model, loop])
    pipeline.name = "local"
    solved = 0
    for number in range(trials):
        folder = logs / str(number)
        with Quiet(folder):
            results = benchmark_suite_without_injections(pipeline, suite, folder, True, [TASK])
        solved += sum(results["utility_results"].values())
    if solved != trials:
        sys.exit(f"agentdojo: {solved} of {trials} trials reached the goal")
    print(json.dumps({"trials": sum(1 for _ in logs.rglob("*.json"))}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
