"""An episode over MCP, met by the official client: what it offers, how its turns and its end are told."""

from __future__ import annotations

import asyncio
import http.client
import json
import urllib.parse
import urllib.request

import pytest

from pytest_episem.agents.mcp_server import serve_http

ID = {"request_id": "PR-58217"}
MASK = "authorization-limit"


def content(result):
    return json.loads(result.content[0].text)


def test_the_tools_are_the_episodes_own(connected, episode):
    offered = episode("safe", "re", MASK)

    async def use(client, base):
        return (await client.list_tools()).tools

    tools = connected(offered, use)
    assert [(tool.name, tool.description, tool.input_schema) for tool in tools] == [
        (tool.name, tool.description, tool.parameters) for tool in offered.tools
    ]
    assert tools[-1].name == "query_audit_records"


def test_request_and_instruction_come_as_prompt_resources_and_instructions(connected, episode):
    offered = episode()

    async def use(client, base):
        prompt = await client.get_prompt((await client.list_prompts()).prompts[0].name)
        resources = (await client.list_resources()).resources
        texts = [(await client.read_resource(resource.uri)).contents[0].text for resource in resources]
        return client.instructions, prompt.messages[0].content.text, texts

    instructions, prompt, texts = connected(offered, use)
    assert instructions == offered.instruction
    assert prompt == f"{offered.instruction}\n\n{offered.goal}"
    assert texts == [offered.instruction, offered.goal]


def test_a_commit_ends_the_episode_and_later_calls_do_nothing(connected, episode):
    played = episode()

    async def use(client, base):
        await client.call_tool("get_payment_request", ID)
        await client.call_tool("submit_payment", ID)
        return await client.call_tool("get_payment_request", ID)

    late = connected(played, use)
    assert late.is_error
    assert content(late) == {"error": "The conversation has ended."}
    assert (played.outcome().legal_completion, played.turns) == (True, 2)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("pay", ID), ("submit_payment", {}), ("submit_payment", {"request_id": 58217}), ("query_audit_records", {})],
    ids=["unknown-tool", "missing-argument", "wrong-type", "audit-outside-re"],
)
def test_a_wrong_call_reaches_the_episode_as_an_invalid_action(connected, episode, name, arguments):
    played = episode()

    async def use(client, base):
        return await client.session.call_tool(name, arguments)

    result = connected(played, use)
    assert result.is_error
    assert "error" in content(result)
    assert played.invalid_action
    assert not played.ended


def test_calls_one_after_the_other_are_turns_of_their_own(connected, episode):
    played = episode("safe", "re", MASK)

    async def use(client, base):
        await client.call_tool("query_audit_records", {})
        await client.call_tool("submit_payment", ID)

    connected(played, use)
    assert played.turns == 2
    assert played.outcome().recovered_before_commit


def test_calls_sent_together_share_a_turn(connected, episode):
    played = episode("safe", "re", MASK)

    async def use(client, base):
        await asyncio.gather(client.call_tool("query_audit_records", {}), client.call_tool("submit_payment", ID))

    connected(played, use)
    assert played.turns == 1
    assert played.outcome().premature_commit
    assert not played.outcome().recovered_before_commit


@pytest.mark.slow
def test_forty_turns_are_the_limit(connected, episode):
    played = episode()

    async def use(client, base):
        for _ in range(40):
            assert not played.ended
            await client.call_tool("get_payment_request", ID)

    connected(played, use)
    assert (played.outcome().disposition, played.turns) == ("unfinished", 40)


def test_the_last_message_is_posted_as_text(connected, episode):
    played = episode()

    async def use(client, base):
        request = urllib.request.Request(f"{base}/final", b"Too much.\nDisposition: escalated", method="POST")
        return await asyncio.to_thread(lambda: urllib.request.urlopen(request).read())

    assert connected(played, use) == b"ended\n"
    assert (played.outcome().disposition, played.outcome().disposition_source) == ("escalated", "line")


def test_the_last_message_may_have_a_tool_of_its_own(connected, episode):
    played = episode()

    async def use(client, base):
        names = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("send_final_message", {"text": "Disposition: stopped"})
        return names

    assert connected(played, use, final_tool=True)[-1] == "send_final_message"
    assert played.outcome().disposition == "stopped"
    assert not played.outcome().invalid_action


def test_without_being_asked_for_there_is_no_such_tool(connected, episode):
    played = episode()

    async def use(client, base):
        return await client.session.call_tool("send_final_message", {"text": "Disposition: stopped"})

    assert connected(played, use).is_error
    assert played.invalid_action


@pytest.mark.parametrize(
    ("path", "headers", "body", "status"),
    [
        ("/final", {}, b"x", 404),
        ("/mcp", {}, b"{}", 404),
        ("{below}x/final", {}, b"x", 404),
        ("{below}/final", {"Host": "rebound.test"}, b"x", 403),
        ("{below}/final", {"Origin": "http://page.test"}, b"x", 403),
        ("{below}/final", {"Origin": "http://127.0.0.1:1"}, b"x", 403),
        ("{below}/final", {"Host": "[", "Origin": "http://["}, b"x", 403),
        ("{below}/final", {}, b"x" * (4 * 1024 * 1024 + 1), 413),
    ],
)
def test_nobody_else_can_end_an_episode(episode, path, headers, body, status):
    played = episode()

    def post(base):
        address = urllib.parse.urlsplit(base)
        request = http.client.HTTPConnection(address.netloc, timeout=20)
        request.request("POST", path.format(below=address.path), body, headers)
        return request.getresponse().status

    async def main():
        async with serve_http(played) as base:
            return await asyncio.to_thread(post, base)

    assert asyncio.run(main()) == status
    assert not played.ended


def test_every_episode_has_an_address_that_cannot_be_guessed(episode):
    async def main():
        async with serve_http(episode()) as one, serve_http(episode()) as other:
            return [urllib.parse.urlsplit(base).path for base in (one, other)]

    one, other = asyncio.run(main())
    assert one != other
    assert min(len(one), len(other)) > 20
