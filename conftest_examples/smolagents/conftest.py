"""The agent under test: smolagents. It is not async; each rollout gets a thread of its own."""

import pytest
from smolagents import OpenAIModel, Tool, ToolCallingAgent

MODEL = "gpt-5-mini"


class EpisodeTool(Tool):
    output_type = "object"
    skip_forward_signature_validation = True

    def __init__(self, episode, schema):
        self.episode, self.name, self.description = episode, schema["name"], schema["description"]
        self.inputs = {name: {"description": name, **kind} for name, kind in schema["parameters"]["properties"].items()}
        super().__init__()

    def forward(self, **arguments):
        return self.episode.call(self.name, arguments)


def agent(episode):
    tools = [EpisodeTool(episode, schema) for schema in episode.schemas]
    operator = ToolCallingAgent(
        tools, OpenAIModel(MODEL), instructions=episode.instruction, max_steps=12, verbosity_level=0
    )
    result = operator.run(episode.goal, return_full_result=True)
    return str(result.output) if result.state == "success" else "unfinished"


@pytest.fixture(scope="session")
def episem_agent():
    return agent
