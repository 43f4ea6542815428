"""The numbers of the workflow suite, worked by hand on one small template (see ``workflow_runs``).

Joint planning certifies both cases: fee 1 + 3 = 4, actions 1 + 2 = 3, no time. The rules here wait one instant and ask
in ``landed`` (fee 1, actions 2, time 1) and hand off at once in ``lost`` (fee 0, actions 1).
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from workflow_runs import (
    ASK,
    BANK,
    DESK,
    DONE,
    JOINT,
    PAY,
    RULES,
    STOP,
    altered,
    header,
    joint,
    record,
    run,
    with_faults,
)

from pytest_episem.workflows.actions import Wait
from pytest_episem.workflows.check import judge
from pytest_episem.workflows.summary import (
    ALL,
    Row,
    TemplateCount,
    comparable,
    comparison,
    cost,
    losses,
    savings,
    summarize_workflows,
    table,
)


def rules():
    about = {"selection": (0.001,), "seconds": 0.002, "nodes": 0}
    return [record("landed", Wait(1), ASK, DONE, **about), record("lost", DESK, **about)]


def summary(records, about=None, torn=False, banks=(BANK,)):
    found = run(records, about, torn)
    return summarize_workflows(found, judge(found, banks))


def both():
    return [("joint", summary(joint())), ("rules", summary(rules(), header(RULES)))]


def counts(row: Row) -> dict[str, object]:
    kept = (
        "runs",
        "certified",
        "goal",
        "new",
        "handed_off",
        "withdrawn",
        "unknown",
        "claims",
        "fee",
        "actions",
        "time",
    )
    return {name: value for name in (*kept, "false_certificates", "refuted") if (value := getattr(row, name))}


def test_a_run_s_totals():
    found = summary(joint())
    assert counts(found.row) == {"runs": 2, "certified": 2, "goal": 2, "fee": 4, "actions": 3}
    assert counts(summary(rules(), header(RULES)).row) == {
        "runs": 2, "certified": 1, "goal": 1, "handed_off": 1, "fee": 1, "actions": 3, "time": 1,
    }  # fmt: skip
    assert (found.coverage, found.missing, found.refuted, found.replayed) == (1.0, (), {}, True)


def test_a_hand_off_is_no_failure_and_its_goal_is_judged_apart():
    found = summary([record("landed", DESK), record("lost", STOP)])
    assert counts(found.row) == {"runs": 2, "goal": 1, "handed_off": 1, "unknown": 1, "actions": 1}
    assert found.row.certifiable == 0


def test_an_end_without_the_claim_that_was_certain_is_flagged():
    assert summary([record("landed", ASK, DESK)]).row.certifiable == 1


def test_harm_and_false_claims_with_the_shield_off():
    """Paying again where the first payment landed makes a duplicate, and claiming in ``lost`` is false."""
    records = [record("landed", PAY, DONE, shield=False), record("lost", DONE, shield=False)]
    row = summary(records, header(shield=False)).row
    assert counts(row) == {
        "runs": 2, "claims": 2, "new": 1, "false_certificates": 2, "fee": 2, "actions": 1,
    }  # fmt: skip


def test_refused_proposals_are_counted():
    row = summary([record("lost", PAY, PAY, ASK, PAY, DONE)]).row
    assert (row.refusals, row.unsafe, row.false_claims, row.not_offered) == (2, 2, 0, 0)


def test_a_refuted_record_is_a_run_and_nothing_else():
    records = [joint()[0], record("lost", ASK, PAY, DONE, faults=("odd",))]
    found = summary(records)
    assert counts(found.row) == {"runs": 2, "refuted": 1, "certified": 1, "goal": 1, "fee": 1, "actions": 1}
    assert found.refuted == {"some/work/lost": ("found when it was recorded: odd",)}
    assert found.row.selection == [0.010, 0.030]
    assert found.templates == {"some/work": TemplateCount(2, 2, 1)}


def test_what_is_missing_is_named_and_never_filled_in():
    found = summary(joint()[:1], torn=True)
    assert (found.missing, found.coverage, found.torn) == (("some/work/lost",), 0.5, True)
    assert counts(found.row) == {"runs": 1, "certified": 1, "goal": 1, "fee": 1, "actions": 1}
    assert found.templates == {"some/work": TemplateCount(planned=2, recorded=1, certified=1)}


def test_a_run_without_any_record():
    found = summary([])
    assert (found.coverage, len(found.missing), counts(found.row)) == (0.0, 2, {})
    assert found.row.computation["median_ms"] is None
    assert summary([], header(planned=[])).coverage == 1.0


def test_a_run_that_kept_no_times_has_none():
    records = [record("landed", ASK, DONE, selection=(), seconds=0.5)]
    assert summary(records).row.computation == {
        "episode_ms": None,
        "selection_ms": None,
        "decisions": None,
        "median_ms": None,
        "p95_ms": None,
        "cutoffs": 0,
        "fallbacks": 0,
        "nodes": 7,
    }


def test_a_run_is_replayed_only_if_every_record_was():
    found = run(joint())
    judged = judge(found, (BANK,))
    assert summarize_workflows(found, judged).replayed
    assert not summarize_workflows(found, [judged[0], replace(judged[1], replayed=False)]).replayed
    assert not summary(joint(), banks=()).replayed
    assert summary([]).replayed  # nothing is left unplayed


def test_computation_in_milliseconds():
    """Four decisions of 10, 30, 10, 30 ms: 80 in all, the middle two 10 and 30; two episodes of 50."""
    assert summary(joint()).row.computation == {
        "episode_ms": pytest.approx(100),
        "selection_ms": pytest.approx(80),
        "decisions": 4,
        "median_ms": pytest.approx(20),
        "p95_ms": pytest.approx(30),
        "cutoffs": 0,
        "fallbacks": 0,
        "nodes": 14,
    }


@pytest.mark.parametrize(
    ("many", "median", "p95"), [(1, 1, 1), (19, 10, 19), (20, 10.5, 19), (21, 11, 20), (100, 50.5, 95)]
)
def test_the_95th_percentile_is_the_smallest_that_95_of_100_do_not_exceed(many, median, p95):
    row = Row("a")
    row.add(record("lost", DESK, selection=tuple(n / 1000 for n in range(many, 0, -1))), refuted=False)
    assert row.computation["median_ms"] == pytest.approx(median)
    assert row.computation["p95_ms"] == pytest.approx(p95)


def test_cut_offs_fall_backs_and_nodes_are_sums():
    records = [
        record("landed", ASK, DONE, cutoffs=2, fallbacks=3, nodes=5),
        record("lost", DESK, cutoffs=1, fallbacks=4, nodes=6),
    ]
    found = summary(records).row.computation
    assert (found["cutoffs"], found["fallbacks"], found["nodes"]) == (3, 7, 11)


def test_a_certified_withdrawal_is_counted_as_one_and_as_no_completion():
    """Totals over what records say of themselves: both cases withdrawn, the second found at fault."""
    one = record("landed", DESK)
    verdict = replace(one.judged.trajectory.verdict, terminal="withdrawn", goal=False, claim_holds=True)
    withdrawn = altered(one, verdict=verdict)
    row = table([(JOINT, withdrawn), (JOINT, with_faults(withdrawn, "odd"))])[JOINT]
    assert counts(row) == {"runs": 2, "withdrawn": 1, "actions": 1, "refuted": 1}


def test_savings_of_joint_planning_by_hand():
    """Fee 1 + 0 - 4 = -3, actions 3 - 3 = 0; one of two cases ends alike; joint spends 80 ms choosing, the rules 2."""
    found = savings(both())
    assert [saving.template for saving in found] == ["some/work", ALL]
    one = found[0]
    assert (one.planned, one.cases, one.alike, one.fee, one.actions) == (2, 2, 1, -3, 0)
    assert one.seconds == pytest.approx(0.078)
    assert one.break_even is None


def test_the_break_even_is_extra_seconds_a_saved_unit_of_fee():
    dearer = [record("landed", ASK, ASK, ASK, DONE, selection=(0.01,) * 4), rules()[1]]
    found = savings([("joint", summary(joint()[:1])), ("rules", summary(dearer, header(RULES)))])[0]
    assert (found.cases, found.fee, found.actions) == (1, 2, 2)
    assert (found.seconds, found.break_even) == (pytest.approx(0), None)
    slow = [record("landed", ASK, DONE, selection=(0.2, 0.04))]
    found = savings([("joint", summary(slow)), ("rules", summary(dearer, header(RULES)))])[0]
    assert (found.seconds, found.break_even) == (pytest.approx(0.2), pytest.approx(0.1))


def test_the_break_even_of_one_unit_of_fee():
    dearer = [record("landed", ASK, ASK, DONE, selection=(0.01,))]
    found = savings([("joint", summary(joint()[:1])), ("rules", summary(dearer, header(RULES)))])[0]
    assert (found.fee, found.seconds, found.break_even) == (1, pytest.approx(0.03), pytest.approx(0.03))


def test_savings_are_those_beside_the_capability_rules_whatever_else_was_run():
    ours, theirs = both()
    other = ("mine", summary([record("landed", ASK, ASK, ASK, DONE)], header("mine")))
    assert savings([ours, other, theirs]) == savings([ours, theirs])
    assert savings([ours, other]) == []


def test_savings_leave_refuted_and_missing_cases_out():
    odd = [rules()[0], record("lost", DESK, faults=("odd",))]
    one = savings([("joint", summary(joint())), ("rules", summary(odd, header(RULES)))])[0]
    assert (one.planned, one.cases, one.alike, one.fee, one.actions) == (2, 1, 1, 0, 1)


def test_savings_without_times():
    plain = [record("landed", ASK, DONE, selection=()), record("lost", ASK, PAY, DONE, selection=())]
    one = savings([("joint", summary(plain)), both()[1]])[0]
    assert (one.fee, one.seconds, one.break_even) == (-3, None, None)


def test_savings_without_a_case_in_both_runs_have_no_time():
    one = savings([("joint", summary(joint()[:1])), ("rules", summary(rules()[1:], header(RULES)))])[0]
    assert (one.planned, one.cases, one.alike, one.fee, one.actions) == (2, 0, 0, 0, 0)
    assert (one.seconds, one.break_even) == (None, None)


def test_losses_are_single_cases_in_which_another_does_better():
    """In ``landed`` stop ends unknown with the goal reached: worse, whatever it costs; rules take longer. Only where
    another is certified for less, joint loses."""
    slow = [record("landed", Wait(1), ASK, DONE), record("lost", ASK, ASK, PAY, DONE)]
    quick = [record("landed", ASK, DONE), record("lost", STOP)]
    found = losses([("joint", summary(slow)), ("mine", summary(quick, header("mine")))])
    assert [(loss.case, loss.other, loss.cost, loss.joint) for loss in found] == [
        ("some/work/landed", "mine", (0, 0, 0, 0, 1, 1, 0), (0, 0, 0, 0, 1, 2, 1))
    ]
    assert str(found[0]) == "some/work/landed: mine (0, 0, 0, 0, 1, 1, 0), joint (0, 0, 0, 0, 1, 2, 1)"
    assert found[0].to_dict() == {
        "case": "some/work/landed",
        "other": "mine",
        "cost": [0, 0, 0, 0, 1, 1, 0],
        "joint": [0, 0, 0, 0, 1, 2, 1],
    }


def test_a_refuted_record_wins_nothing():
    slow = [record("landed", Wait(1), ASK, DONE)]
    forged = [record("landed", ASK, DONE, faults=("odd",))]
    assert losses([("joint", summary(slow)), ("mine", summary(forged, header("mine")))]) == []


def test_the_planner_s_vector():
    verdicts = [r.judged.trajectory.verdict for r in (*joint(), *rules(), record("lost", STOP))]
    assert [cost(v) for v in verdicts] == [
        (0, 0, 0, 0, 1, 1, 0),
        (0, 0, 0, 0, 3, 2, 0),
        (0, 0, 0, 0, 1, 2, 1),
        (1, 0, 1, 1, 0, 1, 0),
        (1, 1, 0, 1, 0, 0, 0),
    ]


def test_only_runs_on_the_same_terms_are_compared():
    ours, theirs = both()
    other = ("worlds", summary([], header(RULES, planned=["some/work/world-0"], cases="worlds")))
    unshielded = ("off", summary([], header(RULES, shield=False)))
    assert [name for name, _ in comparable([theirs, other, unshielded, ours])] == ["joint", "rules"]
    assert comparable([theirs]) == []
    assert savings([ours, other]) == savings([theirs]) == losses([theirs]) == []


def test_totals_of_records_that_nobody_judges_again():
    rows = table([*((JOINT, one) for one in joint()), *((RULES, one) for one in rules())])
    assert list(rows) == [JOINT, RULES]
    assert counts(rows[JOINT]) == {"runs": 2, "certified": 2, "goal": 2, "fee": 4, "actions": 3}


def test_the_json_form_holds_every_number_and_its_denominators():
    document = json.loads(json.dumps(summary(joint()[:1]).to_dict()))
    assert document["coverage"] == {
        "planned": 2, "recorded": 1, "missing": ["some/work/lost"], "torn": False, "replayed": True, "refuted": {},
    }  # fmt: skip
    assert document["results"] == {
        "runs": 1, "certified": 1, "goal": 1, "new": 0, "handed_off": 0, "withdrawn": 0, "unknown": 0, "claims": 0,
        "fee": 1, "actions": 1, "time": 0, "false_certificates": 0, "refuted": 0, "certifiable": 0, "refusals": 0,
        "unsafe": 0, "false_claims": 0, "not_offered": 0, "unapproved": 0, "proposals": 2, "faulty": 0,
        "given_up": 0, "certain": 1, "unmet": 0,
    }  # fmt: skip
    assert document["templates"] == {"some/work": {"planned": 2, "recorded": 1, "certified": 1}}
    assert document["run"]["shield"] is True
    assert document["usage"] == {"requests": 0, "prompt_tokens": 0, "completion_tokens": 0}
    assert set(document) == {"run", "coverage", "results", "usage", "computation", "templates"}
    found = json.loads(json.dumps(comparison(both())))
    assert [line["template"] for line in found["savings"]] == ["some/work", "all templates"]
    assert found["losses"] == []
