"""The agent under test: a program that speaks only MCP, started anew for each episode."""

import sys
from pathlib import Path

import pytest

from pytest_episem import mcp_agent


@pytest.fixture(scope="session")
def episem_agent():
    program = Path(__file__).with_name("agent.py")
    return mcp_agent([sys.executable, str(program), "{url}", "{prompt}"])
