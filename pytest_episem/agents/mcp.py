"""An agent that speaks only MCP: its own process, which gets the episode's URL and prints its last message."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_episem.agents.base import InfrastructureError
from pytest_episem.agents.function import EpisodeView, end_with
from pytest_episem.agents.mcp_server import MCP_PATH, require_mcp, serve_http
from pytest_episem.agents.proxies import bypass_locally
from pytest_episem.episode import CALL_LIMIT, AgentEpisode, Episode, real_episode
from pytest_episem.errors import EpisemError
from pytest_episem.scrub import scrubbed

URL, GOAL, INSTRUCTION, PROMPT = "EPISEM_MCP_URL", "EPISEM_GOAL", "EPISEM_INSTRUCTION", "EPISEM_PROMPT"
"""Environment variables that the command finds its episode in."""


@dataclass(frozen=True, slots=True)
class McpAgent:
    """An agent that runs as a process of its own, one an episode; see ``mcp_agent``."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    turn_limit: int = CALL_LIMIT

    async def play(self, episode: Episode | AgentEpisode) -> None:
        """Serve ``episode``, run the command, and take what it printed as the last message.

        Raises:
            InfrastructureError: the command cannot be started, or failed before the episode had ended.
        """
        episode = real_episode(episode)
        async with serve_http(episode) as base:
            code, out, err = await self._run(f"{base}{MCP_PATH}", episode)
        if episode.ended:
            return
        if code:
            last = scrubbed(last_words(err)) or "it wrote nothing to standard error"
            raise InfrastructureError("agent", f"{self.name} ended with exit code {code}: {last}")
        end_with(episode, out.strip())

    async def _run(self, url: str, episode: Episode) -> tuple[int, str, str]:
        prompt = f"{episode.instruction}\n\n{episode.goal}"
        told = {URL: url, GOAL: episode.goal, INSTRUCTION: episode.instruction, PROMPT: prompt}
        words = {"{url}": url, "{goal}": episode.goal, "{instruction}": episode.instruction, "{prompt}": prompt}
        try:
            process = await asyncio.create_subprocess_exec(
                *(_filled(part, words) for part in self.command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=_environment({**self.env, **told}),
                start_new_session=True,
            )
        except OSError as error:
            fault = f"{self.name}: cannot start {self.command[0]!r}: {error.strerror}"
            raise InfrastructureError("agent", fault, fatal=True) from None
        try:
            out, err = await process.communicate()
        finally:
            _end(process)
        return process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def mcp_agent(command: str | Sequence[str], env: Mapping[str, str] | None = None) -> McpAgent:
    """Return an agent for a program that speaks MCP (streamable HTTP), in any language.

    For each episode the program is started anew, with the server's URL, the request and the instruction in
    ``EPISEM_MCP_URL``, ``EPISEM_GOAL`` and ``EPISEM_INSTRUCTION``, both texts together in ``EPISEM_PROMPT``, and
    wherever the command says ``{url}``, ``{goal}``, ``{instruction}`` or ``{prompt}``. All it writes to standard
    output is its last message, or a bare disposition such as ``escalated``; its logs belong on standard error.

    Args:
        command: the program with its arguments, as a list or as a shell would split it. No shell is started.
        env: environment variables besides those that pytest runs with, its own (``PYTEST_…``) left out.

    Raises:
        EpisemError: the command is empty, or the MCP SDK is not installed.
    """
    parts = tuple(shlex.split(command) if isinstance(command, str) else map(str, command))
    if not parts:
        raise EpisemError("mcp_agent needs a command, such as ['python', 'agent.py', '{url}']")
    require_mcp()
    return McpAgent(Path(parts[0]).name, parts, dict(env or {}))


@contextlib.asynccontextmanager
async def mcp_url(episode: EpisodeView) -> AsyncIterator[str]:
    """Serve an agent function's episode over streamable HTTP while the context lasts; gives the URL for its client."""
    async with serve_http(real_episode(episode)) as base:
        yield f"{base}{MCP_PATH}"


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return what the program finds in its environment: nothing of the test that runs it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**kept, **more}
    bypass_locally(environment)
    return environment


def last_words(output: str) -> str:
    """Return the last line that a failing program wrote; of an exception group's traceback that of its first cause."""
    first = re.split(r"^[ |]*\+-+ 2 -+$", output, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [re.sub(r"^\s*[|+][ |+-]*", "", line).strip() for line in first.splitlines()]
    return next((line for line in reversed(lines) if line), "")


def _filled(part: str, words: Mapping[str, str]) -> str:
    """Return an argument with its placeholders filled; other braces, as in JSON, stay."""
    for name, text in words.items():
        if name in part:
            before, _, after = part.partition(name)
            return f"{_filled(before, words)}{text}{_filled(after, words)}"
    return part


def _end(process: asyncio.subprocess.Process) -> None:
    """End what is left of the program, its children included."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
