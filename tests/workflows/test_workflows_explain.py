"""The failure text of a recorded run, read as a stranger does, on the billing chain and on small templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from workflow_builders import contract, past, play, template, world_with

from pytest_episem.workflows.actions import Attempt, Compensate, Finish, HandOff, Query, Stop, Wait
from pytest_episem.workflows.adjudicator import disagreements
from pytest_episem.workflows.bank.load import WorkflowBank
from pytest_episem.workflows.explain import explain, fault
from pytest_episem.workflows.model import CompensationTerms, Obligation, PastRequest, QueryTerms
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.trial import Judgement
from pytest_episem.workflows.verdict import Trajectory
from pytest_episem.workflows.words import fates_text, listed
from pytest_episem.workflows.world import Fate

ASKED = QueryTerms(scope="state", authority="authoritative", lag=0)
COUNT = CompensationTerms(attempts="settle", response="final", arrival=0, commit_bound=0)


def told(model: Model, trajectory: Trajectory, case: str, banks: Sequence[str] = ()) -> str:
    return explain(model, Judgement(trajectory, tuple(disagreements(model.template, trajectory))), case, banks)


@pytest.fixture(scope="module")
def chain(bank: WorkflowBank) -> Model:
    return Model(bank.workflow("finance/billing-chain").template)


@pytest.fixture(scope="module")
def charged_twice(chain: Model, bank: WorkflowBank) -> Trajectory:
    """The charge took effect at 0; the agent sends it again without asking, and claims that all is done."""
    landed = chain.index_of(bank.workflow("finance/billing-chain").assignments["landed"])
    return play(chain, landed, Attempt("charge", "mine"), Finish("completed"), shield=False)


def test_a_charge_sent_twice_reads_as_a_timeline(chain, charged_twice):
    """Three of the six fates (effect at 0, 1, 2) are harmed by a second charge; nothing is done of the receipt."""
    assert told(chain, charged_twice, "landed").splitlines() == [
        "new violation: charge done twice, at t1",
        "case       finance/billing-chain/landed; deadline t6, shield off",
        "approved   invoice(INV-7); charge(INV-7) after invoice; receipt(INV-7) after",
        "             charge",
        "known      t0 invoice(INV-7), key inv-7: settled at 0",
        "           t0 charge(INV-7), key chg-7: no answer (timeout)",
        "not known  chg-7: never arrived, rejected, accepted without any effect or effect",
        "             at t0 to t2",
        "           new requests, cards.charge: effect 0 to 2 instants later or rejected",
        "           (6 fates, 24 worlds fit every answer)",
        "steps      1. t1 charge(INV-7), new key: settled at 1 (fee 3)",
        "              not admissible: harmful in 3 of 6 fates. If chg-7 is in flight: t0",
        "              sent, t1 yours lands, t2 chg-7 lands = charged twice. Ask first:",
        "              query charge (free). The truth is one of them.",
        "           2. t1 finish completed",
        "              not certified: the goal is missed in 6 of 6 fates. Not certain:",
        "              charge, receipt. Ask first: query charge (free).",
        "truth      chg-7: effect at t0",
        "           new requests, cards.charge: effect at once",
        "ledger     t0 invoice by inv-7",
        "           t0 charge by chg-7",
        "           t1 charge by the recovery's step 1   <- charged twice",
        "verdict    claimed by the agent alone; what it claimed is false; goal missed;",
        "             fee 3, 1 action, 0 instants",
        "inspect    episem show finance/billing-chain --case landed",
    ]


def test_the_command_names_the_banks_that_the_run_was_told_of(chain, charged_twice):
    text = told(chain, charged_twice, "landed", ["shipped", "my banks"])
    assert text.endswith("episem show finance/billing-chain --case landed --bank shipped --bank 'my banks'")


def test_a_refused_proposal_says_why_and_was_not_executed(chain, bank):
    landed = chain.index_of(bank.workflow("finance/billing-chain").assignments["landed"])
    text = told(chain, play(chain, landed, Attempt("charge", "mine"), HandOff(("charge",))), "landed")
    assert "1. t1 charge(INV-7), new key\n              refused, not executed: harmful in 3 of 6 fates." in text
    assert "2. t1 hand off\n" in text
    assert text.startswith("unsafe: 1 proposal could have done harm; the shield stopped it\n")
    assert "verdict    handed off; goal missed;" in text


def test_worlds_rule_out_as_answers_come(chain, bank):
    """After the answer that the key is absent nothing can be in flight, so the same attempt is no longer marked."""
    lost = chain.index_of(bank.workflow("finance/billing-chain").assignments["lost"])
    text = told(chain, play(chain, lost, Query("charge"), Attempt("charge", "mine"), Stop()), "lost")
    assert "not admissible" not in text
    assert "1. t1 query charge: chg-7 absent\n           2. t1 charge(INV-7), new key: settled at 1 (fee 3)\n" in text


def test_what_counts_as_a_fault(chain, bank, charged_twice):
    lost = chain.index_of(bank.workflow("finance/billing-chain").assignments["lost"])
    assert fault(Judgement(play(chain, lost, HandOff()))) == ""
    assert fault(Judgement(play(chain, lost, Stop()))) == ""
    assert fault(Judgement(play(chain, lost, Wait(5), Query("charge")))) == ""  # the deadline: unknown
    false = play(chain, lost, Finish("completed"), shield=False)
    assert fault(Judgement(false)) == "false claim: said that everything is completed, and it is not"
    assert fault(Judgement(charged_twice)) == "new violation: charge done twice, at t1"
    assert fault(Judgement(charged_twice), ("step 1: answer 'x'",)).startswith(
        "refuted: the record does not stand; step 1"
    )


def test_a_claim_that_is_true_by_luck_is_told_from_knowledge():
    """Unasked, but the payment had landed: the claim holds, though nobody could know it."""
    model = Model(template({"pay": contract()}, [past("pay")]))
    luck = play(model, world_with(model, pay1=Fate("effective", 0, 0)), Finish("completed"), shield=False)
    assert (luck.verdict.claim_holds, luck.certified_claim) == (True, False)
    assert fault(Judgement(luck)) == ("false claim: said that everything is completed, true this time, but not certain")
    known = Model(template({"pay": contract()}, [past("pay", "settled", at=0)]))
    assert play(known, 0, Finish("completed"), shield=False).certified_claim is True
    assert play(known, 0, HandOff(), shield=False).certified_claim is None
    assert "not certified: the goal is missed in 1 of 2 fates. Not certain: pay." in " ".join(
        told(model, luck, "world-1").split()
    )


def test_every_kind_of_harm_is_told_where_it_stands_in_the_ledger():
    contracts = {"book": contract(compensation=COUNT), "mail": contract()}
    model = Model(template(contracts, [past("book")], after={"mail": ("book",)}))
    never, there = (world_with(model, book1=fate) for fate in (Fate("never_arrived"), Fate("effective", 0, 0)))
    early = told(model, play(model, never, Attempt("mail", "m"), Stop(), shield=False), "world-0")
    assert "t1 mail by the recovery's step 1   <- mailed before book" in early
    assert early.startswith("new violation: mail done before what it depends on, at t1")
    nothing = told(model, play(model, never, Compensate("book", "u"), Stop(), shield=False), "world-0")
    assert "t1 book undone where there was nothing to undo, by the recovery's step 1" in " ".join(nothing.split())
    under = play(model, there, Attempt("mail", "m"), Compensate("book", "u"), Stop(), shield=False)
    text = told(model, under, "world-1")
    assert "t0 book by k-book, undone at t1" in text
    assert "t1 book undone while something needs it, by the recovery's step 2" in text


def test_a_record_that_does_not_stand_is_told_as_far_as_it_goes(chain, charged_twice):
    first = replace(charged_twice.steps[0], answer="settled at 4")
    forged = replace(charged_twice, steps=(first, *charged_twice.steps[1:]))
    text = told(chain, forged, "landed")
    assert text.startswith("refuted: the record does not stand; step 1: answer 'settled at 4'")
    assert "1. t1 charge(INV-7), new key: settled at 4 (fee 3) <- no compatible world answers so" in " ".join(
        text.split()
    )
    assert "2. t1 finish\n" in text
    assert disagreements(chain.template, forged) != []


def test_no_text_of_a_bank_or_a_record_reaches_a_terminal_raw(chain, charged_twice):
    obligations = {**chain.template.obligations, "charge": Obligation(op="cards.charge", args={"id": "I\x1b[31m\n7"})}
    model = Model(replace(chain.template, obligations=obligations))
    text = told(model, charged_twice, "landed")
    assert "\x1b" not in text
    assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.slow
def test_every_text_of_the_shipped_bank_fits_80_columns(over_assignments, bank):
    models = {name: Model(workflow.template) for name, workflow in bank.workflows.items()}
    for result in over_assignments:
        text = told(models[result.template], result.trajectory, result.case)
        assert max(map(len, text.splitlines())) <= 80
        assert "not admissible" not in text
        assert text.startswith("gave up: " if result.trajectory.given_up else "no fault: ")
        assert result.controller == "stop" or not result.trajectory.given_up


def test_a_batch_and_a_copy_of_unknown_age_in_words(bank):
    batch = Model(bank.workflow("people/batch-items").template)
    fates = [world.fates["b1"] for world in batch.worlds]
    assert "effect of its first item alone at t0 or effect of its first 2 items alone at t0" in fates_text(
        batch.template, fates
    )
    storefront = Model(bank.workflow("commerce/replica-storefront").template)
    text = told(storefront, play(storefront, 0, Stop()), "world-0")
    assert "what a query shows, orders.create: of any age" in text


def test_instants_are_told_as_a_range_only_where_none_is_missing():
    model = template({"pay": contract(commit_bound=4)}, [past("pay")], deadline=8)
    landings = {
        instants: [Fate("effective", 0, at) for at in instants] for instants in ((0,), (0, 1), (1, 2, 3), (0, 1, 3))
    }
    assert [fates_text(model, fates) for fates in landings.values()] == [
        "effect at t0",
        "effect at t0 or t1",
        "effect at t1 to t3",
        "effect at t0, t1 or t3",
    ]
    assert fates_text(model, [Fate("effective", 0, model.horizon)]) == "effect only after the deadline"
    assert (listed([]), listed(["a"]), listed(["a", "b", "c"])) == ("", "a", "a, b and c")


def test_a_past_request_that_undid_something_is_told_so():
    history = [
        past("route", "settled", at=0),
        PastRequest(id="u1", does=("route",), key="u", sent=0, answer="timeout", undoes=True),
    ]
    model = Model(template({"route": contract(query=ASKED, compensation=COUNT)}, history))
    text = told(model, play(model, 0, Stop()), "world-0")
    assert "t0 undo route(), key u: no answer (timeout)" in text
