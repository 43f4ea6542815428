"""A model over HTTP, through litellm, plays a workflow's case with the workflow's own tools."""

from __future__ import annotations

import asyncio
import json

import pytest
from model_server import Reply, call, say

from pytest_episem.episode import Episode
from pytest_episem.workflows.bank.load import shipped_workflows
from pytest_episem.workflows.cases import case_number
from pytest_episem.workflows.recovery import Recovery
from pytest_episem.workflows.support import Model

CHARGE = {"id": "INV-7", "eur": 120}


def looks_first(body: dict) -> Reply:
    """Ask; charge what is absent; send the receipt; claim. A refusal or a rejection goes to a person."""
    results = [json.loads(m["content"]) for m in body["messages"] if m["role"] == "tool"]
    if not results:
        return say("Let me look first.", [call("cards_charge_status", CHARGE)])
    answer = results[-1].get("answer", "")
    if answer == "chg-7 absent":
        return say(None, [call("cards_charge", json.dumps(CHARGE))])
    if answer == "settled at 1" and len(results) > 1 + ("chg-7 absent" in str(results)):
        return say("All of it is done.\nDisposition: completed")
    if "settled" in answer:
        return say(None, [call("mail_receipt", {"id": "INV-7"})])
    return say(None, [call("hand_off", {"unknown": ["charge"]})])


def repeats_blindly(body: dict) -> Reply:
    if body["messages"][-1]["role"] == "tool":
        return say(None, [call("hand_off", {"unknown": ["charge"]})])
    return say(None, [call("cards_charge", CHARGE), call("finish", {"claim": "completed"})])


@pytest.mark.parametrize(
    ("model", "case", "ending", "steps", "refused"),
    [
        (looks_first, "landed", ("completed", "line"), ["query", "attempt", "finish"], 0),
        (looks_first, "lost", ("completed", "line"), ["query", "attempt", "attempt", "finish"], 0),
        (repeats_blindly, "landed", ("handed_off", None), ["attempt", "finish", "hand_off"], 2),
    ],
)
def test_a_model_plays_a_workflow(agent, server, model, case, ending, steps, refused):
    server.then = model
    workflow = shipped_workflows().workflow("finance/billing-chain")
    support = Model(workflow.template)
    episode = Episode(Recovery(support, case_number(support, workflow, case)))
    asyncio.run(agent().play(episode))
    assert episode.ending[:2] == ending
    found = episode.outcome()
    assert [step.action.kind for step in found.trajectory.steps] == steps
    assert (found.trajectory.refused, found.faults, found.invalid) == (refused, (), False)
    sent = server.requests[0].body
    assert [message["content"] for message in sent["messages"]] == [episode.instruction, episode.goal]
    assert sent["tools"] == [spec.openai() for spec in episode.tools]
