"""Violations, certificate, terminals, refusals and the adjudicator (workflow protocol, sections 2 and 3)."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from workflow_builders import answers_of, contract, past, play, template, world_with

import pytest_episem.workflows.adjudicator as adjudicator_module
from pytest_episem.workflows.actions import Attempt, Compensate, Finish, HandOff, Query, Revalidate, Step, Stop, Wait
from pytest_episem.workflows.adjudicator import adjudicate, disagreements
from pytest_episem.workflows.certificate import certified
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.model import (
    Approval,
    AuthorizationTerms,
    CompensationTerms,
    Obligation,
    PastRequest,
    QueryTerms,
    RenewalTerms,
    Template,
)
from pytest_episem.workflows.refusal import refusal
from pytest_episem.workflows.shield import admissible
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.verdict import Trajectory, Verdict, Violation
from pytest_episem.workflows.world import Fate

COUNT = QueryTerms(scope="state", authority="authoritative", lag=0)
UNDO = CompensationTerms(attempts="settle", response="final")


def kinds(verdict: Verdict) -> tuple[list[str], list[str]]:
    return [v.kind for v in verdict.new], [v.kind for v in verdict.inherited]


def in_flight() -> Model:
    """One payment, accepted at 0, landing at 0, 1 or 2."""
    return Model(template({"pay": contract(commit_bound=2, query=COUNT)}, [past("pay")]))


def test_second_effect_is_new_even_where_the_first_request_lands_second():
    model = in_flight()
    lands_later = world_with(model, pay1=Fate("effective", 0, 2))
    verdict = play(model, lands_later, Attempt("pay", "n"), Stop(), shield=False).verdict
    assert verdict.new == (Violation("duplicate", "pay", "pay1", 2),)
    assert verdict.inherited == ()


def test_second_effect_of_two_past_requests_is_inherited():
    second = past("pay", "settled", id="pay2", key="other", sent=1, at=1)
    model = Model(template({"pay": contract(compensation=UNDO)}, [past("pay", "settled", at=0), second]))
    assert kinds(play(model, 0, Stop()).verdict) == ([], ["duplicate"])
    repaired = play(model, 0, Compensate("pay", "u"), Finish("completed")).verdict
    assert repaired.terminal == "completed"
    assert repaired.goal
    assert kinds(repaired) == ([], ["duplicate"])


def test_order_and_undoing_what_is_needed_or_not_there():
    history = [past("a", "settled", at=0), past("b", "settled", at=0)]
    contracts = {"a": contract(compensation=UNDO), "b": contract(compensation=UNDO)}
    model = Model(template(contracts, history, after={"b": ("a",)}))
    needed = play(model, 0, Compensate("a", "u"), Stop(), shield=False).verdict
    assert kinds(needed) == (["undo_needed"], [])
    twice = play(model, 0, Compensate("b", "u"), Compensate("b", "v"), Stop(), shield=False).verdict
    assert kinds(twice) == (["undo_nothing"], [])
    empty = Model(template(contracts, [], after={"b": ("a",)}))
    early = play(empty, 0, Attempt("b", "n"), Attempt("a", "n"), Stop(), shield=False).verdict
    assert kinds(early) == (["order"], [])
    assert not early.goal


def test_unfinished_work_is_no_violation():
    verdict = play(Model(template({"pay": contract()}, [])), 0, Stop()).verdict
    assert kinds(verdict) == ([], [])
    assert (verdict.terminal, verdict.goal) == ("unknown", False)


def test_renewal_that_would_revive_a_duplicate_in_flight_is_inadmissible():
    """A first payment stands; a second one in flight will be blocked at 2 or 3, unless the approval is renewed."""
    terms = AuthorizationTerms(judged="effect", enforced=True)
    renewal = RenewalTerms(lasts=5, answer="granted")
    second = PastRequest(id="pay2", does=("pay",), key="second", sent=1, answer="accepted", at=1)
    work = template(
        {"pay": contract(response="receipt", commit_bound=2, authorization=terms, query=COUNT)},
        [past("pay", "accepted", at=0), second],
        approvals={"apr": Approval(until=2, renewal=renewal)},
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    model = Model(work)
    assert not admissible(model, model.root, Revalidate("apr"))
    text = refusal(model, model.root, Revalidate("apr"))
    assert text.startswith("REFUSED renewal of apr, t=1: harmful in ")
    alone = Model(replace(work, history=work.history[:1]))
    assert admissible(alone, alone.root, Revalidate("apr"))


def test_absent_before_the_bound_proves_that_nothing_is_visible_not_that_nothing_comes():
    model = in_flight()
    asked = model.step(model.root, Query("pay"))["count 0"]
    assert not admissible(model, asked, Attempt("pay", "n"))
    later = model.step(model.step(asked, Wait(1))[""], Query("pay"))["count 0"]
    assert admissible(model, later, Attempt("pay", "n"))


def test_waiting_past_the_bound_settles_that_nothing_more_comes_not_what_happened():
    silent = Model(template({"pay": contract(commit_bound=1)}, [past("pay")]))
    late = silent.step(silent.root, Wait(3))[""]
    assert len(late) == len(silent.root)
    assert not admissible(silent, late, Attempt("pay", "n"))
    assert not certified(silent, late, "completed")


def test_accepted_request_without_commit_bound_never_licenses_a_new_key():
    unbounded = contract(response="receipt", commit_bound=None, query=COUNT)
    model = Model(template({"pay": unbounded}, [past("pay", "accepted", at=0)]))
    belief = model.root
    for _ in range(3):
        belief = model.step(model.step(belief, Wait(1))[""], Query("pay"))["count 0"]
        assert not admissible(model, belief, Attempt("pay", "n"))


def test_certificate_needs_the_goal_at_the_deadline_and_at_the_horizon():
    in_time = Model(template({"pay": contract(response="receipt", commit_bound=2)}, [past("pay", "accepted", at=0)]))
    assert certified(in_time, in_time.root, "completed")
    late = template({"pay": contract(response="receipt", commit_bound=2)}, [past("pay", "accepted", at=0)], deadline=2)
    assert certified(Model(late), Model(late).root, "completed")
    too_late = replace(late, start=1, deadline=2, history=(past("pay", "accepted", sent=1, at=1),))
    assert not certified(Model(too_late), Model(too_late).root, "completed")


def test_second_request_that_may_land_after_the_deadline_denies_the_certificate():
    """One payment settled; another, without bounds, may land late: the goal holds at the deadline and not after."""
    second = past("pay", id="pay2", key="other", sent=1)
    model = Model(template({"pay": contract(commit_bound=None)}, [past("pay", "settled", at=0), second]))
    at_the_end = world_with(model, pay2=Fate("effective", 1, 6))
    assert model.initial[at_the_end].goal
    assert not model.initial[at_the_end].lasting
    alone = model.step(model.root, Wait(4))[""]
    rest = [m for m in alone.members if m[0] == at_the_end or model.worlds[m[0]].fates["pay2"].kind == "never_arrived"]
    assert not certified(model, Belief(5, tuple(rest)), "completed")
    assert certified(model, Belief(5, tuple(m for m in rest if m[0] != at_the_end)), "completed")


def test_repaired_harm_of_recovery_is_still_not_certified():
    """Shield off: paid twice by recovery, one payment undone again. The goal holds, the certificate does not."""
    model = Model(template({"pay": contract(compensation=UNDO)}, [past("pay", "settled", at=0)]))
    harmed = model.step(model.root, Attempt("pay", "n"))["settled at 1"]
    repaired = model.step(harmed, Compensate("pay", "u"))["settled at 1"]
    assert all(run.lasting for _, run in repaired.members)
    assert not certified(model, repaired, "completed")


def test_withdrawn_needs_that_nothing_survives_and_that_the_template_allows_it():
    work = template({"pay": contract(compensation=UNDO)}, [past("pay", "settled", at=0)])
    undone = Model(work).step(Model(work).root, Compensate("pay", "u"))["settled at 1"]
    assert not certified(Model(work), undone, "withdrawn")
    allowed = Model(replace(work, ends=("completed", "withdrawn")))
    assert not certified(allowed, allowed.root, "withdrawn")
    assert play(allowed, 0, Compensate("pay", "u"), Finish("withdrawn")).verdict.terminal == "withdrawn"


def test_terminals():
    model = in_flight()
    assert play(model, 0, HandOff(("pay",))).verdict.terminal == "handed_off"
    nobody = Model(replace(model.template, handoff=None))
    assert play(nobody, 0, HandOff()).verdict.terminal == "unknown"
    assert play(model, 0, Stop()).verdict.terminal == "unknown"
    assert play(model, 0, Wait(4), Wait(1)).verdict.terminal == "unknown"
    claimed = play(model, 0, Finish("completed"), shield=False).verdict
    assert (claimed.terminal, claimed.claim_holds) == ("claim", False)


def test_proposal_cap_ends_as_unknown_and_refusals_count_towards_it():
    episode = Episode(in_flight(), 0, proposals=3)
    for _ in range(3):
        assert episode.propose(Finish("completed")).refused is not None
    assert episode.terminal == "unknown"
    trajectory = episode.trajectory()
    assert (trajectory.refused, trajectory.verdict.actions, trajectory.verdict.fee) == (3, 0, 0)
    with pytest.raises(ValueError, match="has ended"):
        episode.propose(Stop())


def test_hand_off_that_could_have_been_certified_stays_one_and_is_flagged():
    model = Model(template({"pay": contract()}, [past("pay", "settled", at=0)]))
    trajectory = play(model, 0, HandOff())
    assert (trajectory.verdict.terminal, trajectory.certifiable) == ("handed_off", True)
    assert not play(in_flight(), 0, HandOff()).certifiable


def test_hand_off_costs_an_action_finish_and_stop_none():
    model = Model(template({"pay": contract()}, [past("pay", "settled", at=0)]))
    assert play(model, 0, HandOff()).verdict.actions == 1
    assert play(model, 0, Stop()).verdict.actions == 0
    assert play(model, 0, Finish("completed")).verdict.actions == 0


def test_refusal_of_the_billing_chain_reads_as_the_protocol_says(bank):
    model = Model(bank.workflow("finance/billing-chain").template)
    assert refusal(model, model.root, Attempt("charge", "chg-8")) == (
        "REFUSED charge(INV-7), new key, t=1: harmful in 3 of 6 fates. "
        "If chg-7 is in flight: t0 sent, t1 yours lands, t2 chg-7 lands = charged twice. "
        "Ask first: query charge (free)."
    )


def test_refusals_say_what_is_not_offered_and_what_is_not_certain(bank):
    model = Model(bank.workflow("finance/billing-chain").template)
    assert refusal(model, model.root, Query("receipt")) == (
        "REFUSED query receipt, t=1: mail.receipt declares no query."
    )
    assert refusal(model, model.root, Attempt("chrage", "x")) == (
        "REFUSED chrage(), new key, t=1: unknown obligation 'chrage'; did you mean 'charge'?."
    )
    assert "Not certain: charge, receipt." in refusal(model, model.root, Finish("completed"))
    assert refusal(model, model.root, Finish("withdrawn")) == (
        "REFUSED finish withdrawn, t=1: this workflow can only end completed."
    )


def test_refusal_tells_to_wait_where_asking_does_not_help_yet():
    model = in_flight()
    asked = model.step(model.root, Query("pay"))["count 0"]
    assert refusal(model, asked, Attempt("pay", "n")).endswith("Wait first: 1, then query pay (free).")
    silent = Model(template({"pay": contract(commit_bound=1)}, [past("pay")]))
    assert refusal(silent, silent.root, Attempt("pay", "n")).endswith("Nothing public can tell: hand off to desk.")


def test_refusal_is_one_printable_line_whatever_the_arguments_say():
    odd = Obligation(op="pay", args={"memo": "a\nb\x1b[31m"})
    model = Model(template({"pay": contract()}, [past("pay", "settled", at=0)], obligations={"pay": odd}))
    text = refusal(model, model.root, Attempt("pay", "n"))
    assert "\n" not in text
    assert "\x1b" not in text


def test_adjudicator_imports_data_classes_only():
    source = Path(adjudicator_module.__file__).read_text(encoding="utf-8")
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    ours = {name for name in imported if name is not None and name.startswith("pytest_episem")}
    assert ours == {f"pytest_episem.workflows.{name}" for name in ("actions", "model", "verdict", "world")}


def test_adjudicator_sees_every_kind_of_tampering():
    model = in_flight()
    good = play(model, world_with(model, pay1=Fate("never_arrived")), Query("pay"), Wait(2), Query("pay"), Stop())
    assert disagreements(model.template, good) == []
    steps = list(good.steps)
    wrong_answer = replace(good, steps=(replace(steps[0], answer="count 1"), *steps[1:]))
    assert disagreements(model.template, wrong_answer) == ["step 1: answer 'count 1', replayed 'count 0'"]
    assert disagreements(model.template, replace(good, verdict=replace(good.verdict, goal=True)))
    assert disagreements(model.template, replace(good, verdict=replace(good.verdict, fee=1)))
    other_world = replace(good, world=model.worlds[world_with(model, pay1=Fate("effective", 0, 0))])
    assert disagreements(model.template, other_world)
    more_steps = replace(good, steps=(Step(1, Attempt("pay", "n"), "settled at 1"), *steps))
    assert any(line.startswith("ledger") for line in disagreements(model.template, more_steps))


def test_adjudicator_judges_by_hand():
    """Charged at 0 already; a second charge at 1 lands at once: one new duplicate, goal missed, fee 3."""
    model = Model(template({"pay": contract(fee=3)}, [past("pay", "settled", at=0)]))
    trajectory = play(model, 0, Attempt("pay", "n"), Finish("completed"), shield=False)
    assert adjudicate(model.template, trajectory) == Verdict(
        terminal="claim",
        goal=False,
        claim_holds=False,
        new=(Violation("duplicate", "pay", "r1", 1),),
        inherited=(),
        fee=3,
        actions=1,
        time=0,
    )


def judged(work: Template, trajectory: Trajectory) -> Verdict:
    """The adjudicator's own verdict, which must be the recorded one."""
    verdict = adjudicate(work, trajectory)
    assert verdict == trajectory.verdict
    return verdict


