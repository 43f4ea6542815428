"""The agent under test: a bare tool-calling loop over litellm."""

import json

import litellm
import pytest

MODEL = "openai/gpt-5-mini"


async def agent(episode):
    messages = [{"role": "system", "content": episode.instruction}, {"role": "user", "content": episode.goal}]
    while not episode.ended:
        response = await litellm.acompletion(model=MODEL, messages=messages, tools=episode.tools)
        episode.usage(requests=1, total_tokens=response.usage.total_tokens)
        message = response.choices[0].message
        if not message.tool_calls:
            return message.content
        # The calls of one message go in together: only what an earlier message brought counts as known.
        results = episode.call_all((call.function.name, call.function.arguments) for call in message.tool_calls)
        messages.append(message.model_dump(exclude_none=True))
        for call, result in zip(message.tool_calls, results):
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


@pytest.fixture(scope="session")
def episem_agent():
    return agent
