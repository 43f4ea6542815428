"""The finite model by hand: fates, instants, windows, approvals, questions (workflow protocol, section 1)."""

from __future__ import annotations

from collections import Counter

import pytest
from workflow_builders import answers_of, contract, past, play, template, world_with

from pytest_episem.workflows.actions import Attempt, Compensate, Finish, Query, Revalidate, Stop, Wait
from pytest_episem.workflows.fates import fates_of, services_of
from pytest_episem.workflows.model import (
    Approval,
    AuthorizationTerms,
    CompensationTerms,
    Obligation,
    PastQuery,
    PastRequest,
    QueryTerms,
    RenewalTerms,
    Template,
)
from pytest_episem.workflows.shield import admissible
from pytest_episem.workflows.support import EmptySupport, LargeSupport, Model
from pytest_episem.workflows.world import Fate

EXACT = QueryTerms(scope="history", authority="authoritative", lag=0)
COUNT = QueryTerms(scope="state", authority="authoritative", lag=0)


def one(history: list[object], more: dict[str, object] | None = None, **terms: object) -> Template:
    return template({"pay": contract(**terms)}, history, **(more or {}))


def fates(model: Model) -> Counter[str]:
    return Counter(world.fates["pay1"].kind for world in model.worlds)


def test_horizon_is_deadline_plus_one_plus_the_largest_arrival_and_commit_bound():
    contracts = {"a": contract(arrival=1, commit_bound=2), "b": contract(arrival=2, commit_bound=0)}
    assert template(contracts, []).horizon == 5 + 1 + 3
    undo = CompensationTerms(arrival=2, commit_bound=2)
    assert template({"a": contract(compensation=undo)}, []).horizon == 5 + 1 + 4


def test_fates_of_a_lost_answer_are_all_that_the_bounds_allow():
    settled = one([past("pay")], arrival=1, commit_bound=1)
    assert fates_of(settled, settled.requests[0]) == [
        Fate("never_arrived"),
        Fate("effective", 0, 0),
        Fate("effective", 0, 1),
        Fate("effective", 1, 1),
        Fate("effective", 1, 2),
    ]
    may_fail = one([past("pay")], attempts="may_fail", commit_bound=1)
    assert fates_of(may_fail, may_fail.requests[0]) == [
        Fate("never_arrived"),
        Fate("rejected", 0),
        Fate("effective", 0, 0),
        Fate("effective", 0, 1),
        Fate("never_effective", 0),
    ]


def test_unbounded_request_gets_each_instant_to_the_deadline_and_what_stands_for_later_ones():
    """The service is unbounded too: what is sent at t1 to t4 may land around the old request, up to three instants
    before it and four after the first late one."""
    work = one([past("pay")], commit_bound=None)
    landings = [fate.lands for fate in fates_of(work, work.requests[0]) if fate.kind == "effective"]
    assert landings == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    late = one([past("pay")], arrival=None)
    arrivals = [fate.arrives for fate in fates_of(late, late.requests[0]) if fate.kind == "effective"]
    assert arrivals == [0, 1, 2, 3, 4, 5, 6]


def test_batch_that_is_not_whole_may_stop_after_any_item():
    batch = PastRequest(id="pay1", does=("a", "b", "c"), key="run", sent=0, answer="timeout")
    obligations = {name: Obligation(op="pay") for name in ("a", "b", "c")}
    work = Template(
        id="some/batch",
        title="batch",
        start=1,
        deadline=5,
        contracts={"pay": contract(attempts="may_fail", query=COUNT)},
        obligations=obligations,
        history=(batch,),
    )
    model = Model(work)
    prefixes = {world.fates["pay1"].prefix for world in model.worlds if world.fates["pay1"].kind == "effective"}
    assert prefixes == {None, 1, 2}
    two = world_with(model, pay1=Fate("effective", 0, 0, 2))
    run = model.initial[two]
    assert [run.count(name, 1) for name in ("a", "b", "c")] == [1, 1, 0]
    whole = Template(
        **{
            **{name: getattr(work, name) for name in ("id", "title", "start", "deadline", "obligations", "history")},
            "contracts": {"pay": contract(attempts="may_fail", whole=True)},
        }
    )
    assert {world.fates["pay1"].prefix for world in Model(whole).worlds} == {None}


