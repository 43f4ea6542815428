"""Agents of other kinds play a workflow's case: a function, an async one, and a program that speaks MCP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import Client

from pytest_episem.agents import as_agent
from pytest_episem.agents.mcp_server import episode_server
from pytest_episem.episode import CALL_LIMIT, Episode
from pytest_episem.workflows.bank.load import WorkflowBank
from pytest_episem.workflows.cases import case_number
from pytest_episem.workflows.recovery import Recovery
from pytest_episem.workflows.support import Model

CHAIN = "finance/billing-chain"
WORK = {"id": "INV-7"}
CHARGE = {"id": "INV-7", "eur": 120}


def case(models: dict[str, Model], bank: WorkflowBank, name: str) -> Episode:
    model = models[CHAIN]
    return Episode(Recovery(model, case_number(model, bank.workflow(CHAIN), name)), CALL_LIMIT)


def looks_first(view: Any) -> str:
    tools = view.functions
    status = tools["cards_charge_status"](**CHARGE)["answer"]
    if status == "chg-7 absent" and tools["cards_charge"](**CHARGE)["answer"] == "rejected":
        return "escalated"
    assert tools["mail_receipt"](id="INV-7")["answer"] == "settled at 1"
    return "The receipt is out.\nDisposition: completed"


async def gives_up(view: Any) -> str:
    content = await view.acall("finish", {"claim": "completed"})
    assert content["refused"].startswith("REFUSED finish completed")
    return "escalated"


@pytest.mark.parametrize(
    ("agent", "name", "ending", "steps"),
    [
        (looks_first, "landed", ("completed", "line"), ["query", "attempt", "finish"]),
        (looks_first, "lost", ("completed", "line"), ["query", "attempt", "attempt", "finish"]),
        (gives_up, "landed", ("handed_off", "adapter"), ["finish", "hand_off"]),
    ],
)
def test_a_function_plays(bank, models, agent, name, ending, steps):
    episode = case(models, bank, name)
    asyncio.run(as_agent(agent).play(episode))
    assert episode.ending[:2] == ending
    found = episode.outcome()
    assert [step.action.kind for step in found.trajectory.steps] == steps
    assert (found.faults, found.invalid) == ((), False)


def test_a_program_plays_over_mcp(bank, models):
    episode = case(models, bank, "landed")

    async def play() -> None:
        async with Client(episode_server(episode)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == [spec.name for spec in episode.tools]
            assert tools["cards_charge"].input_schema["required"] == ["id", "eur"]
            prompt = (await client.get_prompt("task")).messages[0].content.text
            assert prompt == f"{episode.instruction}\n\n{episode.goal}"

            async def use(name: str, arguments: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
                result = await client.call_tool(name, arguments)
                return result.is_error, json.loads(result.content[0].text)

            assert await use("cards_charge_status", CHARGE) == (False, {"answer": "chg-7 settled at 0", "time": 1})
            assert (await use("mail_receipt", {"id": 7}))[0]
            assert not (await use("cards_charge", {**CHARGE, "eur": 12}))[0]
            assert (await use("cards_charge", CHARGE))[1]["refused"].startswith("REFUSED charge(INV-7), new key, t=1")
            assert (await use("mail_receipt", WORK))[1]["answer"] == "settled at 1"
            assert await use("finish", {"claim": "completed"}) == (False, {"answer": "The case is closed.", "time": 1})

    asyncio.run(play())
    assert episode.ending[:2] == ("completed", None)
    found = episode.outcome()
    assert (found.faults, found.invalid, len(found.unapproved)) == ((), True, 1)
    assert [(step.action.kind, step.refused is None) for step in found.trajectory.steps] == [
        ("query", True), ("attempt", False), ("attempt", True), ("finish", True),
    ]  # fmt: skip


def live(bank: WorkflowBank, models: dict[str, Model], name: str) -> Episode:
    model = models[CHAIN]
    number = case_number(model, bank.workflow(CHAIN), name)
    return Episode(Recovery(model, number, live=True, guidance="advice"), CALL_LIMIT)


def does_as_told(view: Any) -> str:
    told = view.call("cards_charge", CHARGE)
    assert told["answer"] == "timeout"
    while "tool" in told.get("advice", {}):
        told = view.call(told["advice"]["tool"], told["advice"]["arguments"])
    return "Done."


@pytest.mark.parametrize("name", ["landed", "lost"])
def test_a_function_meets_trouble_in_its_own_call_and_does_as_it_is_told(bank, models, name):
    episode = live(bank, models, name)
    asyncio.run(as_agent(does_as_told).play(episode))
    found = episode.outcome()
    assert (found.trajectory.verdict.terminal, found.live.met, found.faults, found.refused) == (
        "completed",
        ("c1",),
        (),
        0,
    )


def test_a_program_meets_it_over_mcp(bank, models):
    episode = live(bank, models, "landed")

    async def play() -> None:
        async with Client(episode_server(episode)) as client:

            async def use(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
                return json.loads((await client.call_tool(name, arguments)).content[0].text)

            told = await use("cards_charge", CHARGE)
            assert (told["answer"], told["advice"]["tool"]) == ("timeout", "cards_charge_status")
            told = await use(told["advice"]["tool"], told["advice"]["arguments"])
            assert (told["answer"], told["advice"]["tool"]) == ("charge-r1 settled at 0", "mail_receipt")
            told = await use(told["advice"]["tool"], told["advice"]["arguments"])
            assert told["advice"]["tool"] == "finish"
            await use("finish", {"claim": "completed"})

    asyncio.run(play())
    found = episode.outcome()
    assert (found.trajectory.verdict.terminal, found.live.met, found.faults) == ("completed", ("c1",), ())
