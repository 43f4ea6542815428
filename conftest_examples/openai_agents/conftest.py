"""The agent under test: OpenAI Agents SDK."""

import json

import pytest
from agents import Agent, FunctionTool, MaxTurnsExceeded, ModelBehaviorError, Runner, set_tracing_disabled

MODEL = "gpt-5-mini"
set_tracing_disabled(True)  # traces would be sent to the provider


def as_tool(episode, schema):
    async def use(context, arguments):
        return json.dumps(await episode.acall(schema["name"], arguments))

    return FunctionTool(
        name=schema["name"],
        description=schema["description"],
        params_json_schema=schema["parameters"],
        on_invoke_tool=use,
        strict_json_schema=False,
    )


async def agent(episode):
    tools = [as_tool(episode, schema) for schema in episode.schemas]
    operator = Agent(name="operator", instructions=episode.instruction, model=MODEL, tools=tools)
    try:
        result = await Runner.run(operator, episode.goal, max_turns=40)
    except (MaxTurnsExceeded, ModelBehaviorError):
        return "unfinished"
    return result.final_output


@pytest.fixture(scope="session")
def episem_agent():
    return agent