def test_services_follow_from_the_contract():
    work = one([])
    names = [str(s) for s in services_of(work, contract())]
    assert names == ["lands"]
    assert [str(s) for s in services_of(work, contract(attempts="may_fail"))] == ["lands", "refused"]
    unproved = contract(attempts="may_fail", settles=("settled",))
    assert [str(s) for s in services_of(work, unproved)] == ["lands", "refused", "unsaid"]
    receipt = contract(response="receipt", commit_bound=2)
    assert [str(s) for s in services_of(work, receipt)] == ["lands", "lands+1", "lands+2"]
    lossy = contract(response="receipt", attempts="may_fail")
    assert [str(s) for s in services_of(work, lossy)] == ["lands", "lost"]


def test_a_final_answer_does_not_make_the_effect_immediate():
    """The effect of any attempt falls within the commit bound, and the answer names its instant; without a bound it may
    come at any later one."""
    work = one([])
    names = [str(s) for s in services_of(work, contract(attempts="may_fail", commit_bound=2))]
    assert names == ["lands", "lands+1", "lands+2", "refused"]
    unsaid = contract(attempts="may_fail", settles=("settled",), commit_bound=1)
    assert [str(s) for s in services_of(work, unsaid)] == ["lands", "lands+1", "refused", "unsaid", "unsaid+1"]
    unbounded = one([], commit_bound=None)
    delays = [s.delay for s in services_of(unbounded, unbounded.contract("pay"))]
    assert delays == [0, 1, 2, 3, 4, 5]
    late = Model(one([], commit_bound=2, query=COUNT))
    assert answers_of(play(late, 2, Attempt("pay", "n"), Query("pay"), Wait(2), Query("pay"), Finish("completed"))) == [
        "settled at 3",
        "count 0",
        "",
        "count 1",
        "",
    ]


def test_what_is_judged_at_the_effect_is_judged_then_after_a_final_answer_too():
    """Approved until t3; sent at t2 it may land at t3, which nobody approved, whatever was answered."""
    terms = {"authorization": AuthorizationTerms(judged="effect"), "commit_bound": 1}
    approved = {"pay": Obligation(op="pay", approval="apr")}
    more = {"obligations": approved, "approvals": {"apr": Approval(until=3)}}
    model = Model(one([], more, **terms))
    assert admissible(model, model.root, Attempt("pay", "n"))
    later = model.step(model.root, Wait(1))[""]
    assert not admissible(model, later, Attempt("pay", "n"))
    slow = next(n for n, world in enumerate(model.worlds) if world.services["pay"].delay == 1)
    trajectory = play(model, slow, Wait(1), Attempt("pay", "n"), Stop(), shield=False)
    assert answers_of(trajectory)[1] == "settled at 3"
    assert [(v.kind, v.at) for v in trajectory.verdict.new] == [("unauthorised", 3)]


def test_support_keeps_only_what_reproduces_the_answers():
    terms = {"attempts": "may_fail", "commit_bound": 1}
    assert fates(Model(one([past("pay", "rejected")], **terms))) == {"rejected": 3}
    assert fates(Model(one([past("pay", "settled", at=1)], **terms))) == {"effective": 3}
    receipt = Model(one([past("pay", "accepted", at=0)], **{**terms, "response": "receipt"}))
    assert {world.fates["pay1"] for world in receipt.worlds} == {
        Fate("effective", 0, 0),
        Fate("effective", 0, 1),
        Fate("never_effective", 0),
    }


def test_answer_that_proves_nothing_rules_nothing_out():
    unproved = Model(one([past("pay", "rejected")], attempts="may_fail", settles=("settled",)))
    assert set(fates(unproved)) == {"never_arrived", "rejected", "effective", "never_effective"}
    cached = Model(one([past("pay", "settled", at=0)], response="receipt"))
    assert set(fates(cached)) == {"never_arrived", "effective"}