def test_adjudicator_on_an_episode_in_which_everything_was_refused():
    model = in_flight()
    episode = Episode(model, 0, proposals=2)
    for _ in range(2):
        episode.propose(Finish("completed"))
    verdict = judged(model.template, episode.trajectory())
    assert (verdict.terminal, verdict.claim_holds, verdict.actions, verdict.fee) == ("unknown", None, 0, 0)


def test_adjudicator_holds_a_claim_against_harm_that_was_repaired():
    """Paid twice by recovery and one payment undone: exactly one stands at both instants, and the claim is false."""
    model = Model(template({"pay": contract(compensation=UNDO)}, [past("pay", "settled", at=0)]))
    claimed = play(model, 0, Attempt("pay", "n"), Compensate("pay", "u"), Finish("completed"), shield=False)
    verdict = judged(model.template, claimed)
    assert (verdict.terminal, verdict.goal, verdict.claim_holds) == ("claim", True, False)
    assert verdict.new == (Violation("duplicate", "pay", "r1", 1),)
    honest = judged(model.template, play(model, 0, Finish("completed"), shield=False))
    assert (honest.goal, honest.claim_holds) == (True, True)


def test_a_compensation_has_a_deduplication_of_its_own():
    """Sent twice under one key: with deduplication the second undoes nothing and harms nothing, else it is a fault."""
    keyed = CompensationTerms(attempts="settle", response="final", deduplication=3)
    twice = (Compensate("pay", "u"), Compensate("pay", "u"), Stop())
    history = [past("pay", "settled", at=0)]
    for attempts, undoing, faults in ((None, keyed, []), (3, UNDO, ["undo_nothing"])):
        model = Model(template({"pay": contract(deduplication=attempts, compensation=undoing)}, history))
        trajectory = play(model, 0, *twice, shield=False)
        assert kinds(judged(model.template, trajectory))[0] == faults
        assert answers_of(trajectory)[0] == "settled at 1"


