"""What may still happen after the deadline: the instants that stand for all of them, by hand and against every instant
(workflow protocol, section 1).

``EPISEM_TAILS=2000 pytest tests/workflows/test_workflows_tails.py -s`` compares so many random workflows and prints how
many it compared, with how many truths and verdicts; without the variable a few are compared in seconds.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workflow_brute import TooManyTruths, act, certain, harmless, truths, unbounded
from workflow_builders import contract, past, template

from pytest_episem.workflows.actions import Action, Attempt, Compensate, Query, Revalidate, Wait
from pytest_episem.workflows.certificate import certified
from pytest_episem.workflows.model import (
    AgainTerms,
    Approval,
    AuthorizationTerms,
    CompensationTerms,
    Contract,
    Obligation,
    QueryTerms,
    RenewalTerms,
    Template,
)
from pytest_episem.workflows.shield import admissible
from pytest_episem.workflows.support import EmptySupport, LargeSupport, Model

ASKED = int(os.environ.get("EPISEM_TAILS", "0"))
EXAMPLES, TRUTHS = (ASKED, 20_000) if ASKED else (60, 1_500)

# Random workflows against every instant ---------------------------------------------------------------------------


@st.composite
def channels(draw: st.DrawFn, tight: bool) -> dict[str, Any]:
    """Terms of a request; tight ones leave room for two or three unbounded requests."""
    if tight:
        return {
            "attempts": "settle",
            "response": draw(st.sampled_from(["final", "receipt"])),
            "arrival": draw(st.sampled_from([None, None, None, 0])),
            "commit_bound": draw(st.sampled_from([0, 0, 0, None])),
            "deduplication": draw(st.sampled_from([1, 2, 2, None])),
        }
    return {
        "attempts": draw(st.sampled_from(["settle", "settle", "may_fail"])),
        "response": draw(st.sampled_from(["final", "receipt"])),
        "arrival": draw(st.sampled_from([None, None, 0, 1])),
        "commit_bound": draw(st.sampled_from([0, 0, 0, 1, None])),
        "deduplication": draw(st.sampled_from([None, 1, 2, 3])),
    }


@st.composite
def contracts(draw: st.DrawFn, tight: bool) -> Contract:
    undo = None
    if not tight and draw(st.integers(0, 4)) == 0:
        undo = CompensationTerms(
            attempts="settle",
            response="final",
            arrival=0,
            commit_bound=draw(st.sampled_from([0, 0, 1])),
            deduplication=draw(st.sampled_from([None, 2])),
            until=draw(st.sampled_from([None, 3])),
        )
    ask = st.builds(
        QueryTerms,
        scope=st.sampled_from(["state", "history"]),
        authority=st.just("authoritative"),
        lag=st.integers(0, 1),
    )
    rule = st.builds(AuthorizationTerms, judged=st.sampled_from(["acceptance", "effect"]), enforced=st.booleans())
    again = None
    if not tight and draw(st.integers(0, 2)) == 0:
        again = AgainTerms(arrival=draw(st.sampled_from([0, 0, 1, None])), commit_bound=draw(st.sampled_from([0, 1])))
    return Contract(
        **draw(channels(tight)),
        again=again,
        query=draw(st.none() | ask),
        compensation=undo,
        authorization=draw(st.none() | rule),
    )


approvals = st.builds(
    Approval,
    start=st.just(0),
    until=st.sampled_from([2, 3, 5]),
    renewal=st.none() | st.builds(RenewalTerms, lasts=st.integers(1, 3), answer=st.sampled_from(["granted", "either"])),
)


@st.composite
def workflows(draw: st.DrawFn) -> Template:
    tight = draw(st.booleans())
    ops = {"one": draw(contracts(tight))}
    if not tight and draw(st.booleans()):
        ops["two"] = draw(contracts(tight))
    names = ["a", "b"][: draw(st.integers(len(ops), 2))]
    granted = {"apr": draw(approvals)} if not tight and draw(st.booleans()) else {}
    obligations = {
        name: Obligation(
            op=list(ops)[min(place, len(ops) - 1)],
            after=("a",) if place and draw(st.booleans()) else (),
            approval="apr" if granted and draw(st.booleans()) else None,
        )
        for place, name in enumerate(names)
    }
    history = []
    for number in range(draw(st.integers(2 if tight else 1, 2))):
        answer = draw(st.sampled_from(["timeout", "timeout", "timeout", "accepted"]))
        at = 0 if answer == "accepted" else None
        key = draw(st.sampled_from(["k1", "k1", "k2"]))
        history.append(past(draw(st.sampled_from(names)), answer, id=f"h{number}", key=key, sent=0, at=at))
    return Template(
        id="random/tail",
        title="random",
        start=1,
        deadline=2 if tight else draw(st.integers(2, 3)),
        contracts=ops,
        approvals=granted,
        obligations=obligations,
        ends=draw(st.sampled_from([("completed",), ("completed", "withdrawn")])),
        handoff="desk",
        history=tuple(history),
    )


compared: Counter[str] = Counter()


def choices(work: Template, now: int) -> list[Action]:
    found: list[Action] = []
    for name in work.obligations:
        found += [Attempt(name, "k1"), Attempt(name, f"new{now}")]
        undo = work.contract(name).compensation
        if undo is not None and (undo.until is None or now < undo.until):
            found.append(Compensate(name, f"undo{now}"))
    return found + [Revalidate(name) for name, approval in work.approvals.items() if approval.renewal is not None]


def questions(work: Template, now: int) -> list[Action]:
    asked: list[Action] = [Query(name) for name in work.obligations if work.contract(name).query is not None]
    return [*asked, Wait(1), Wait(work.deadline - now)]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data(), workflows())
def compare(data: st.DataObject, work: Template) -> None:
    try:
        compatible = truths(work, TRUTHS)
        model: Model | None = Model(work)
    except (TooManyTruths, LargeSupport):
        return
    except EmptySupport:
        model = None
    assert (model is not None) == bool(compatible)
    if model is None:
        return
    compared["workflows"] += 1
    compared["truths"] += len(compatible)
    compared["with two or more unbounded requests"] += unbounded(work) >= 2
    truth = data.draw(st.sampled_from(compatible), "truth")
    belief, now = model.root, work.start
    for _ in range(data.draw(st.integers(0, 3), "steps") + 1):
        for claim in ("completed", "withdrawn"):
            compared["verdicts"] += 1
            assert certified(model, belief, claim) == certain(work, compatible, claim), (claim, now)
        if now >= work.deadline:
            break
        for action in choices(work, now):
            compared["verdicts"] += 1
            assert admissible(model, belief, action) == harmless(work, compatible, now, action), (action, now)
        action = data.draw(st.sampled_from([*choices(work, now), *questions(work, now)]), "action")
        answer, truth = act(work, truth, now, action)
        after = [act(work, one, now, action) for one in compatible]
        compatible = [one for said, one in after if said == answer]
        belief = model.step(belief, action)[answer]
        now += action.instants if isinstance(action, Wait) else 0


@pytest.mark.slow
def test_the_late_instants_stand_for_every_instant():
    compare()
    print("\ncompared", ", ".join(f"{count} {what}" for what, count in compared.items()))
    assert compared["workflows"] >= EXAMPLES / 10
    assert compared["with two or more unbounded requests"] > 0


# By hand ----------------------------------------------------------------------------------------------------------

COUNT = QueryTerms(scope="state", authority="authoritative", lag=0)


def in_flight(**terms: Any) -> Template:
    """Clock from 1 to 4; a request of t0 got no answer and may arrive at any time; it takes effect at once."""
    return template({"pay": contract(arrival=None, **terms)}, [past("pay")], deadline=4)


def arrivals(work: Template) -> list[int]:
    return sorted({world.fates["pay1"].arrives for world in Model(work).worlds} - {None})  # type: ignore[type-var]


def test_a_key_that_is_remembered_for_long_is_forgotten_some_day():
    """Sent again under the same key at t1, it is remembered until 9. The original may arrive at 10 and is a second one:
    nothing may be sent, and nothing that was is certain. One seen to have landed is certain."""
    work = in_flight(deduplication=9, query=COUNT)
    assert arrivals(work) == [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13]
    model = Model(work)
    again = Attempt("pay", "k-pay")
    assert not admissible(model, model.root, again)
    sent = model.step(model.root, again)["settled at 1"]
    assert not certified(model, sent, "completed")
    assert {(v.kind, v.at) for _, run in sent.members for v in run.violations} == {
        ("duplicate", at) for at in (10, 11, 12, 13)
    }
    seen = model.step(model.root, Query("pay"))["count 1"]
    assert certified(model, seen, "completed")


def test_harm_between_two_instants_that_do_none():
    """Deadline 4, approved until 7 and the provider refuses what is not; a key is remembered for 4. Sent again at t1,
    the key is forgotten at 5: the original does harm if it arrives at 5 or 6, and none at 4 or at 8."""
    work = in_flight(deduplication=4, authorization=AuthorizationTerms(judged="acceptance", enforced=True))
    obligations = {"pay": Obligation(op="pay", approval="apr")}
    work = replace(work, obligations=obligations, approvals={"apr": Approval(until=7)})
    model = Model(work)
    sent = model.step(model.root, Attempt("pay", "k-pay"))["settled at 1"]
    harmed = {model.worlds[world].fates["pay1"].arrives for world, run in sent.members if run.violations}
    assert {4, 5, 7} <= set(arrivals(work))
    assert harmed == {5, 6}
    assert not admissible(model, model.root, Attempt("pay", "k-pay"))


def test_two_late_arrivals_of_one_key_lie_a_window_apart():
    """Two requests under one key, remembered for 3. Both may arrive after the deadline: less than 3 apart the later one
    is a repeat, 3 apart both are carried out. One late instant alone would show only the first."""
    twice = [past("pay"), past("pay", id="pay2")]
    model = Model(template({"pay": contract(arrival=None, deduplication=3)}, twice, deadline=4))
    apart = {
        (late[1] - late[0], len(run.ledger))
        for world, run in zip(model.worlds, model.initial, strict=True)
        if (late := sorted(fate.arrives or 0 for fate in world.fates.values()))[0] > 4
    }
    assert {(0, 1), (3, 2)} <= apart
    assert all((effects == 2) == (gap >= 3) for gap, effects in apart)


def test_an_effect_without_a_bound_may_come_before_or_after_another():
    """What was accepted at t0 may take effect at any time, and so may what is sent now: either can be the second."""
    slow = contract(response="receipt", commit_bound=None)
    model = Model(template({"pay": slow}, [past("pay", "accepted", at=0)], deadline=2))
    sent = model.step(model.root, Attempt("pay", "n"))["accepted at 1"]
    late = [run for _, run in sent.members if all(effect.landed > 2 for effect in run.ledger)]
    second = {violation.request for run in late for violation in run.violations}
    assert second == {"pay1", "r1"}
    orders = {run.ledger[0].landed < run.ledger[1].landed for run in late}
    assert orders == {True, False}


def test_of_two_things_due_at_one_instant_either_may_come_first():
    """Account and mailbox go out together, each lands within an instant; a mailbox needs an account. Both landing at
    the same instant is harm in one order, so the mailbox waits until the account is certain to be there."""
    slow = contract(response="receipt", commit_bound=1)
    work = template({"account": slow, "mail": slow}, [], after={"mail": ("account",)})
    model = Model(work)
    assert {world.last_first for world in model.worlds} == {False, True}
    sent = model.step(model.root, Attempt("account", "n"))["accepted at 1"]
    both = model.step(sent, Attempt("mail", "m"))["accepted at 1"]
    together = {
        (model.worlds[world].last_first, tuple(v.kind for v in run.violations))
        for world, run in both.members
        if {effect.landed for effect in run.ledger} == {2}
    }
    assert together == {(False, ()), (True, ("order",))}
    assert not admissible(model, sent, Attempt("mail", "m"))
    later = model.step(sent, Wait(1))[""]
    assert admissible(model, later, Attempt("mail", "m"))
    alone = Model(template({"account": slow, "mail": slow}, []))
    assert {world.last_first for world in alone.worlds} == {False}


def test_a_late_answer_says_no_more_than_that_it_is_late():
    model = Model(template({"pay": contract(commit_bound=None)}, [], deadline=2))
    branches = model.step(model.root, Attempt("pay", "n"))
    assert list(branches) == ["settled at 1", "settled at 2", "settled after 2"]
    assert certified(model, branches["settled at 2"], "completed")
    assert not certified(model, branches["settled after 2"], "completed")
