"""Second trouble: what is sent in the recovery may itself get no answer, by hand (workflow protocol, section 1)."""

from __future__ import annotations

import pytest
from workflow_builders import answers_of, contract, past, play, template

from pytest_episem.workflows.actions import Attempt, Finish, Query, Stop, Wait
from pytest_episem.workflows.bank.load import WorkflowBank
from pytest_episem.workflows.certificate import certified
from pytest_episem.workflows.contract_words import contract_texts, served_text
from pytest_episem.workflows.controllers.exhaustive import Exhaustive
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.fates import again_of
from pytest_episem.workflows.goal import goal_text
from pytest_episem.workflows.model import AgainTerms, QueryTerms, Template
from pytest_episem.workflows.shield import admissible
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.words import truth_texts, unknown_texts
from pytest_episem.workflows.world import Again

COUNT = QueryTerms(scope="state", authority="authoritative", lag=0)
AT_ONCE = AgainTerms(arrival=0, commit_bound=0)


def lossy(again: AgainTerms = AT_ONCE, history: list[object] | None = None, **terms: object) -> Template:
    return template({"pay": contract(again=again, **terms)}, history or [])


def in_mode(model: Model, mode: str) -> int:
    return next(n for n, world in enumerate(model.worlds) if str(world.again["pay"]) == mode)


def test_every_mode_is_in_the_support():
    work = lossy()
    names = [str(mode) for mode in again_of(work, "pay")]
    assert names == ["none", "first lost", "first landed+0", "second lost", "second landed+0"]
    assert [str(world.again["pay"]) for world in Model(work).worlds] == names
    wide = lossy(AgainTerms(arrival=1, commit_bound=1))
    first = [str(mode) for mode in again_of(wide, "pay") if mode.attempt == 1]
    assert first == ["first lost", "first landed+0", "first landed+1", "first landed+1+1", "first landed+1+2"]
    assert again_of(template({"pay": contract()}, []), "pay") == []


@pytest.mark.parametrize(
    ("mode", "answers", "effects"),
    [
        ("none", ["settled at 1", "settled at 1", "settled at 1"], 3),
        ("first lost", ["timeout", "settled at 1", "settled at 1"], 2),
        ("first landed+0", ["timeout", "settled at 1", "settled at 1"], 3),
        ("second lost", ["settled at 1", "timeout", "settled at 1"], 2),
        ("second landed+0", ["settled at 1", "timeout", "settled at 1"], 3),
    ],
)
def test_trouble_strikes_once_and_the_adjudicator_agrees(mode, answers, effects):
    model = Model(lossy())
    sends = [Attempt("pay", f"n{number}") for number in range(3)]
    trajectory = play(model, in_mode(model, mode), *sends, Stop(), shield=False)
    assert answers_of(trajectory)[:3] == answers
    assert len(trajectory.ledger) == effects


def test_a_certificate_never_counts_an_unanswered_attempt():
    model = Model(lossy(query=COUNT))
    unanswered = model.step(model.root, Attempt("pay", "n"))["timeout"]
    assert not certified(model, unanswered, "completed")
    assert not admissible(model, unanswered, Attempt("pay", "m"))  # it may have landed
    seen = model.step(unanswered, Query("pay"))
    assert certified(model, seen["count 1"], "completed")
    assert admissible(model, seen["count 0"], Attempt("pay", "m"))


def test_a_remembered_key_answers_for_what_got_no_answer():
    model = Model(lossy(deduplication=9))
    unanswered = model.step(model.root, Attempt("pay", "n"))["timeout"]
    again = Attempt("pay", "n")
    assert admissible(model, unanswered, again)
    assert list(model.step(unanswered, again)) == ["settled at 1"]
    assert certified(model, model.step(unanswered, again)["settled at 1"], "completed")


def test_the_bound_of_later_attempts_is_one_of_their_own():
    """What is answered lands at once. What is not may arrive an instant later and land another one later: asked at t2
    it may still be under way, asked at t3 it is settled."""
    model = Model(lossy(AgainTerms(arrival=1, commit_bound=1), query=COUNT))
    belief = model.step(model.root, Attempt("pay", "n"))["timeout"]
    second = model.step(model.step(belief, Wait(1))[""], Query("pay"))["count 0"]
    assert not admissible(model, second, Attempt("pay", "m"))
    third = model.step(model.step(second, Wait(1))[""], Query("pay"))["count 0"]
    assert admissible(model, third, Attempt("pay", "m"))


