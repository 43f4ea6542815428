"""One episode as an MCP server, over stdio and streamable HTTP, with the official SDK (``pytest-episem[mcp]``)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_episem.agents.proxies import bypass_locally
from pytest_episem.agents.turns import UnseenTurns
from pytest_episem.episode import Episode, Observation
from pytest_episem.errors import EpisemError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

SERVER_NAME = "operations"
"""Neutral: it does not tell the agent that it is being tested."""
PROMPT = "task"
FINAL_TOOL = "send_final_message"
FINAL_DESCRIPTION = "End the conversation with your last message to the user."
FINAL_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
MCP_PATH = "/mcp"
FINAL_PATH = "/final"
LONGEST_MESSAGE = 4 * 1024 * 1024
"""Bytes of a last message; the SDK takes no longer requests either."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def require_mcp() -> None:
    """Import the SDK.

    Raises:
        EpisemError: it is not installed, or is older than 2.0.
    """
    try:
        import mcp.server.lowlevel
        import uvicorn  # noqa: F401 - asked for here, so that a missing extra is named at the start

        if not hasattr(mcp, "Client"):
            raise ImportError("mcp is older than 2.0")
    except ImportError as error:
        raise EpisemError(f"MCP needs its official SDK: pip install 'pytest-episem[mcp]' ({error})") from None


def episode_server(
    episode: Episode, final_tool: bool = False, changed: Callable[[], None] = lambda: None
) -> Server[Any]:
    """Return an MCP server that offers ``episode``.

    Its tools are the episode's, unchanged. The prompt ``task`` and two resources hold instruction and request; the
    instruction is the server's own instructions as well.

    Args:
        episode: a fresh episode.
        final_tool: adds a tool through which the agent hands in its last message, which MCP has no other way for.
        changed: called after every call.
    """
    from mcp.server.lowlevel import Server
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

    turns = UnseenTurns(episode)
    tools = [
        Tool(name=tool.name, description=tool.description, input_schema=dict(tool.parameters)) for tool in episode.tools
    ]
    if final_tool:
        tools.append(Tool(name=FINAL_TOOL, description=FINAL_DESCRIPTION, input_schema=FINAL_SCHEMA))

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        text = (params.arguments or {}).get("text")
        if final_tool and params.name == FINAL_TOOL and isinstance(text, str):
            episode.finish(text)
            shown, valid = '{"status": "sent"}', True
        else:
            observation: Observation = await turns.acall(params.name, params.arguments)
            shown, valid = observation.text, observation.valid
        changed()
        return CallToolResult(content=[TextContent(text=shown)], is_error=not valid)

    return Server(
        SERVER_NAME,
        instructions=episode.instruction,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **_texts(episode),
    )


def _texts(episode: Episode) -> dict[str, Any]:
    """Return the handlers that give instruction and request as a prompt and as resources."""
    from mcp import types
    from mcp.shared.exceptions import MCPError

    resources = {"task://instruction": episode.instruction, "task://request": episode.goal}
    prompt = types.Prompt(name=PROMPT, description="The instruction and the request.")

    async def list_prompts(context: Any, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt named {params.name!r}")
        content = types.TextContent(text=f"{episode.instruction}\n\n{episode.goal}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def list_resources(context: Any, params: Any) -> types.ListResourcesResult:
        found = [types.Resource(uri=uri, name=uri.removeprefix("task://"), mime_type="text/plain") for uri in resources]
        return types.ListResourcesResult(resources=found)

    async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri not in resources:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {uri!r}")
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=resources[uri])
        return types.ReadResourceResult(contents=[content])

    return {
        "on_list_prompts": list_prompts,
        "on_get_prompt": get_prompt,
        "on_list_resources": list_resources,
        "on_read_resource": read_resource,
    }


async def serve_stdio(episode: Episode, final_tool: bool = False) -> None:
    """Offer ``episode`` over standard input and output until the client goes away."""
    from mcp.server.stdio import stdio_server

    server = episode_server(episode, final_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


@contextlib.asynccontextmanager
async def serve_http(
    episode: Episode,
    host: str = "127.0.0.1",
    port: int = 0,
    final_tool: bool = False,
    changed: Callable[[], None] = lambda: None,
    below: str | None = None,
) -> AsyncIterator[str]:
    """Offer ``episode`` over streamable HTTP while the context lasts; gives the server's base URL.

    MCP is at ``/mcp`` below it. A ``POST`` to ``/final`` there hands in the agent's last message as plain text.
    ``port`` 0 takes a free one. The URL's path is ``below``, or a random one that only its reader knows, so that no
    other program can speak for this one. A request from a web page, or under a foreign name of a local address, is
    refused.

    Raises:
        EpisemError: the address cannot be used, or the SDK is missing.
    """
    require_mcp()
    import uvicorn

    class QuietServer(uvicorn.Server):
        """Leaves the process's signals alone."""

        @contextlib.contextmanager
        def capture_signals(self) -> Any:
            yield

    bypass_locally(os.environ)
    below = f"/{secrets.token_urlsafe(24)}" if below is None else below
    listening = _listen(host, port)
    server = QuietServer(
        uvicorn.Config(
            _app(episode, host, final_tool, changed, below),
            log_config=None,
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=2,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        if serving.done():
            raise EpisemError(f"cannot serve at {host}:{port}")
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{listening.getsockname()[1]}{below}"
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise EpisemError(f"cannot listen at {host}:{port}: {getattr(error, 'strerror', None) or error}") from None


def _app(episode: Episode, host: str, final_tool: bool, changed: Callable[[], None], below: str) -> Any:
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def final(request: Request) -> PlainTextResponse:
        if _foreign(request.headers.get("host", ""), request.headers.get("origin"), host):
            return PlainTextResponse("not from here\n", 403)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_MESSAGE:
                return PlainTextResponse("too large\n", 413)
        known = episode.ended
        episode.finish(body.decode("utf-8", "replace"))
        changed()
        return PlainTextResponse("already ended\n" if known else "ended\n")

    return episode_server(episode, final_tool, changed).streamable_http_app(
        streamable_http_path=f"{below}{MCP_PATH}",
        json_response=True,
        stateless_http=True,
        host=host,
        custom_starlette_routes=[Route(f"{below}{FINAL_PATH}", final, methods=["POST"])],
    )


def _foreign(named: str, origin: str | None, host: str) -> bool:
    """Whether a request calls a local address by another name, or comes from a web page of another place."""
    try:
        local = host not in _LOOPBACK or urlsplit(f"//{named}").hostname in _LOOPBACK
        return not local or (origin is not None and urlsplit(origin).netloc != named)
    except ValueError:
        return True
