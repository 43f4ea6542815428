"""The agent under test: Google's Agent Development Kit, here with a model behind litellm."""

import pytest
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner

MODEL = "openai/gpt-5-mini"


async def agent(episode):
    operator = LlmAgent(
        name="operator",
        model=LiteLlm(MODEL),
        instruction=lambda context: episode.instruction,
        tools=list(episode.async_functions.values()),
    )
    async with InMemoryRunner(operator) as runner:
        try:
            events = await runner.run_debug(episode.goal, run_config=RunConfig(max_llm_calls=40), quiet=True)
        except LlmCallsLimitExceededError:
            return "unfinished"
    texts = [part.text for event in events if event.content for part in event.content.parts or [] if part.text]
    return texts[-1] if texts else ""


@pytest.fixture(scope="session")
def episem_agent():
    return agent
