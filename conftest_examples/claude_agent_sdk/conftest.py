"""The agent under test: Claude Agent SDK. Its tools are served to the bundled command in process."""

import json

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, ToolAnnotations, create_sdk_mcp_server, query, tool

MODEL = "claude-sonnet-4-5"
SIDE_BY_SIDE = ToolAnnotations(readOnlyHint=True)  # otherwise the command runs the calls of one message in turn


def as_tool(episode, schema):
    @tool(schema["name"], schema["description"], schema["parameters"], annotations=SIDE_BY_SIDE)
    async def use(arguments):
        return {"content": [{"type": "text", "text": json.dumps(await episode.acall(schema["name"], arguments))}]}

    return use


async def agent(episode):
    options = ClaudeAgentOptions(
        model=MODEL,
        system_prompt=episode.instruction,
        mcp_servers={"desk": create_sdk_mcp_server("desk", tools=[as_tool(episode, s) for s in episode.schemas])},
        allowed_tools=["mcp__desk"],
        tools=[],  # none of the command's own
        setting_sources=[],  # nor the settings of the repository or the user
        max_turns=40,
    )
    async for message in query(prompt=episode.goal, options=options):
        if isinstance(message, ResultMessage):
            if message.is_error and not message.subtype.startswith("error_max_"):
                raise RuntimeError(message.result or message.errors)  # the provider's, or the command's
            return "unfinished" if message.is_error else message.result


@pytest.fixture(scope="session")
def episem_agent():
    return agent