def test_earlier_question_narrows_the_support():
    asked = PastQuery(id="q", asks="pay", sent=1, answer="count 1")
    model = Model(one([past("pay"), asked], commit_bound=2, query=COUNT))
    assert {world.fates["pay1"].lands for world in model.worlds} == {0, 1}


def test_history_that_no_world_reproduces_is_an_error():
    impossible = PastQuery(id="q", asks="pay", sent=1, answer="count 2")
    with pytest.raises(EmptySupport, match="some/work: no world that the contracts allow reproduces the history"):
        Model(one([past("pay"), impossible], query=COUNT))
    with pytest.raises(EmptySupport):
        Model(one([past("pay", "rejected")], attempts="settle"))


def test_too_many_combinations_are_an_error_and_not_a_wait():
    contracts = {name: contract(attempts="may_fail", arrival=None, commit_bound=None) for name in "abcd"}
    with pytest.raises(LargeSupport, match="more than 5000 combinations"):
        Model(template(contracts, [past(name) for name in "abcd"]))


def test_effects_due_at_an_instant_come_before_actions_at_it():
    model = Model(one([past("pay", "accepted", at=0)], response="receipt", commit_bound=2, query=COUNT))
    lands_at_two = world_with(model, pay1=Fate("effective", 0, 2))
    trajectory = play(model, lands_at_two, Query("pay"), Wait(1), Query("pay"), Stop())
    assert answers_of(trajectory) == ["count 0", "", "count 1", ""]


@pytest.mark.parametrize(("at", "landed"), [(1, 1), (2, 2)])
def test_deduplication_is_half_open(at, landed):
    """Accepted at 0 and remembered for 2 instants: a resend at 1 executes nothing, a resend at 2 lands again."""
    model = Model(one([past("pay", "settled", at=0)], deduplication=2))
    waits = [Wait(at - 1)] if at > 1 else []
    trajectory = play(model, 0, *waits, Attempt("pay", "k-pay"), Stop(), shield=False)
    assert len(trajectory.ledger) == landed
    assert answers_of(trajectory)[-2] == ("settled at 0" if at == 1 else "settled at 2")
    assert [v.kind for v in trajectory.verdict.new] == ([] if landed == 1 else ["duplicate"])


def test_late_arrival_is_suppressed_by_the_same_key_and_not_by_a_new_one():
    model = Model(one([past("pay")], arrival=3, deduplication=9))
    late = world_with(model, pay1=Fate("effective", 3, 3))
    same = play(model, late, Attempt("pay", "k-pay"), Finish("completed"))
    assert same.verdict.terminal == "completed"
    assert [effect.landed for effect in same.ledger] == [1]
    new = play(model, late, Attempt("pay", "other"), Stop(), shield=False)
    assert [effect.landed for effect in new.ledger] == [1, 3]


def test_resend_while_the_original_is_pending_is_answered_for_the_original():
    model = Model(one([past("pay")], commit_bound=2, deduplication=5))
    pending = world_with(model, pay1=Fate("effective", 0, 2))
    assert answers_of(play(model, pending, Attempt("pay", "k-pay"), Stop()))[0] == "accepted at 0"
    done = world_with(model, pay1=Fate("effective", 0, 1))
    assert answers_of(play(model, done, Attempt("pay", "k-pay"), Stop()))[0] == "settled at 1"


