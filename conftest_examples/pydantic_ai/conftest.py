"""The agent under test: pydantic-ai."""

import pytest
from pydantic_ai import Agent, Tool, UnexpectedModelBehavior, UsageLimitExceeded

MODEL = "openai:gpt-5-mini"


def as_tool(episode, schema):
    function = episode.async_functions[schema["name"]]
    return Tool.from_schema(function, schema["name"], schema["description"], schema["parameters"])


async def agent(episode):
    tools = [as_tool(episode, schema) for schema in episode.schemas]
    operator = Agent(MODEL, instructions=episode.instruction, tools=tools)
    try:
        result = await operator.run(episode.goal)
    except (UsageLimitExceeded, UnexpectedModelBehavior):
        return "unfinished"
    usage = result.usage
    episode.usage(requests=usage.requests, total_tokens=usage.total_tokens)
    return result.output


@pytest.fixture(scope="session")
def episem_agent():
    return agent
