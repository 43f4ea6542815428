"""The agent under test: LangChain's agent, a LangGraph graph."""

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.errors import GraphRecursionError

MODEL = "openai:gpt-5-mini"


def as_tool(episode, schema):
    async def use(**arguments):
        return await episode.acall(schema["name"], arguments)

    return StructuredTool.from_function(
        coroutine=use, name=schema["name"], description=schema["description"], args_schema=schema["parameters"]
    )


async def agent(episode):
    tools = [as_tool(episode, schema) for schema in episode.schemas]
    graph = create_agent(MODEL, tools, system_prompt=episode.instruction)
    request = {"messages": [{"role": "user", "content": episode.goal}]}
    try:
        result = await graph.ainvoke(request, {"recursion_limit": 100})
    except GraphRecursionError:
        return "unfinished"
    return result["messages"][-1].text


@pytest.fixture(scope="session")
def episem_agent():
    return agent