def approved(judged: str, enforced: bool, history: list[object], **approval: object) -> Model:
    work = template(
        {
            "pay": contract(
                response="receipt", commit_bound=2, authorization=AuthorizationTerms(judged=judged, enforced=enforced)
            )
        },  # type: ignore[arg-type]
        history,
        approvals={"apr": Approval(**approval)},  # type: ignore[arg-type]
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    return Model(work)


def lands_after(model: Model, delay: int, **more: object) -> int:
    return next(
        n
        for n, w in enumerate(model.worlds)
        if w.services["pay"].delay == delay and all(getattr(w, name) == value for name, value in more.items())
    )


def test_approval_is_judged_at_acceptance_or_at_the_effect():
    """Valid in [0, 2): a request accepted at 1 that lands at 3 is fine at acceptance, not at the effect."""
    acceptance = approved("acceptance", False, [], until=2)
    accepted = play(acceptance, lands_after(acceptance, 2), Attempt("pay", "n"), Stop(), shield=False)
    assert accepted.verdict.goal
    assert accepted.verdict.new == ()
    effect = approved("effect", False, [], until=2)
    landed = play(effect, lands_after(effect, 2), Attempt("pay", "n"), Stop(), shield=False)
    assert not landed.verdict.goal
    assert [(v.kind, v.at) for v in landed.verdict.new] == [("unauthorised", 3)]


def test_enforcing_provider_lets_nothing_unapproved_take_effect():
    model = approved("effect", True, [], until=2)
    blocked = play(model, lands_after(model, 2), Attempt("pay", "n"), Stop(), shield=False)
    assert blocked.ledger == ()
    assert blocked.verdict.new == ()
    at_acceptance = approved("acceptance", True, [], start=0, until=1)
    refused = play(at_acceptance, lands_after(at_acceptance, 0), Attempt("pay", "n"), Stop(), shield=False)
    assert answers_of(refused)[0] == "rejected"


def test_renewal_counts_from_the_instant_it_is_granted_and_is_half_open():
    """Renewed at 1 for 2 instants: an effect at 2 is authorised, one at 3 is not."""
    for delay, good in ((1, True), (2, False)):
        model = approved("effect", False, [], until=1, renewal=RenewalTerms(lasts=2, answer="granted"))
        world = lands_after(model, delay)
        trajectory = play(model, world, Revalidate("apr"), Attempt("pay", "n"), Stop(), shield=False)
        assert trajectory.verdict.goal is good


def test_replica_shows_the_state_of_a_hidden_instant_and_without_a_bound_perhaps_nothing():
    bounded = Model(one([past("pay")], query=QueryTerms(scope="state", authority="replica", lag=1)))
    assert {world.lags["pay"] for world in bounded.worlds} == {0, 1}
    unbounded = Model(one([past("pay")], query=QueryTerms(scope="state", authority="replica")))
    assert {world.lags["pay"] for world in unbounded.worlds} == {0, 1, 2, 3, 4, 5, 6}
    dark = next(n for n, w in enumerate(unbounded.worlds) if w.lags["pay"] == 6 and w.fates["pay1"].kind == "effective")
    assert answers_of(play(unbounded, dark, Wait(3), Query("pay"), Stop()))[1] == "count 0"


def test_history_names_the_status_of_every_key():
    undo = CompensationTerms(attempts="settle", response="final")
    model = Model(one([past("pay")], attempts="may_fail", commit_bound=1, query=EXACT, compensation=undo))
    world = world_with(model, pay1=Fate("effective", 0, 1))
    trajectory = play(
        model, world, Query("pay"), Compensate("pay", "u"), Query("pay"), Attempt("pay", "n"), Query("pay"), Stop()
    )
    assert answers_of(trajectory)[0] == "k-pay settled at 1"
    assert answers_of(trajectory)[2] == "k-pay undone; undo u settled at 1"
    assert answers_of(trajectory)[4] == "k-pay undone; undo u settled at 1; n settled at 1"


def test_lagging_authority_shows_everything_up_to_the_lagged_instant():
    lagged = QueryTerms(scope="state", authority="authoritative", lag=1)
    model = Model(one([past("pay")], commit_bound=1, query=lagged))
    world = world_with(model, pay1=Fate("effective", 0, 1))
    assert answers_of(play(model, world, Query("pay"), Wait(1), Query("pay"), Stop())) == ["count 0", "", "count 1", ""]


def test_fees_are_charged_for_what_is_sent_and_asked():
    terms = QueryTerms(scope="state", authority="authoritative", lag=0, fee=2)
    model = Model(one([past("pay")], attempts="may_fail", fee=3, query=terms))
    lost = world_with(model, pay1=Fate("never_arrived"))
    verdict = play(model, lost, Query("pay"), Attempt("pay", "n"), Finish("completed")).verdict
    assert (verdict.fee, verdict.actions, verdict.time) == (5, 2, 0)
