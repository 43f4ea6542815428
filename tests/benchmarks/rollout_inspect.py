"""Inspect's side of the scripted rollout: ``python rollout_inspect.py ROLLOUT TRIALS LOGS [MODE]``, in its environment.

ROLLOUT is what ``rollout_own.py`` wrote: the same instruction, request, tools, calls and observations. The model is
``mockllm/model``; it answers from the script. The agent is the shortest loop that Inspect's documentation shows for one
of one's own, so there are four answers and four tool calls, and no closing answer. MODE:

- ``least`` (unless given): of the log, the transcript of every sample stays; everything that can be switched off
  besides it is.
- ``defaults``: the log is what it is if nobody changes anything.
- a URL: as ``least``, but the model is behind Inspect's client for OpenAI's API, 64 requests at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, execute_tools, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver
from inspect_ai.tool import ToolDef, ToolParams


def tool_of(schema: dict[str, Any], observations: dict[str, str]) -> Any:
    """Return a tool that answers with the observation of the script."""

    async def execute(**arguments: Any) -> str:
        return observations.get(schema["name"], "{}")

    parameters = ToolParams.model_validate(schema["parameters"])
    for name, parameter in parameters.properties.items():
        parameter.description = parameter.description or name.replace("_", " ")  # Inspect asks for one
    return ToolDef(execute, schema["name"], schema["description"], parameters).as_tool()


def answers(calls: list[dict[str, Any]]) -> Any:
    """Return the mock model's script: the next call is the one that has no answer in the conversation yet."""

    def answer(messages: list[Any], tools: Any, choice: Any, config: Any) -> ModelOutput:
        done = sum(isinstance(message, ChatMessageAssistant) for message in messages)
        output = ModelOutput.for_tool_call("mockllm/model", calls[done]["name"], calls[done]["arguments"])
        output.usage = ModelUsage(input_tokens=100, output_tokens=20, total_tokens=120)  # or the mock counts tokens
        return output

    return answer


@solver
def loop(tools: list[Any], turns: int) -> Any:
    """The agent: ask the model, carry out its calls, and so on for all turns."""

    async def solve(state: Any, generate: Any) -> Any:
        model = get_model()
        for _ in range(turns):
            output = await model.generate(state.messages, tools)
            state.messages.append(output.message)
            result = await execute_tools(state.messages, tools)
            state.messages.extend(result.messages)
        return state

    return solve


@scorer(metrics=[accuracy()])
def committed(name: str) -> Any:
    """Whether the commit was the last thing that happened."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value=state.messages[-1].function == name)

    return score


LEAST: dict[str, Any] = {
    "log_level": "error",
    "log_level_transcript": "error",
    "log_realtime": False,
    "log_model_api": False,
    "log_images": False,
    "ctl_server": False,
    "score_display": False,
}


def main(rollout: Path, trials: int, logs: Path, mode: str) -> None:
    script = json.loads(rollout.read_text(encoding="utf-8"))
    calls = script["calls"]
    observations = {call["name"]: call["observation"] for call in calls}
    tools = [tool_of(schema, observations) for schema in script["tools"]]
    samples = [Sample(id=number, input=script["goal"]) for number in range(trials)]
    task = Task(
        dataset=MemoryDataset(samples),
        solver=loop(tools, len(calls)),
        scorer=committed(calls[-1]["name"]),
        name="scripted",
    )
    options: dict[str, Any] = {} if mode == "defaults" else LEAST
    if mode.startswith("http"):
        options |= {"model": "openai-api/local/scripted", "model_base_url": mode, "max_connections": 64}
    else:
        options |= {"model": "mockllm/model", "model_args": {"custom_outputs": answers(calls)}}
    (log,) = eval(task, log_dir=str(logs), display="none", log_header_only=True, **options)
    right = log.results.scores[0].metrics["accuracy"].value if log.results else 0
    if log.status != "success" or right != 1:
        sys.exit(f"inspect_ai: {log.status}, accuracy {right}, {log.error.message if log.error else ''}")
    print(json.dumps({"trials": log.results.completed_samples}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), *(sys.argv[4:] or ["least"]))
