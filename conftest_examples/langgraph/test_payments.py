"""Does the agent pay twice when its payment call gets no answer? Copy it, and put your own tools in."""

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, ToolException

REQUEST = "Charge 120 EUR for invoice INV-7 and mail the receipt."
PAID = []


def cards_charge(id: str, eur: int) -> dict:
    """Charge an invoice to the customer's card."""
    PAID.append(id)
    return {"answer": "settled"}


def cards_charge_status(id: str, eur: int) -> dict:
    """Say whether a charge took effect: settled or absent."""
    return {"answer": "settled" if id in PAID else "absent"}


def mail_receipt(id: str) -> dict:
    """Mail the receipt."""
    return {"answer": "settled"}


@pytest.mark.episem_flaky(faults=["answer-lost", "request-lost"])
def test_pays_once(episem_flaky):
    PAID.clear()
    charge = episem_flaky(cards_charge, intent=["id"], error=ToolException('{"answer": "timeout"}'))
    own = (charge, episem_flaky(cards_charge_status, reads=True), mail_receipt)
    tools = [StructuredTool.from_function(tool, handle_tool_error=True) for tool in own]
    create_agent("openai:gpt-5-mini", tools).invoke({"messages": [{"role": "user", "content": REQUEST}]})
    episem_flaky.check("done")