def test_one_of_two_effects_may_be_undone_under_what_needs_it():
    """``a`` took effect twice and ``b`` needs it: undoing one leaves the other, undoing both does not."""
    again = past("a", "settled", id="a2", key="other", sent=0, at=0)
    history = [past("a", "settled", at=0), again, past("b", "settled", at=0)]
    contracts = {"a": contract(compensation=UNDO), "b": contract()}
    model = Model(template(contracts, history, after={"b": ("a",)}))
    once = judged(model.template, play(model, 0, Compensate("a", "u"), Finish("completed"), shield=False))
    assert kinds(once) == ([], ["duplicate"])
    assert once.goal
    both = play(model, 0, Compensate("a", "u"), Compensate("a", "v"), Stop(), shield=False)
    assert kinds(judged(model.template, both)) == (["undo_needed"], ["duplicate"])


def test_a_refused_renewal_approves_nothing_and_costs_its_fee():
    work = template(
        {"pay": contract(authorization=AuthorizationTerms(judged="effect"), fee=3)},
        [],
        approvals={"apr": Approval(until=1, renewal=RenewalTerms(lasts=4, answer="either", fee=2))},
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    model = Model(work)
    for granted, faults in ((True, []), (False, ["unauthorised"])):
        world = next(n for n, w in enumerate(model.worlds) if w.renewals["apr"] is granted)
        trajectory = play(model, world, Revalidate("apr"), Attempt("pay", "n"), Stop(), shield=False)
        assert answers_of(trajectory)[0] == ("granted" if granted else "refused")
        verdict = judged(work, trajectory)
        assert kinds(verdict)[0] == faults
        assert (verdict.goal, verdict.fee, verdict.actions) == (granted, 5, 2)


def test_the_history_of_a_key_used_twice_and_of_a_refusal():
    exact = QueryTerms(scope="history", authority="authoritative", lag=0)
    settled = Model(template({"pay": contract(query=exact)}, [past("pay", "settled", at=0)]))
    again = play(settled, 0, Attempt("pay", "k-pay"), Query("pay"), Stop(), shield=False)
    # The second request under the key settles at 1; the key is settled since 0.
    assert answers_of(again)[:2] == ["settled at 1", "k-pay settled at 0"]
    refused = Model(template({"pay": contract(attempts="may_fail", query=exact)}, [past("pay", "rejected")]))
    lands = next(n for n, w in enumerate(refused.worlds) if str(w.services["pay"]) == "lands")
    trajectory = play(refused, lands, Query("pay"), Attempt("pay", "n"), Query("pay"), Stop())
    assert answers_of(trajectory)[:3] == ["k-pay rejected", "settled at 1", "k-pay rejected; n settled at 1"]
    under_way = template(
        {"pay": contract(response="receipt", commit_bound=2, query=exact)}, [past("pay", "accepted", at=0)]
    )
    model = Model(under_way)
    late = world_with(model, pay1=Fate("effective", 0, 2))
    waited = play(model, late, Query("pay"), Wait(1), Query("pay"), Stop())
    assert answers_of(waited)[:3] == ["k-pay accepted", "", "k-pay settled at 2"]
    # A key refused first and settled then is settled.
    retried = play(refused, lands, Attempt("pay", "k-pay"), Query("pay"), Stop())
    assert answers_of(retried)[1] == "k-pay settled at 1"


def test_adjudicator_replays_actions_that_no_contract_offers_without_a_fault_of_its_own():
    """A tampered record may hold them: undoing, renewing and asking where nothing of it is declared."""
    work = template({"pay": contract()}, [past("pay", "settled", at=0)], approvals={"apr": Approval()})
    model = Model(work)
    good = play(model, 0, Stop())
    assert good.world.renewals == {}
    forged = replace(good, steps=(Step(1, Query("pay"), "count 1"), *good.steps))
    assert disagreements(work, forged)[0] == "step 1: answer 'count 1', replayed 'not offered'"


def test_a_late_effect_is_judged_whatever_else_is_promised():
    """The clock ends at 5; ``mail`` arrives within 2 and settles within 1 more. ``pay`` promises nothing, so that what
    it was sent may land after all of that and break the goal there."""
    second = past("pay", id="pay2", key="other", sent=1)
    contracts = {"pay": contract(commit_bound=None), "mail": contract(arrival=2, commit_bound=1)}
    history = [past("pay", "settled", at=0), past("mail", "settled", at=0), second]
    model = Model(template(contracts, history))
    last = model.template.tail.late[-1]
    assert last >= 5 + 3 + 1
    assert model.template.horizon > last + 3
    known = {"pay1": Fate("effective", 0, 0), "mail1": Fate("effective", 0, 0)}
    late = world_with(model, **known, pay2=Fate("effective", 1, last))
    verdict = judged(model.template, play(model, late, Finish("completed"), shield=False))
    assert (verdict.goal, verdict.claim_holds, verdict.new) == (True, False, ())
    assert verdict.inherited == (Violation("duplicate", "pay", "pay2", last),)
    assert [violation.at for violation in verdict.inherited] == [last]
    never = world_with(model, **known, pay2=Fate("never_arrived"))
    verdict = judged(model.template, play(model, never, Finish("completed"), shield=False))
    assert (verdict.goal, verdict.claim_holds, verdict.inherited) == (True, True, ())


@pytest.mark.parametrize(
    ("terms", "horizon"),
    [
        ({}, 6),
        ({"arrival": 2, "commit_bound": 1}, 9),
        ({"arrival": 0, "commit_bound": 2}, 8),
        ({"compensation": CompensationTerms(arrival=2, commit_bound=1)}, 9),
        ({"arrival": 3, "compensation": CompensationTerms(arrival=1, commit_bound=1)}, 9),
        ({"arrival": None, "commit_bound": 1}, 7),
    ],
)
def test_without_anything_unbounded_the_horizon_is_the_longest_promise_after_the_deadline(terms, horizon):
    work = template({"pay": contract(), "mail": contract(**terms)}, [past("pay", "settled", at=0)])
    assert (work.tail.late, work.horizon) == ((), horizon)


def test_an_effect_of_a_slow_provider_is_in_the_ledger_however_late_it_was_sent():
    model = Model(template({"pay": contract(response="receipt", commit_bound=None)}, []))
    slowest = max(range(len(model.worlds)), key=lambda n: model.worlds[n].services["pay"].delay)
    delay = model.worlds[slowest].services["pay"].delay
    assert 4 + delay < model.template.horizon
    sent_later = play(model, slowest, Wait(3), Attempt("pay", "n"), Stop(), shield=False)
    assert [entry.landed for entry in sent_later.ledger] == [4 + delay]
    assert answers_of(sent_later)[1] == "accepted at 4"


def test_a_batch_that_took_effect_in_part():
    """Two items sent together, of which the first alone took effect; each item has a key of its own."""
    batch = PastRequest(id="both", does=("pay", "tip"), key="k", sent=0, answer="timeout")
    exact = QueryTerms(scope="history", authority="authoritative", lag=0)
    work = template(
        {"pay": contract(attempts="may_fail", query=exact)},
        [batch],
        obligations={"pay": Obligation(op="pay"), "tip": Obligation(op="pay")},
    )
    model = Model(work)
    half = next(
        n
        for n, w in enumerate(model.worlds)
        if w.fates["both"] == Fate("effective", 0, 0, 1) and str(w.services["pay"]) == "lands"
    )
    trajectory = play(model, half, Query("pay"), Query("tip"), Attempt("tip", "n"), Finish("completed"))
    assert answers_of(trajectory)[:3] == ["k/pay settled at 0", "k/tip accepted", "settled at 1"]
    verdict = judged(work, trajectory)
    assert (verdict.terminal, verdict.goal, verdict.claim_holds) == ("completed", True, True)


def test_an_approval_is_judged_at_the_effect_where_no_contract_says_when():
    """Valid in [0, 1). At 1 it has ended: the payment takes effect all the same, and is a fault."""
    work = template(
        {"pay": contract()},
        [],
        approvals={"apr": Approval(until=1)},
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    model = Model(work)
    verdict = judged(work, play(model, 0, Attempt("pay", "n"), Stop(), shield=False))
    assert verdict.new == (Violation("unauthorised", "pay", "r1", 1),)
    assert not verdict.goal


@pytest.mark.parametrize(("until", "lands"), [(2, True), (1, False)])
@pytest.mark.parametrize(("response", "said"), [("final", "rejected"), ("receipt", "accepted at 1")])
def test_an_enforcing_provider_blocks_the_effect_and_says_so_only_in_a_final_answer(until, lands, response, said):
    """Sent at 1 under an approval that ends at 2 or at 1."""
    terms = AuthorizationTerms(judged="effect", enforced=True)
    work = template(
        {"pay": contract(response=response, authorization=terms)},
        [],
        approvals={"apr": Approval(until=until)},
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    model = Model(work)
    trajectory = play(model, 0, Attempt("pay", "n"), Stop(), shield=False)
    expected = said if not lands else {"final": "settled at 1", "receipt": "accepted at 1"}[response]
    assert answers_of(trajectory)[0] == expected
    verdict = judged(work, trajectory)
    assert (verdict.goal, verdict.new) == (lands, ())


@pytest.mark.parametrize("when", ["acceptance", "effect"])
def test_undoing_needs_no_approval(when):
    """The approval ended at 1 and the provider enforces it: paying is blocked, undoing what was paid is not."""
    terms = AuthorizationTerms(judged=when, enforced=True)
    work = template(
        {"pay": contract(authorization=terms, compensation=UNDO)},
        [past("pay", "settled", at=0)],
        approvals={"apr": Approval(until=1)},
        obligations={"pay": Obligation(op="pay", approval="apr")},
        ends=("completed", "withdrawn"),
    )
    model = Model(work)
    trajectory = play(model, 0, Attempt("pay", "n"), Compensate("pay", "u"), Finish("withdrawn"), shield=False)
    assert answers_of(trajectory)[:2] == ["rejected", "settled at 1"]
    assert [(entry.landed, entry.undone, entry.authorised) for entry in trajectory.ledger] == [(0, 1, True)]
    verdict = judged(work, trajectory)
    assert (verdict.claim_holds, verdict.new) == (True, ())


@pytest.mark.parametrize("when", ["acceptance", "effect"])
def test_a_renewal_does_not_revive_what_was_blocked_at_the_same_instant(when):
    """Sent at 1 without approval and blocked; renewed at 1. Only what is sent after the renewal takes effect."""
    work = template(
        {"pay": contract(authorization=AuthorizationTerms(judged=when, enforced=True), query=COUNT)},
        [],
        approvals={"apr": Approval(until=1, renewal=RenewalTerms(lasts=3, answer="granted"))},
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    model = Model(work)
    first = [Attempt("pay", "n"), Revalidate("apr"), Query("pay"), Wait(1), Query("pay")]
    blocked = play(model, 0, *first, Stop(), shield=False)
    assert answers_of(blocked)[:5] == ["rejected", "granted", "count 0", "", "count 0"]
    assert not judged(work, blocked).goal
    again = play(model, 0, *first, Attempt("pay", "m"), Stop(), shield=False)
    assert [(entry.request, entry.landed, entry.authorised) for entry in again.ledger] == [("r3", 2, True)]
    assert judged(work, again).goal


def test_a_request_blocked_at_acceptance_is_no_original_of_a_later_one():
    """Blocked at 1, renewed at 1, and the same key sent again at 2: nothing was accepted that it could repeat."""
    terms = AuthorizationTerms(judged="acceptance", enforced=True)
    work = template(
        {"pay": contract(authorization=terms, deduplication=3)},
        [],
        approvals={"apr": Approval(until=1, renewal=RenewalTerms(lasts=3, answer="granted"))},
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    steps = [Attempt("pay", "k"), Revalidate("apr"), Wait(1), Attempt("pay", "k"), Finish("completed")]
    trajectory = play(Model(work), 0, *steps)
    assert answers_of(trajectory)[:4] == ["rejected", "granted", "", "settled at 2"]
    assert judged(work, trajectory).terminal == "completed"


@pytest.mark.parametrize(("sent", "good"), [(2, False), (3, True)])
def test_an_approval_holds_from_its_start(sent, good):
    work = template(
        {"pay": contract(authorization=AuthorizationTerms(judged="effect"))},
        [],
        approvals={"apr": Approval(start=3)},
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    verdict = judged(work, play(Model(work), 0, Wait(sent - 1), Attempt("pay", "n"), Stop(), shield=False))
    assert verdict.goal is good
    assert [(v.kind, v.at) for v in verdict.new] == ([] if good else [("unauthorised", sent)])


def test_a_repeat_is_told_what_became_of_the_request_that_it_repeats():
    """Taken at 1 and blocked as it took effect, since the approval has ended: the same key again hears the same."""
    work = template(
        {"pay": contract(authorization=AuthorizationTerms(judged="effect", enforced=True), deduplication=3)},
        [],
        approvals={"apr": Approval(until=1)},
        obligations={"pay": Obligation(op="pay", approval="apr")},
    )
    trajectory = play(Model(work), 0, Attempt("pay", "k"), Attempt("pay", "k"), Stop(), shield=False)
    assert answers_of(trajectory)[:2] == ["rejected", "rejected"]
    assert (trajectory.ledger, judged(work, trajectory).new) == ((), ())


@pytest.mark.parametrize(("answer", "status"), [("rejected", "rejected"), ("accepted", "accepted")])
def test_a_lagging_history_shows_a_request_as_absent_until_its_lag_is_over(answer, status):
    """Sent and answered at 1; the history is one instant old."""
    lagged = QueryTerms(scope="history", authority="authoritative", lag=1)
    work = template(
        {"pay": contract(attempts="may_fail", response="receipt", commit_bound=3, query=lagged)},
        [past("pay", answer, sent=1, at=1 if answer == "accepted" else None)],
    )
    model = Model(work)
    world = next(
        n
        for n, w in enumerate(model.worlds)
        if w.fates["pay1"].kind == "rejected" or w.fates["pay1"] == Fate("effective", 1, 4)
    )
    trajectory = play(model, world, Query("pay"), Wait(1), Query("pay"), Stop())
    assert answers_of(trajectory)[:3] == ["k-pay absent", "", f"k-pay {status}"]
    judged(work, trajectory)


def test_what_is_lost_is_accepted_and_never_takes_effect():
    model = Model(template({"pay": contract(attempts="may_fail", response="receipt")}, []))
    lost = next(n for n, w in enumerate(model.worlds) if str(w.services["pay"]) == "lost")
    trajectory = play(model, lost, Attempt("pay", "n"), Wait(4), Stop(), shield=False)
    assert answers_of(trajectory)[0] == "accepted at 1"
    assert trajectory.ledger == ()
    assert not judged(model.template, trajectory).goal


def test_withdrawn_is_false_while_anything_stands():
    contracts = {"pay": contract(compensation=UNDO), "mail": contract(compensation=UNDO)}
    history = [past("pay", "settled", at=0), past("mail", "settled", at=0)]
    model = Model(template(contracts, history, ends=("completed", "withdrawn")))
    half = play(model, 0, Compensate("pay", "u"), Finish("withdrawn"), shield=False)
    assert judged(model.template, half).claim_holds is False
    whole = play(model, 0, Compensate("pay", "u"), Compensate("mail", "u"), Finish("withdrawn"), shield=False)
    assert judged(model.template, whole).claim_holds is True


def test_each_way_answers_as_its_own_terms_say():
    """A receipt tells of acceptance alone, a final answer of the effect; sending and undoing may differ in it."""
    receipt = CompensationTerms(attempts="settle", response="receipt", arrival=0, commit_bound=0)
    for sending, undoing, expected in (
        (contract(response="receipt", compensation=UNDO), UNDO, ["accepted at 1", "settled at 1"]),
        (contract(compensation=receipt), receipt, ["settled at 1", "accepted at 1"]),
    ):
        assert sending.compensation == undoing
        model = Model(template({"pay": sending}, []))
        trajectory = play(model, 0, Attempt("pay", "n"), Compensate("pay", "u"), Stop(), shield=False)
        assert answers_of(trajectory)[:2] == expected
        assert [(entry.landed, entry.undone) for entry in trajectory.ledger] == [(1, 1)]
        judged(model.template, trajectory)


def test_sending_and_undoing_have_fees_of_their_own():
    undo = CompensationTerms(attempts="settle", response="final", fee=4)
    model = Model(template({"pay": contract(fee=3, compensation=undo)}, [past("pay", "settled", at=0)]))
    assert judged(model.template, play(model, 0, Compensate("pay", "u"), Stop(), shield=False)).fee == 4
    assert judged(model.template, play(model, 0, Attempt("pay", "n"), Stop(), shield=False)).fee == 3
    both = play(model, 0, Attempt("pay", "n"), Compensate("pay", "u"), Stop(), shield=False)
    assert judged(model.template, both).fee == 7


def test_the_history_of_nothing_and_of_a_key_refused_and_then_accepted():
    exact = QueryTerms(scope="history", authority="authoritative", lag=0)
    empty = Model(template({"pay": contract(query=exact)}, []))
    assert answers_of(play(empty, 0, Query("pay"), Stop()))[0] == "nothing"
    slow = contract(attempts="may_fail", response="receipt", commit_bound=2, query=exact)
    refused = PastRequest(id="pay1", does=("pay",), key="k-pay", sent=0, answer="rejected")
    model = Model(template({"pay": slow}, [refused]))
    later = next(
        n
        for n, w in enumerate(model.worlds)
        if str(w.services["pay"]) == "lands+2" and w.fates["pay1"].kind == "rejected"
    )
    trajectory = play(model, later, Query("pay"), Attempt("pay", "k-pay"), Query("pay"), Stop(), shield=False)
    assert answers_of(trajectory)[:3] == ["k-pay rejected", "accepted at 1", "k-pay accepted"]
