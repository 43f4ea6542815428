"""Agents: the built-in ones, litellm models, the user's own. The only room with I/O."""

from pytest_episem.agents.base import Agent, InfrastructureError
from pytest_episem.agents.function import EpisodeView, as_agent, import_agent, import_attribute, own_name
from pytest_episem.agents.known import PREFIX, known_agent, known_agent_names

__all__ = [
    "PREFIX",
    "Agent",
    "EpisodeView",
    "InfrastructureError",
    "as_agent",
    "import_agent",
    "import_attribute",
    "known_agent",
    "known_agent_names",
    "own_name",
]