def test_without_a_bound_it_may_land_when_the_key_is_forgotten():
    """Sent again under the same key, remembered for 3 from t1: the unanswered one may arrive at 4 or after the end."""
    model = Model(lossy(AgainTerms(), deduplication=3))
    belief = model.step(model.root, Attempt("pay", "n"))["timeout"]
    assert not admissible(model, belief, Attempt("pay", "n"))
    assert model.template.tail.late
    late = [world.again["pay"] for world in model.worlds if world.again["pay"].arrives + 1 > 5]
    assert late
    assert model.template.horizon > max(mode.lands for mode in late) + 4


@pytest.mark.parametrize(
    "terms",
    [{"query": COUNT}, {"deduplication": 2}, {"attempts": "may_fail", "query": COUNT}, {"query": COUNT, "fee": 2}],
)
def test_joint_planning_is_exact_in_second_trouble(terms):
    model = Model(template({"pay": contract(again=AT_ONCE, **terms)}, [past("pay")], deadline=4))
    plan = Joint(model).plan(model.root)
    assert plan.exact
    assert plan.value == Exhaustive(model).value(model.root)


def test_it_is_told_in_words():
    words = dict(contract_texts(contract(again=AgainTerms(arrival=0, commit_bound=2))))
    assert words["again"] == (
        "one of the first two requests sent now may get no answer: lost, or arrived at once, "
        "its effect within 2 instants"
    )
    unbounded = dict(contract_texts(contract(again=AgainTerms())))["again"]
    assert unbounded.endswith("lost, or arrived at any later time, with no bound on its effect")
    model = Model(lossy())
    assert unknown_texts(model.template, model.worlds) == [
        "new requests, pay: the first is lost, the first gets no answer and has its effect at once, the second is "
        "lost, the second gets no answer and has its effect at once or none is lost"
    ]
    truth = model.worlds[in_mode(model, "first lost")]
    assert truth_texts(model.template, truth, model.worlds) == ["new requests, pay: the first is lost"]
    assert truth.again == {"pay": Again("lost", 1)}


def test_what_is_sent_now_is_not_said_to_be_always_answered_where_it_may_be_lost_again():
    always = "What you send now arrives at once and is always answered; "
    assert served_text(template({"pay": contract()}, [])).startswith(always)
    one = template({"pay": contract(again=AT_ONCE), "mail": contract()}, [])
    lost = "requests of pay may be lost, come late or get no answer"
    excepted = f"What you send now arrives at once and is answered, except that one of the first two {lost}; "
    assert served_text(one).startswith(excepted)
    assert excepted in goal_text(one)
    both = template({"pay": contract(again=AT_ONCE), "mail": contract(again=AT_ONCE)}, [])
    assert "one of the first two requests of each of pay and mail may be lost" in served_text(both)


def test_at_least_six_shipped_workflows_have_it_and_play_each_kind(bank: WorkflowBank):
    found = [
        workflow for workflow in bank.workflows.values() if any(c.again for c in workflow.template.contracts.values())
    ]
    assert len(found) >= 6
    for workflow in found:
        kinds = {mode.kind for world in workflow.assignments.values() for mode in world.again.values()}
        assert kinds == {"none", "lost", "landed"}


def test_a_resend_that_gets_no_answer_is_found_out_by_hand():
    """Asked: nothing there. Sent: no answer. Asked again: it is there, so the claim is certain; sent once, fee 1."""
    model = Model(lossy(history=[past("pay")], query=COUNT, fee=1))
    world = next(
        n
        for n, world in enumerate(model.worlds)
        if str(world.again["pay"]) == "first landed+0" and world.fates["pay1"].kind == "never_arrived"
    )
    trajectory = play(model, world, Query("pay"), Attempt("pay", "n"), Query("pay"), Finish("completed"))
    assert answers_of(trajectory) == ["count 0", "timeout", "count 1", ""]
    assert (trajectory.verdict.terminal, trajectory.verdict.fee) == ("completed", 1)
