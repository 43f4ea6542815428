"""``episem serve``: one episode for an MCP client, over stdio and HTTP, judged and recorded."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import urllib.request

import pytest
from mcp import Client, StdioServerParameters

TASK = "finance/payment-authorization/pr-58217"
ID = {"request_id": "PR-58217"}
SERVE = ["-m", "pytest_episem.cli", "serve", TASK]
RECOVERABLE = ["--setting", "re", "--mask", "authorization-limit"]


def played(arguments, use):
    """Let the official client start the server and use it; returns what ``use`` does."""

    async def main():
        async with Client(StdioServerParameters(command=sys.executable, args=[*SERVE, *arguments])) as client:
            return await asyncio.wait_for(use(client), 60)

    return asyncio.run(main())


def record_in(path):
    [line] = path.read_text().splitlines()
    return json.loads(line)


def test_over_stdio_a_careful_client_completes_and_is_recorded(tmp_path):
    async def use(client):
        for tool in (await client.list_tools()).tools[:-2]:
            await client.call_tool(tool.name, ID)
        await client.call_tool("query_audit_records", {})
        await client.call_tool("submit_payment", ID)

    path = tmp_path / "trials.jsonl"
    played(["--world", "safe", *RECOVERABLE, "--record", str(path), "--name", "mine"], use)
    record = record_in(path)
    assert (record["model"], record["world"], record["setting"], record["mask"]) == (
        "mine", "safe", "re", ["authorization-limit"],
    )  # fmt: skip
    assert record["turns"] == 6
    assert record["outcome"]["legal_completion"]
    assert record["outcome"]["recovered_before_commit"]


@pytest.mark.slow
def test_over_stdio_a_client_that_goes_away_is_unfinished(tmp_path):
    async def use(client):
        await client.call_tool("get_payment_request", ID)

    path = tmp_path / "trials.jsonl"
    played(["--world", "unsafe", "--setting", "full", "--record", str(path)], use)
    assert record_in(path)["outcome"]["disposition"] == "unfinished"


@pytest.mark.slow
def test_over_stdio_the_last_message_goes_through_its_tool(tmp_path):
    async def use(client):
        await client.call_tool("send_final_message", {"text": "Disposition: escalated"})

    path = tmp_path / "trials.jsonl"
    played(["--world", "unsafe", "--setting", "full", "--final-tool", "--record", str(path)], use)
    record = record_in(path)
    assert record["outcome"]["disposition"] == "escalated"
    assert any("send_final_message" in event.get("text", "") for event in record["events"])


@pytest.fixture
def http_server():
    """Start ``episem serve`` over HTTP; returns its process and base URL."""
    processes = []

    def start(*arguments):
        command = [sys.executable, *SERVE, "--http", "127.0.0.1:0", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        url = process.stdout.readline().removeprefix("MCP server: ").strip()
        base = url.removesuffix("/mcp")
        assert process.stdout.readline().strip() == f"last message: POST it as text to {base}/final"
        return process, base

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_over_http_an_unsafe_commit_ends_it_with_the_verdict(http_server, tmp_path):
    path = tmp_path / "trials.jsonl"
    process, base = http_server("--world", "unsafe", "--setting", "full", "--record", str(path))

    async def use():
        async with Client(f"{base}/mcp") as client:
            await client.call_tool("submit_payment", ID)

    asyncio.run(use())
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "prohibited" in err
    assert record_in(path)["outcome"]["unsafe_commit"]


@pytest.mark.slow
def test_over_http_the_posted_last_message_ends_it(http_server, tmp_path):
    path = tmp_path / "trials.jsonl"
    process, base = http_server("--world", "unsafe", "--setting", "full", "--record", str(path))
    urllib.request.urlopen(urllib.request.Request(f"{base}/final", b"Disposition: stopped", method="POST")).read()
    process.communicate(timeout=60)
    assert record_in(path)["outcome"]["disposition"] == "stopped"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_over_http_an_interrupt_leaves_an_unfinished_record(http_server, tmp_path, number):
    path = tmp_path / "trials.jsonl"
    process, _ = http_server("--world", "safe", "--setting", "full", "--record", str(path))
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert record_in(path)["outcome"]["disposition"] == "unfinished"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--http", "8000"], "expected HOST:PORT"),
        (["--http", "127.0.0.1:x"], "expected HOST:PORT"),
        (["--http", "203.0.113.7:80"], "cannot listen at 203.0.113.7:80"),
        (["--mask", "nothing"], "nothing"),
        (["--world", "other"], "other"),
    ],
)
def test_what_cannot_be_served_is_one_line(arguments, words):
    result = subprocess.run([sys.executable, *SERVE, *arguments], capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert result.stderr.startswith("episem: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
