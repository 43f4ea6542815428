"""LangChain tries a failed tool again by itself. Does that pay twice? Copy it, and put your own tools in."""

import functools

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware

LOOK_FIRST = True  # False: the retry pays twice wherever a payment happened and nobody was told
RETRY = ToolRetryMiddleware(max_retries=2, initial_delay=0, retry_on=(TimeoutError, RuntimeError))
PAID = []


def cards_charge(id: str, eur: int) -> dict:
    """Charge an invoice to the customer's card."""
    PAID.append(id)
    return {"answer": "settled"}


def cards_charge_status(id: str, eur: int) -> dict:
    """Say whether a charge took effect: settled or absent."""
    return {"answer": "settled" if id in PAID else "absent"}


def looking_first(charge):
    @functools.wraps(charge)
    def look_and_charge(id, eur):
        found = cards_charge_status(id, eur)
        return found if found["answer"] == "settled" else charge(id, eur)

    return look_and_charge


@pytest.mark.episem_flaky("no-fault", "answer-lost", "request-lost", "false-failure")
def test_pays_once(episem_flaky):
    PAID.clear()
    charge = episem_flaky(cards_charge, intent=["id"])
    agent = create_agent("openai:gpt-5-mini", [looking_first(charge) if LOOK_FIRST else charge], middleware=[RETRY])
    agent.invoke({"messages": [{"role": "user", "content": "Charge 120 EUR for invoice INV-7."}]})
    episem_flaky.check("done")
