"""Violations, certificate, terminals, refusals and the adjudicator (outcome protocol, sections 2 and 3)."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from outcome_builders import contract, past, play, template, world_with

import pytest_episem.outcomes.adjudicator as adjudicator_module
from pytest_episem.outcomes.actions import Attempt, Compensate, Finish, HandOff, Query, Revalidate, Step, Stop, Wait
from pytest_episem.outcomes.adjudicator import adjudicate, disagreements
from pytest_episem.outcomes.certificate import certified
from pytest_episem.outcomes.episode import Episode
from pytest_episem.outcomes.model import (
    Approval,
    AuthorizationTerms,
    CompensationTerms,
    Obligation,
    PastRequest,
    QueryTerms,
    RenewalTerms,
)
from pytest_episem.outcomes.refusal import refusal
from pytest_episem.outcomes.shield import admissible
from pytest_episem.outcomes.support import Belief, Model
from pytest_episem.outcomes.verdict import Verdict, Violation
from pytest_episem.outcomes.world import Fate

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
    """One payment settled; another, without bounds, may land at H: the goal holds at the deadline and not after."""
    second = past("pay", id="pay2", key="other", sent=1)
    model = Model(template({"pay": contract(commit_bound=None)}, [past("pay", "settled", at=0), second]))
    at_the_end = world_with(model, pay2=Fate("effective", 1, model.template.horizon))
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
    assert ours == {f"pytest_episem.outcomes.{name}" for name in ("actions", "model", "verdict", "world")}


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
