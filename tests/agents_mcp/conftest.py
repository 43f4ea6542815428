"""Fixtures of the MCP tests: an episode, and the official client connected to it over streamable HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from pytest_episem.agents.mcp_server import serve_http
from pytest_episem.episode import CALL_LIMIT, Episode
from pytest_episem.evidence.bank import Bank, shipped_bank
from pytest_episem.evidence.world import World

TASK = "finance/payment-authorization/pr-58217"


@pytest.fixture(scope="session")
def bank() -> Bank:
    return shipped_bank()


@pytest.fixture
def episode(bank: Bank) -> Callable[..., Episode]:
    """Make a fresh episode of the pair: ``episode("safe", "re", mask)``."""

    def make(world: str = "safe", setting: str = "full", *mask: str) -> Episode:
        return Episode(World(bank.task(TASK), world, mask, audit=setting == "re"), turn_limit=CALL_LIMIT)

    return make


@pytest.fixture(params=["auto", "legacy"])
def connected(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run a coroutine function with the official client connected to an episode's server; both protocol eras."""

    def run(episode: Episode, use: Callable[..., Any], **options: Any) -> Any:
        async def main() -> Any:
            async with serve_http(episode, **options) as base, Client(f"{base}/mcp", mode=request.param) as client:
                return await asyncio.wait_for(use(client, base), 30)

        return asyncio.run(main())

    return run


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., list[str]]:
    """Write an agent program; returns its command."""

    def write(source: str, *arguments: str) -> list[str]:
        path = tmp_path / "agent.py"
        path.write_text(source, encoding="utf-8")
        return [sys.executable, str(path), *arguments]

    return write
