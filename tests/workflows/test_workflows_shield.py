"""Which actions there are at an instant, and which of them the shield lets pass; worked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from workflow_builders import contract, past, template

from pytest_episem.workflows.actions import Action, Attempt, Compensate, Finish, HandOff, Query, Revalidate, Stop, Wait
from pytest_episem.workflows.certificate import unknown_obligations
from pytest_episem.workflows.model import (
    Approval,
    AuthorizationTerms,
    CompensationTerms,
    Obligation,
    QueryTerms,
    RenewalTerms,
    Template,
)
from pytest_episem.workflows.shield import admissible, changes, harmed, not_offered, offered, passing
from pytest_episem.workflows.support import Belief, Model

COUNT = QueryTerms(scope="state", authority="authoritative", lag=0)
UNDO = CompensationTerms(attempts="settle", response="final")
ENDS: list[Action] = [HandOff(("pay",)), Finish("completed"), Stop()]
LATE = "the deadline is here; finish, hand off or stop"


def everything() -> Template:
    """A clock from 1 to 5; ``pay`` declares all there is, its undoing until 3, and ``mail`` nothing."""
    undo = CompensationTerms(attempts="settle", response="final", until=3)
    return template(
        {"pay": contract(query=COUNT, compensation=undo), "mail": contract()},
        [past("pay", "settled", at=0)],
        approvals={"mandate": Approval(renewal=RenewalTerms(lasts=2)), "consent": Approval()},
    )


@pytest.mark.parametrize(
    ("now", "action", "why"),
    [
        (1, Attempt("pay", "k"), ""),
        (1, Attempt("mail", "k"), ""),
        (4, Attempt("mail", "k"), ""),
        (5, Attempt("mail", "k"), LATE),
        (6, Attempt("mail", "k"), LATE),
        (1, Attempt("pya", "k"), "unknown obligation 'pya'; did you mean 'pay'?"),
        (1, Query("pay"), ""),
        (5, Query("pay"), LATE),
        (1, Query("mail"), "mail declares no query"),
        (1, Query("male"), "unknown obligation 'male'; did you mean 'mail'?"),
        (2, Compensate("pay", "k"), ""),
        (3, Compensate("pay", "k"), "the compensation of pay was offered until 3"),
        (4, Compensate("pay", "k"), "the compensation of pay was offered until 3"),
        (1, Compensate("mail", "k"), "mail declares no compensation"),
        (1, Revalidate("mandate"), ""),
        (5, Revalidate("mandate"), LATE),
        (1, Revalidate("consent"), "approval consent cannot be renewed"),
        (1, Revalidate("mandat"), "unknown approval 'mandat'; did you mean 'mandate'?"),
        (1, Wait(0), "wait between 1 and 4 instants"),
        (1, Wait(-1), "wait between 1 and 4 instants"),
        (1, Wait(1), ""),
        (1, Wait(4), ""),
        (1, Wait(5), "wait between 1 and 4 instants"),
        (4, Wait(1), ""),
        (4, Wait(2), "wait between 1 and 1 instants"),
        (5, Wait(1), LATE),
    ],
)
def test_what_is_offered_and_why_not(now: int, action: Action, why: str):
    assert not_offered(everything(), now, action) == why


@pytest.mark.parametrize("now", [1, 4, 5, 6])
@pytest.mark.parametrize("action", ENDS)
def test_an_ending_is_always_offered(now: int, action: Action):
    assert not_offered(everything(), now, action) == ""


def test_a_compensation_without_an_end_is_offered_to_the_deadline():
    work = template({"pay": contract(compensation=UNDO)}, [past("pay", "settled", at=0)])
    assert [not_offered(work, now, Compensate("pay", "k")) for now in (1, 4, 5)] == ["", "", LATE]


def test_what_is_not_offered_does_not_pass_though_it_would_harm_nothing():
    """The one payment was rejected: another attempt is what is missing, but not at the deadline."""
    model = Model(template({"pay": contract(attempts="may_fail", query=COUNT)}, [past("pay", "rejected")]))
    assert admissible(model, model.root, Attempt("pay", "n"))
    end = model.step(model.root, Wait(4))[""]
    assert end.time == 5
    for action in (Attempt("pay", "n"), Query("pay"), Wait(1)):
        assert not admissible(model, end, action)
    assert admissible(model, end, HandOff())
    assert admissible(model, end, Stop())


def names(actions: list[Action] | tuple[Action, ...]) -> list[str]:
    def spelled(action: Any) -> str:
        parts = [getattr(action, name, None) for name in ("obligation", "approval", "key", "instants")]
        return " ".join([action.kind, *(str(part) for part in parts if part is not None)])

    return [spelled(action) for action in actions]


def test_the_actions_of_a_start_in_their_order():
    model = Model(everything())
    assert names(offered(model, model.root)) == [
        "attempt pay pay-r1",
        "compensate pay pay-r1",
        "query pay",
        "attempt mail mail-r1",
        "revalidate mandate",
        "wait 1",
        "wait 2",
        "wait 3",
        "wait 4",
    ]
    later = model.step(model.root, Wait(2))[""]
    assert names(offered(model, later)) == [
        "attempt pay pay-r1",
        "query pay",
        "attempt mail mail-r1",
        "revalidate mandate",
        "wait 1",
        "wait 2",
    ]
    end = model.step(model.root, Wait(4))[""]
    assert offered(model, end) == []


def test_an_old_key_is_sent_again_only_where_deduplication_is_declared():
    plain = Model(template({"pay": contract()}, [past("pay")], deadline=2))
    assert names(offered(plain, plain.root)) == ["attempt pay pay-r1", "wait 1"]
    keyed = Model(template({"pay": contract(deduplication=3)}, [past("pay")], deadline=2))
    assert names(offered(keyed, keyed.root)) == ["attempt pay k-pay", "attempt pay pay-r1", "wait 1"]
    again = keyed.step(keyed.root, Attempt("pay", "pay-r1"))
    assert {tuple(names(offered(keyed, belief))) for belief in again.values()} == {
        ("attempt pay k-pay", "attempt pay pay-r1", "attempt pay pay-r2", "wait 1")
    }


def answered(model: Model, belief: Belief, *actions: Action) -> Belief:
    """The belief after some actions, each with its first possible answer."""
    for action in actions:
        belief = next(iter(model.step(belief, action).values()))
    return belief


def test_two_tries_of_each_thing_are_the_most():
    work = template(
        {"pay": contract(compensation=UNDO)},
        [past("pay", "settled", at=0)],
        deadline=2,
        approvals={"mandate": Approval(renewal=RenewalTerms(lasts=2))},
    )
    model = Model(work)
    sending = [Attempt("pay", "pay-r1"), Compensate("pay", "pay-r1"), Revalidate("mandate")]
    once = answered(model, model.root, *sending)
    assert names(offered(model, once)) == [
        "attempt pay pay-r2",
        "compensate pay pay-r2",
        "revalidate mandate",
        "wait 1",
    ]
    twice = answered(model, once, Attempt("pay", "pay-r2"), Compensate("pay", "pay-r2"), Revalidate("mandate"))
    assert names(offered(model, twice)) == ["wait 1"]


def test_tries_are_counted_for_each_obligation_and_approval_by_itself():
    work = template(
        {"pay": contract(), "mail": contract()},
        [past("pay", "settled", at=0)],
        deadline=2,
        approvals={name: Approval(renewal=RenewalTerms(lasts=2)) for name in ("mandate", "consent")},
    )
    model = Model(work)
    paid = [Attempt("pay", "pay-r1"), Attempt("pay", "pay-r2"), Revalidate("mandate"), Revalidate("mandate")]
    after = answered(model, model.root, *paid)
    assert names(offered(model, after)) == ["attempt mail mail-r1", "revalidate consent", "wait 1"]


def test_what_passes_is_offered_harmless_and_leads_somewhere():
    """A payment that settled: paying again is a second charge, asking tells what is known, waiting passes."""
    model = Model(template({"pay": contract(query=COUNT)}, [past("pay", "settled", at=0)], deadline=3))
    assert not changes(model, model.root, Query("pay"))
    assert changes(model, model.root, Wait(1))
    assert names(passing(model, model.root)) == ["wait 1", "wait 2"]
    (harm,) = harmed(model, model.root, Attempt("pay", "n"))
    assert {violation.kind for violation in harm[1].violations} == {"duplicate"}
    unknown = Model(template({"pay": contract(query=COUNT)}, [past("pay")], deadline=2))
    assert names(passing(unknown, unknown.root)) == ["query pay", "wait 1"]


def test_a_renewal_passes_where_it_approves_nothing_that_was_not_meant():
    terms = AuthorizationTerms(judged="effect")
    work = template(
        {"pay": contract(attempts="may_fail", authorization=terms)},
        [past("pay", "rejected")],
        deadline=2,
        approvals={"mandate": Approval(until=1, renewal=RenewalTerms(lasts=2, answer="granted"))},
        obligations={"pay": Obligation(op="pay", approval="mandate")},
    )
    model = Model(work)
    # The mandate ended at 1: paying now would be without it, after a renewal it would not.
    assert not admissible(model, model.root, Attempt("pay", "n"))
    assert admissible(model, model.root, Revalidate("mandate"))
    renewed = model.step(model.root, Revalidate("mandate"))["granted"]
    assert admissible(model, renewed, Attempt("pay", "n"))


def test_unknown_are_the_obligations_on_which_compatible_worlds_differ():
    """``pay`` settled and ``mail`` was refused in every world, ``ship`` timed out and may have landed."""
    history = [past("pay", "settled", at=0), past("mail", "rejected"), past("ship")]
    contracts = {"pay": contract(), "mail": contract(attempts="may_fail"), "ship": contract()}
    model = Model(template(contracts, history))
    assert unknown_obligations(model, model.root) == ("ship",)
    settled = Model(replace(model.template, history=tuple(history[:2])))
    assert unknown_obligations(settled, settled.root) == ()
