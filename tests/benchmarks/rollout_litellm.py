"""The requests of a scripted rollout without us: ``python rollout_litellm.py FILE URL TRIALS CONCURRENCY``.

Reads the rollout that ``rollout_own.py`` wrote to FILE and sends its conversation TRIALS times through litellm alone,
at most CONCURRENCY at once, as our agent would send it: what no plugin around litellm can go below.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
gc.disable()  # as our own import does
import litellm  # noqa: E402

gc.freeze()
gc.enable()


async def converse(rollout: dict[str, Any], url: str) -> None:
    """Hold the conversation once: ask, and answer each call with its observation."""
    messages: list[Any] = [
        {"role": "system", "content": rollout["instruction"]},
        {"role": "user", "content": rollout["goal"]},
    ]
    tools = [{"type": "function", "function": tool} for tool in rollout["tools"]]
    for call in rollout["calls"]:
        response = await litellm.acompletion(
            model="openai/scripted",
            api_base=url,
            api_key="none",
            messages=list(messages),
            tools=tools,
            temperature=0,
            num_retries=0,
            timeout=600,
        )
        asked = response.choices[0].message.tool_calls[0]
        assert asked.function.name == call["name"], (asked, call)
        function = {"name": asked.function.name, "arguments": asked.function.arguments}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": asked.id, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": asked.id, "content": call["observation"]},
        ]


async def several(rollout: dict[str, Any], url: str, turns: Iterator[int]) -> int:
    done = 0
    for _ in turns:
        await converse(rollout, url)
        done += 1
    return done


async def main(file: str, url: str, trials: int, concurrency: int) -> None:
    rollout = json.loads(Path(file).read_text(encoding="utf-8"))
    turns = iter(range(trials))
    done = await asyncio.gather(*(several(rollout, url, turns) for _ in range(concurrency)))
    print(json.dumps({"trials": sum(done)}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
