"""What a contract promises, in plain words: each term that changes what an agent may conclude is said."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_builders import contract, template

from pytest_episem.workflows.contract_words import approval_text, contract_texts, duty_text
from pytest_episem.workflows.model import (
    Approval,
    AuthorizationTerms,
    CompensationTerms,
    Obligation,
    QueryTerms,
    RenewalTerms,
)


def test_a_plain_contract():
    assert dict(contract_texts(contract())) == {
        "requests": "whatever is accepted takes effect",
        "answers": "say how the request ended, and that is proof",
        "in time": "arrives at once or never; takes effect at once",
        "same key": "not remembered: a repeat is carried out again",
        "questions": "cannot be asked",
        "undoing": "not possible",
    }


@pytest.mark.parametrize(
    ("terms", "label", "words"),
    [
        ({"attempts": "may_fail"}, "requests", "may be rejected, or accepted without ever taking effect"),
        ({"settles": ("settled",)}, "answers", "say how the request ended, but only 'settled' is proof"),
        ({"settles": ()}, "answers", "say how the request ended, but prove nothing"),
        (
            {"response": "receipt", "settles": ("rejected",)},
            "answers",
            "are receipts: proof that it was accepted, not that it took effect; a rejection is proof",
        ),
        (
            {"response": "receipt"},
            "answers",
            "are receipts: proof that it was accepted, not that it took effect",
        ),
        (
            {"arrival": None, "commit_bound": None},
            "in time",
            "may arrive at any later time; no bound on when it takes effect",
        ),
        (
            {"arrival": 1, "commit_bound": 2, "attempts": "may_fail"},
            "in time",
            "arrives within 1 instant or never; takes effect within 2 instants or never",
        ),
        (
            {"deduplication": 3},
            "same key",
            "remembered for 3 instants from acceptance: a repeat does nothing until then",
        ),
        (
            {"query": QueryTerms(scope="state", authority="authoritative", lag=0)},
            "questions",
            "tell how many effects there are, as it is now; free",
        ),
        (
            {"query": QueryTerms(scope="history", authority="authoritative", lag=2, fee=1)},
            "questions",
            "tell what became of every key, as it was 2 instants ago; fee 1",
        ),
        (
            {"query": QueryTerms(scope="state", authority="replica", lag=1)},
            "questions",
            "tell how many effects there are, from a copy that is at most 1 instant old; free",
        ),
        (
            {"query": QueryTerms(scope="state", authority="replica")},
            "questions",
            "tell how many effects there are, from a copy of unknown age: that something is missing there proves "
            "nothing; free",
        ),
        (
            {"compensation": CompensationTerms(attempts="settle", response="final", arrival=0, commit_bound=0)},
            "undoing",
            "possible, free; whatever is accepted takes effect; answers say how the request ended, and that is proof; "
            "arrives at once or never; takes effect at once",
        ),
        (
            {
                "compensation": CompensationTerms(
                    attempts="settle", response="final", arrival=0, commit_bound=0, until=4, fee=2, deduplication=1
                )
            },
            "undoing",
            "possible before t4, fee 2; whatever is accepted takes effect; answers say how the request ended, and "
            "that is proof; arrives at once or never; takes effect at once; key remembered for 1 instant",
        ),
        (
            {"authorization": AuthorizationTerms(judged="effect", enforced=True)},
            "approval",
            "judged at effect; the provider refuses what is not approved",
        ),
        (
            {"authorization": AuthorizationTerms(judged="acceptance")},
            "approval",
            "judged at acceptance; the provider refuses nothing on that ground",
        ),
    ],
)
def test_each_term_in_words(terms: dict[str, Any], label: str, words: str):
    assert dict(contract_texts(contract(**terms)))[label] == words


def test_approvals_in_words():
    assert approval_text(Approval()) == "valid from t0 without end; cannot be renewed"
    sure = RenewalTerms(lasts=1, answer="granted", fee=2)
    assert approval_text(Approval(start=1, until=3, renewal=sure)) == (
        "valid from t1 until just before t3; a renewal holds 1 instant, always granted, fee 2"
    )
    unsure = RenewalTerms(lasts=4)
    assert approval_text(Approval(renewal=unsure)).endswith("; a renewal holds 4 instants, may be refused, free")


def test_an_obligation_in_words():
    pay = Obligation(op="pay", args={"id": "A-1", "amount": 5}, after=("order",), approval="mandate")
    work = template(
        {"order": contract(), "pay": contract(fee=3)},
        [],
        approvals={"mandate": Approval()},
        obligations={"order": Obligation(op="order"), "pay": pay},
    )
    assert duty_text(work, "pay") == "pay(id=A-1, amount=5), fee 3; only after order; needs approval mandate"
    assert duty_text(work, "order") == "order(), free"
