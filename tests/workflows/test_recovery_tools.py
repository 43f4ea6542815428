"""A workflow's case as a world: the request and the tools, which are the same whatever is true."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import Draft202012Validator
from workflow_builders import contract, past, template

from pytest_episem.agents.tool_functions import tool_function
from pytest_episem.errors import EpisemError
from pytest_episem.workflows.actions import Attempt, Compensate, Finish, HandOff, Query, Revalidate, Wait
from pytest_episem.workflows.instruction import INSTRUCTION
from pytest_episem.workflows.model import CompensationTerms, Obligation, QueryTerms
from pytest_episem.workflows.recovery import Recovery
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.tools import Toolbox

CHAIN = "finance/billing-chain"
GOAL = """\
An invoice is out, the card charge timed out, and the customer still waits for a receipt. Please see it through until \
every piece of approved work has taken effect exactly once by the deadline.

It is t1, the deadline is t6; only waiting moves time. A finish may claim completed; the case can be handed off to \
billing-oncall.

Approved work:
- invoice: invoicing.create(id=INV-7), fee 2
- charge: cards.charge(id=INV-7, eur=120), fee 3; only after invoice
- receipt: mail.receipt(id=INV-7), fee 1; only after charge

So far:
- t0: invoice(INV-7), key inv-7: settled at 0
- t0: charge(INV-7), key chg-7: no answer (timeout)
"""


def names(toolbox: Toolbox) -> list[str]:
    return [spec.name for spec in toolbox.specs]


def test_the_request_says_what_is_approved_and_all_that_was_answered(models):
    assert Recovery(models[CHAIN], 0).goal.startswith(GOAL)


def test_a_workflow_that_may_be_withdrawn_says_so(models):
    goal = Recovery(models["travel/trip-withdrawal"], 0).goal
    assert "by the deadline or, failing that, until nothing of the approved work is left standing." in goal
    assert "- trip-904: valid from t0 until just before t1; a renewal holds 3 instants, may be refused, fee 1" in goal


def test_tools_are_named_after_the_operations_and_stand_only_where_the_contract_has_them(bank):
    assert names(Toolbox(bank.workflow(CHAIN).template)) == [
        "invoicing_create", "cards_charge", "cards_charge_status", "mail_receipt", "wait", "hand_off", "finish",
    ]  # fmt: skip
    assert names(Toolbox(bank.workflow("travel/trip-withdrawal").template)) == [
        "rooms_book", "rooms_book_status", "undo_rooms_book", "fares_ticket", "undo_fares_ticket", "renew_trip_904",
        "wait", "hand_off", "finish",
    ]  # fmt: skip


def test_nobody_to_hand_off_to_is_no_tool():
    assert names(Toolbox(template({"pay": contract()}, [past("pay")], handoff=None))) == ["pay", "wait", "finish"]


def test_a_tool_takes_the_arguments_of_the_work_and_a_key_and_tells_the_contract(bank):
    charge = Toolbox(bank.workflow(CHAIN).template).specs[1]
    key = {"type": "string", "minLength": 1, "maxLength": 200, "description": "Left out: a new key."}
    assert charge.parameters == {
        "type": "object",
        "properties": {"id": {"type": "string"}, "eur": {"type": "integer"}, "idempotency_key": key},
        "required": ["id", "eur"],
        "additionalProperties": False,
    }
    assert charge.description.startswith("cards.charge, fee 3. ")
    assert "may be rejected, or accepted without ever taking effect" in charge.description
    assert "arrives at once or never; takes effect within 2 instants or never" in charge.description
    assert "not remembered: a repeat is carried out again" in charge.description


def test_every_shipped_case_has_tools_that_any_provider_takes(models):
    for model in models.values():
        specs = Recovery(model, 0).tools
        assert len({spec.name for spec in specs}) == len(specs)
        for spec in specs:
            assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", spec.name)
            Draft202012Validator.check_schema(spec.parameters)
            assert tool_function(spec, lambda name, arguments: {}).__name__ == spec.name


def test_request_and_tools_are_the_same_in_every_compatible_world(bank, models):
    def told(world: Recovery) -> str:
        return json.dumps([world.instruction, world.goal, [spec.openai() for spec in world.tools]])

    for name, model in models.items():
        assert len({told(Recovery(model, number)) for number in range(len(model.worlds))}) == 1
        for truth in bank.workflow(name).assignments.values():
            number = model.index_of(truth)
            assert number is not None
            assert told(Recovery(model, number)) == told(Recovery(model, 0))


def test_nothing_that_is_told_speaks_of_the_apparatus(models):
    words = re.compile(r"\b(worlds?|fates?|hidden|shield|certif\w+|test|truth|belief)\b", re.I)
    for model in models.values():
        world = Recovery(model, 0)
        text = " ".join([INSTRUCTION, world.goal, *(spec.description for spec in world.tools)])
        assert words.findall(text) == []


def test_each_action_has_its_call_and_each_call_its_action(models):
    """Over the whole bank: what a call means is the action that it was made for."""
    for model in models.values():
        toolbox, found = Toolbox(model.template), model.template
        actions = [Attempt(name, "k") for name in found.obligations] + [Wait(2), *(Finish(end) for end in found.ends)]
        for name in found.obligations:
            terms = found.contract(name)
            actions += [Query(name)] if terms.query else []
            actions += [Compensate(name, "k")] if terms.compensation else []
        actions += [Revalidate(name) for name, approval in found.approvals.items() if approval.renewal]
        actions += [HandOff(tuple(found.obligations))] if found.handoff else []
        for action in actions:
            call = toolbox.call(action)
            assert toolbox.action(call.name, call.arguments, model.root) == action
        assert {toolbox.call(action).name for action in actions} == set(names(toolbox))


@pytest.mark.parametrize(
    "action", [Query("receipt"), Compensate("charge", "k"), Revalidate("po-1"), Attempt("refund", "k")]
)
def test_an_action_that_no_tool_does_is_one_clear_line(bank, action):
    with pytest.raises(EpisemError, match=f"{CHAIN}: no tool for the action: "):
        Toolbox(bank.workflow(CHAIN).template).call(action)


def test_names_that_would_be_the_same_are_told_apart():
    terms = QueryTerms(scope="state", authority="authoritative", lag=0)
    undo = CompensationTerms(attempts="settle", response="final")
    asked = contract(query=terms, compensation=undo)
    contracts = {"pay.card": asked, "pay_card": contract(), "pay_card_status": contract(), "wait": contract()}
    obligations = {f"o{number}": Obligation(op=op) for number, op in enumerate(contracts)}
    toolbox = Toolbox(template(contracts, [past("o0")], obligations=obligations))
    assert names(toolbox) == [
        "pay_card", "pay_card_status_2", "undo_pay_card", "pay_card_2", "pay_card_status", "wait_2",
        "wait", "hand_off", "finish",
    ]  # fmt: skip
    assert [toolbox.call(Attempt(name, "k")).name for name in obligations] == [
        "pay_card", "pay_card_2", "pay_card_status", "wait_2",
    ]  # fmt: skip


def test_work_with_the_same_arguments_is_asked_for_by_name():
    obligations = {name: Obligation(op="pay", args={"idempotency_key": "x", "net price": 3}) for name in ("a", "b")}
    model = Model(template({"pay": contract()}, [past("a")], obligations=obligations))
    toolbox = Toolbox(model.template)
    assert list(toolbox.specs[0].parameters["properties"]) == [
        "idempotency_key", "net_price", "work", "idempotency_key_2",
    ]  # fmt: skip
    for action in (Attempt("a", "k"), Attempt("b", "k")):
        call = toolbox.call(action)
        assert toolbox.action(call.name, call.arguments, model.root) == action
