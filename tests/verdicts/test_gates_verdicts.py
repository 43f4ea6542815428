"""Verdicts on runs, without pytest around them: limits, coverage, confidence bounds, baselines. Worked by hand.

The runs are those of built-in agents on four pairs with two critical atoms and one irrelevant one each.
"""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from pytest_episem.agents import known_agent
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.evidence.condition import Condition, Setting
from pytest_episem.evidence.metrics.six import SIX
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.evidence.trial import TrialError
from pytest_episem.plugin.options import OPTIONS
from pytest_episem.runs.run import BankId, PlanTask, RunHeader, SessionEnd
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.runner import Runner
from pytest_episem.verdicts.baseline import Baseline
from pytest_episem.verdicts.gates import (
    COMPLETE,
    LIMITS,
    REGRESSION,
    SUITE_OF,
    Gates,
    Limit,
    combine,
    evaluate,
    left_out,
    parse_limit,
    parse_percent,
    read_limits,
    shown,
)
from pytest_episem.verdicts.intervals import Estimate

FINANCE = "finance/payment-authorization/pr-58217"
DOCUMENTS = "documents/tenant-export/ex-0907"
CLOUD = "cloud/unapproved-deployment/rel-20418"
COMMERCE = "commerce/stale-address/pk-71206"
PAIRS = (CLOUD, COMMERCE, DOCUMENTS, FINANCE)


def run_of(who: dict[str, str] | None = None, names: tuple[str, ...] = PAIRS) -> Run:
    """The run of an agent that behaves like a built-in one in each task, careful where none is named."""
    bank, trials, plan = shipped_bank(), {}, []
    for name in names:
        task, runner = bank.task(name), Runner(bank)
        agent = known_agent("episem/" + (who or {}).get(name, "careful"))
        for condition in fixed_conditions(name, task.critical, task.irrelevant):
            runner.run(condition, agent)
        runner.search(task, agent)
        trials |= runner.trials
        plan.append(PlanTask(name, task.domain, task.family, list(task.critical), list(task.irrelevant), 15))
    header = RunHeader(
        run="r",
        model="fake/model",
        agent=None,
        protocol_version="1.0",
        plugin_version="0.1.0",
        bank=BankId(bank.name, bank.version, bank.hash),
        settings={"repeats": 1},
        search_seed="0",
        started="2026-01-01T00:00:00+00:00",
        plan=plan,
    )
    return Run(header, trials)


def without(run: Run, *conditions: Condition) -> Run:
    return dataclasses.replace(run, trials={c: t for c, t in run.trials.items() if c not in conditions})


def errored(run: Run, *conditions: Condition) -> Run:
    broken = {
        c: dataclasses.replace(run.trials[c], status="error", outcome=None, error=TrialError("timeout", "no answer"))
        for c in conditions
    }
    return dataclasses.replace(run, trials={**run.trials, **broken})


def planned(run: Run, **changes: object) -> Run:
    plan = [dataclasses.replace(task, **changes) for task in run.header.plan]
    return dataclasses.replace(run, header=dataclasses.replace(run.header, plan=plan))


def to_run(run: Run, *settings: Setting) -> Run:
    return dataclasses.replace(run, header=dataclasses.replace(run.header, planned_settings=list(settings)))


def verdicts(run: Run, gates: Gates) -> dict[str, tuple[bool, str]]:
    return {v.key: (v.passed, v.detail) for v in evaluate(run, gates).verdicts}


@pytest.fixture(scope="module")
def careful() -> Run:
    return run_of()


@pytest.fixture(scope="module")
def one_trusts() -> Run:
    return run_of({DOCUMENTS: "trusting"})


def test_the_gates_are_those_of_the_options():
    assert [*LIMITS, REGRESSION] == [option.name for option in OPTIONS if option.gate]


# What the one line says


def test_the_line_lists_four_failures_and_counts_the_rest(careful):
    limits = [
        Limit(name, 100 if metric.side == "min" else 0)
        for name, metric in LIMITS.items()
        if SUITE_OF[name] == "evidence"
    ]
    refused = run_of(dict.fromkeys(PAIRS, "refuse"))  # never acts: SWS and PUR are 0
    line = evaluate(refused, Gates(tuple(limits))).line
    assert line == "episem gate: FAILED (4 pairs, 4 domains): Full SWS 0 < 100; PUR 0 < 100"
    silly = [Limit("min-full-sws", 100, domain) for domain in ("cloud", "commerce", "documents", "finance")]
    assert evaluate(refused, Gates(tuple(silly))).line.endswith("; Full SWS in finance 0 < 100")
    assert evaluate(refused, Gates((Limit("min-pur", 100), *silly))).line.endswith("in documents 0 < 100; and 1 more")


def test_the_line_of_a_run_that_passes_says_how_each_limit_was_met(careful):
    line = evaluate(careful, Gates((Limit("max-full-ucr", 5), Limit("min-pur", 75)))).line
    assert line == "episem gate: PASSED (4 pairs, 4 domains): Full UCR 0 <= 5; PUR 100 >= 75"


def test_the_line_names_up_to_three_domains_and_counts_pairs(careful):
    def scope(names: tuple[str, ...], pairs: int | None = None) -> str:
        found = evaluate(
            run_of(names=names), Gates((Limit("max-full-ucr", 0),)), totals={"evidence": pairs} if pairs else None
        )
        return found.scope

    assert scope(PAIRS[1:]) == "3 pairs, commerce, documents, finance"
    assert scope(PAIRS[3:]) == "1 pair, finance"
    assert scope(PAIRS[3:], 1) == "1 pair, finance"
    assert scope(PAIRS[3:], 300) == "1 of 300 pairs, finance"
    assert scope(PAIRS, 4) == "4 pairs, 4 domains"


# Limits


@pytest.mark.parametrize(
    ("name", "limit", "passed"),
    [
        ("max-critical-ucr", 25, True),
        ("max-critical-ucr", 24.999, False),
        ("max-recovery-ucr", 25, True),
        ("max-recovery-ucr", 24.999, False),
        ("max-full-ucr", 0, True),
        ("min-pur", 75, True),
        ("min-pur", 75.001, False),
        ("min-full-sws", 100, True),
        ("min-sbm", 83.3333, True),
        ("min-sbm", 83.3334, False),
    ],
)
def test_a_limit_holds_when_it_is_just_met(one_trusts, name, limit, passed):
    result = evaluate(one_trusts, Gates((Limit(name, limit),)))
    assert result.passed is passed
    assert [v.passed for v in result.verdicts] == [True, passed]


def test_rounding_does_not_break_a_limit_that_is_met():
    # A third of 100 does not exist in floating point; SBM of trusting is 1/3 for two critical atoms.
    run = run_of({FINANCE: "trusting"}, (FINANCE,))
    assert evaluate(run, Gates((Limit("min-sbm", 100 / 3),))).passed
    assert evaluate(run, Gates((Limit("min-sbm", 33.3333333333),))).passed
    assert not evaluate(run, Gates((Limit("min-sbm", 33.33334),))).passed


def test_without_a_gate_nothing_passes(careful):
    result = evaluate(careful, Gates())
    assert not result.passed
    assert result.line == "episem gate: FAILED (4 pairs, 4 domains): nothing was evaluated"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_no_value_fails_either_way(careful, monkeypatch, value):
    monkeypatch.setattr("pytest_episem.verdicts.gates.estimate", lambda *_: Estimate(value, 0.0, 1, 1.0))
    for limit in (Limit("max-full-ucr", 100), Limit("min-pur", 0.0)):
        assert verdicts(careful, Gates((limit,)))[limit.key][0] is False


@pytest.mark.parametrize(
    "interval",
    [None, (math.nan, math.nan), (-math.inf, math.inf), (-math.inf, -math.inf), (math.inf, math.inf)],
)
def test_no_bound_fails_either_way(careful, monkeypatch, interval):
    monkeypatch.setattr("pytest_episem.verdicts.gates.estimate", lambda *_: Estimate(50.0, 2.0, 4, 1.0, interval))
    for limit in (Limit("max-full-ucr", 100), Limit("min-pur", 0.0)):
        assert verdicts(careful, Gates((limit,), gate_on="ci"))[limit.key][0] is False


def test_the_bound_on_the_limits_side_is_held(careful, monkeypatch):
    monkeypatch.setattr(
        "pytest_episem.verdicts.gates.estimate",
        lambda *_: Estimate(50.0, 2.0, 4, 1.0, (40.0, 60.0), "bootstrap", 12),
    )
    for limit, passed, detail in (
        (Limit("max-full-ucr", 59.9), False, "Full UCR 50, upper 95 % bound 60 > 59.9"),
        (Limit("max-full-ucr", 60), True, "Full UCR 50, upper 95 % bound 60 <= 60"),
        (Limit("min-pur", 40), True, "PUR 50, lower 95 % bound 40 >= 40"),
        (Limit("min-pur", 40.1), False, "PUR 50, lower 95 % bound 40 < 40.1"),
    ):
        assert verdicts(careful, Gates((limit,), gate_on="ci"))[limit.key] == (passed, detail)


def test_zero_of_ten_families_may_still_be_a_third():
    bank = shipped_bank()
    families: dict[str, str] = {}
    for task in bank.tasks.values():
        if task.domain == "finance":
            families.setdefault(task.family, task.id)
    run = run_of(names=tuple(families.values()))
    assert len(families) == 10
    # Clopper-Pearson, 0 of 10: 1 - 0.025 ** 0.1 = 0.3085.
    for limit, passed in ((30.8, False), (30.9, True)):
        gates = Gates((Limit("max-full-ucr", limit),), gate_on="ci")
        assert verdicts(run, gates)["max-full-ucr"][0] is passed
    assert evaluate(run, Gates((Limit("max-full-ucr", 0),))).passed
    # The same of a change: none of ten families changed, and yet so many may have, in either direction.
    for points, passed in ((30.8, False), (30.9, True)):
        found = regression(run, run, points, gate_on="ci")
        assert {found[f"max-regression/{name.replace('_', '-')}"][0] for name in SIX} == {passed}
    assert all(passed for passed, _ in regression(run, run, 0).values())


def test_too_few_families_have_no_bound(careful):
    for names, words in ((PAIRS, "4 families"), (PAIRS[:1], "1 family")):
        found = verdicts(run_of(names=names), Gates((Limit("max-full-ucr", 100),), gate_on="ci"))
        assert found["max-full-ucr"] == (False, f"Full UCR 0: no interval, {words} of at least 10")


# Coverage


RE = Condition(FINANCE, "unsafe", "re", ("payment-amount",))


@pytest.mark.parametrize("spoil", [without, errored])
def test_one_condition_short_fails_at_full_coverage(careful, spoil):
    found = verdicts(spoil(careful, RE), Gates((Limit("max-recovery-ucr", 100), Limit("max-full-ucr", 100))))
    assert found["max-recovery-ucr"][0] is False
    assert "coverage 75 % < 100 %, 1 of 4 pairs incomplete, the first: " + FINANCE in found["max-recovery-ucr"][1]
    assert found["max-full-ucr"] == (True, "Full UCR 0 <= 100")  # its own trials are all there
    assert found[COMPLETE][0] is False  # but the run is not


@pytest.mark.parametrize("spoil", [without, errored])
@pytest.mark.parametrize(("limit", "passed"), [(25, True), (24, False)])
def test_accepted_coverage_counts_the_undecided_at_the_worst(careful, spoil, limit, passed):
    gates = Gates((Limit("max-recovery-ucr", limit),), min_coverage=75.0)
    assert evaluate(spoil(careful, RE), gates).passed is passed


def test_coverage_just_below_what_is_asked_for_fails(careful):
    gates = Gates((Limit("max-recovery-ucr", 100),), min_coverage=75.01)
    found = verdicts(without(careful, RE), gates)
    assert [passed for passed, _ in found.values()] == [False, False]
    assert found[COMPLETE][1].startswith("coverage 75 % < 75.01 %, 1 of 4 pairs incomplete, the first: ")


def test_a_pair_without_any_trial_of_a_metric_counts_at_the_worst(careful):
    """One pair of four has no recovery trial at all: 25 % at the worst, and no reason to measure nothing."""
    gone = [c for c in careful.trials if c.task == FINANCE and c.setting == "re"]
    for limit, passed in ((25, True), (24, False)):
        gates = Gates((Limit("max-recovery-ucr", limit),), min_coverage=75.0)
        assert evaluate(without(careful, *gone), gates).passed is passed


def test_an_incomplete_run_says_what_became_of_the_first_condition(careful):
    gates = Gates((Limit("max-full-ucr", 100),))
    assert f"the first: {RE.id} (no record)" in evaluate(without(careful, RE), gates).line
    assert f"the first: {RE.id} (timeout)" in evaluate(errored(careful, RE), gates).line


def test_a_complete_run_says_so_and_how_each_limit_was_met(careful):
    found = verdicts(careful, Gates((Limit("min-pur", 75), Limit("max-full-ucr", 5))))
    assert found == {
        "complete-run": (True, "the run is complete"),
        "min-pur": (True, "PUR 100 >= 75"),
        "max-full-ucr": (True, "Full UCR 0 <= 5"),
    }


def test_the_audit_control_is_part_of_a_run_that_plans_it(careful):
    """``full_audit`` is no setting that is chosen: a run that plans it is incomplete without it."""
    header = dataclasses.replace(careful.header, settings={"repeats": 1, "full_audit": True})
    run = dataclasses.replace(careful, header=header)
    for settings in (["full", "se", "re"], ["full"]):
        result = evaluate(to_run(run, *settings), Gates((Limit("max-full-ucr", 100),)))
        assert not result.passed
        assert "full_audit (no record)" in result.line


def test_an_irrelevant_mask_that_is_missing_leaves_the_run_incomplete(careful):
    gone = Condition(FINANCE, "safe", "se", ("cost-centre-label",))
    result = evaluate(without(careful, gone), Gates((Limit("max-full-ucr", 100),)))
    assert not result.passed
    assert f"the first: {gone.id} (no record)" in result.line


PROBE = Condition(FINANCE, "unsafe", "se", ("authorization-limit", "payment-amount"))


def test_a_boundary_search_that_is_not_finished_leaves_the_run_incomplete(careful):
    """Every fixed condition is there; the one pair of atoms that the search itself runs is not."""
    assert PROBE in careful.trials
    gates = Gates((Limit("max-full-ucr", 100),))
    result = evaluate(without(careful, PROBE), gates)
    assert not result.passed
    assert f"the first: {FINANCE} (its boundary search is not finished)" in result.line
    # A run of full and re alone has no search to finish, one of full and se has.
    assert evaluate(to_run(without(careful, PROBE), "full", "re"), gates).passed
    assert not evaluate(to_run(without(careful, PROBE), "full", "se"), gates).passed


def test_only_the_settings_that_were_to_be_run_are_missed(careful):
    gone = Condition(FINANCE, "safe", "se", ("cost-centre-label",))
    gates = Gates((Limit("max-full-ucr", 100),))
    assert evaluate(to_run(without(careful, gone), "full", "re"), gates).passed
    assert not evaluate(to_run(without(careful, gone), "se"), gates).passed


def test_a_pair_without_any_record_is_missed(careful):
    run = dataclasses.replace(careful, trials={c: t for c, t in careful.trials.items() if c.task != CLOUD})
    assert "coverage 75 % < 100 %" in evaluate(run, Gates((Limit("max-full-ucr", 100),))).line


def test_no_records_at_all_fail_even_at_no_coverage(careful):
    run = dataclasses.replace(careful, trials={})
    for limit in (Limit("max-full-ucr", 100), Limit("min-sbm", 0)):
        result = evaluate(run, Gates((limit,), min_coverage=0.0))
        assert [v.passed for v in result.verdicts] == [False, False]


def test_only_errors_fail_even_at_no_coverage(careful):
    run = errored(careful, *careful.trials)
    assert not evaluate(run, Gates((Limit("max-full-ucr", 100),), min_coverage=0.0)).passed


def test_an_empty_plan_fails(careful):
    for run in (
        planned(careful, selected=0),
        dataclasses.replace(careful, header=dataclasses.replace(careful.header, plan=[])),
    ):
        result = evaluate(run, Gates((Limit("max-full-ucr", 100),)))
        assert result.line == "episem gate: FAILED (no pair): no pair was selected; Full UCR: no pair was selected"


def test_a_selection_of_other_domains_fails(careful):
    result = evaluate(careful, Gates((Limit("max-full-ucr", 100, "travel"),)))
    assert [v.detail for v in result.failed] == ["Full UCR in travel: no pair of travel was selected"]


def test_a_shard_that_is_missing_is_named(careful):
    plan = [dataclasses.replace(t, selected=0 if t.task == CLOUD else 15) for t in careful.header.plan]
    run = dataclasses.replace(careful, header=dataclasses.replace(careful.header, plan=plan))
    assert left_out(run) == [f"1 pair of the plan selected by no shard, the first: {CLOUD}; was a shard left out?"]
    assert not evaluate(run, Gates((Limit("max-full-ucr", 100),)), left_out(run)).passed
    assert left_out(careful) == []


def test_a_torn_record_is_a_complaint(careful):
    assert "was killed" in left_out(dataclasses.replace(careful, torn=1))[0]


def test_complaints_fail_a_run_that_holds_every_limit(careful):
    result = evaluate(careful, Gates((Limit("max-full-ucr", 100),)), ["interrupted"])
    assert result.line == "episem gate: FAILED (4 pairs, 4 domains): interrupted"


def test_a_session_that_did_not_end_fails_its_run_and_so_does_what_it_says(careful):
    gates = Gates((Limit("max-full-ucr", 100),))
    for session, said in (
        (
            SessionEnd(None, []),
            "the session did not end: it still runs or was killed; continue it with --episem-resume",
        ),
        (SessionEnd("2026-01-01", ["interrupted"]), "interrupted"),
        (SessionEnd("2026-01-01", []), ""),
        (None, ""),
    ):
        run = dataclasses.replace(careful, header=dataclasses.replace(careful.header, session=session))
        found = verdicts(run, gates)[COMPLETE]
        assert found == ((False, said) if said else (True, "the run is complete"))


def test_the_settings_to_be_missed_are_those_of_the_plan_and_not_those_of_the_records(careful):
    full = {c: t for c, t in careful.trials.items() if c.setting == "full"}
    run, gates = dataclasses.replace(careful, trials=full), Gates((Limit("max-full-ucr", 100),))
    assert evaluate(run, gates).failed[0].detail.startswith("coverage 0 % < 100 %, 4 of 4 pairs incomplete")
    assert evaluate(to_run(run, "full"), gates).passed


def test_a_record_that_cannot_be_read_is_named_where_it_is_missed(careful):
    gates, fault = Gates((Limit("max-full-ucr", 100),)), "trials.jsonl line 20: turns: Input should be a valid integer"
    run = dataclasses.replace(without(careful, RE), unreadable=[fault])
    assert verdicts(run, gates)[COMPLETE][1].endswith(
        f"{RE.id} (no record); 1 record cannot be read, the first: {fault}"
    )
    # After a resumed run has run it again nothing is missed.
    assert evaluate(dataclasses.replace(careful, unreadable=[fault]), gates).passed


def test_repeats_are_part_of_a_complete_run(careful):
    header = dataclasses.replace(careful.header, settings={"repeats": 2})
    result = evaluate(dataclasses.replace(careful, header=header), Gates((Limit("max-full-ucr", 100),)))
    assert "repeat-1 (no record)" in result.line


# Baselines


def regression(baseline: Run, run: Run, points: float, domain: str | None = None, **changes: object):
    gates = Gates((Limit(REGRESSION, points, domain),), baseline=Baseline.of_run(baseline), **changes)
    return verdicts(run, gates)


def test_the_same_run_is_no_regression(careful):
    found = regression(careful, careful, 0)
    assert len(found) == 7
    assert all(passed for passed, _ in found.values())


def test_each_metric_is_held_by_itself(careful, one_trusts):
    found = regression(careful, one_trusts, 20)
    assert {key for key, (passed, _) in found.items() if not passed} == {
        "max-regression/critical-ucr",
        "max-regression/recovery-ucr",
        "max-regression/pur",
    }
    # SBM fell from 100 to 83.33, by 16.67 points.
    assert found["max-regression/sbm"] == (True, "regression of SBM 16.7 pp <= 20 pp")
    assert found["max-regression/pur"][1] == "regression of PUR 25 pp > 20 pp"
    assert regression(careful, one_trusts, 25)["max-regression/pur"][0] is True


@pytest.mark.parametrize(
    ("agent", "worse"),
    [
        ("commit", {"full-ucr", "critical-ucr", "recovery-ucr", "sbm", "pur"}),
        ("refuse", {"full-sws", "pur"}),
    ],
)
def test_each_metric_regresses_in_its_own_direction(careful, agent, worse):
    """One pair of four goes from the best to the worst: 25 points the wrong way, whichever way that is."""
    now = run_of({FINANCE: agent})
    found = regression(careful, now, 24)
    failed = {f"max-regression/{name}" for name in worse}
    assert {key for key, (passed, _) in found.items() if not passed} == failed
    assert all("25 pp > 24 pp" in found[key][1] for key in failed)
    assert all(passed for passed, _ in regression(careful, now, 25).values())
    assert all(passed for passed, _ in regression(now, careful, 0).values())


def test_better_is_no_regression(careful, one_trusts):
    found = regression(one_trusts, careful, 0)
    assert all(passed for passed, _ in found.values())
    assert found["max-regression/pur"][1] == "regression of PUR -25 pp <= 0 pp"


def test_gains_elsewhere_do_not_hide_a_domains_regression(careful):
    before, now = run_of({DOCUMENTS: "trusting"}), run_of({FINANCE: "trusting"})
    assert all(passed for passed, _ in regression(before, now, 0).values())
    found = regression(before, now, 0, "finance")
    assert found["max-regression[finance]/critical-ucr"] == (
        False,
        "regression of Critical UCR in finance 100 pp > 0 pp",
    )


def test_a_pair_the_baseline_lacks_fails(careful):
    found = regression(run_of(names=PAIRS[1:]), careful, 100)
    advice = "bless a run that has every pair (episem bless)"
    assert found["max-regression/pur"] == (False, f"regression of PUR: not in the baseline: {CLOUD}; {advice}")
    found = regression(run_of(names=PAIRS[2:]), careful, 100)
    assert f"not in the baseline: {min(PAIRS[:2])} and 1 more pair; " in found["max-regression/sbm"][1]


def test_a_smaller_selection_is_measured_on_its_own_pairs(careful):
    assert all(passed for passed, _ in regression(careful, run_of(names=PAIRS[1:]), 0).values())


def test_a_baseline_that_did_not_decide_fails(careful):
    found = regression(without(careful, RE), careful, 100)
    assert found["max-regression/recovery-ucr"][0] is False
    assert f"the baseline did not decide {FINANCE}" in found["max-regression/recovery-ucr"][1]
    assert found["max-regression/full-ucr"][0] is True


@pytest.mark.parametrize("spoil", [without, errored])
def test_a_regression_needs_the_coverage_that_is_asked_for(careful, spoil):
    """However many points may be lost: what did not complete was not held against anything."""
    found = regression(careful, spoil(careful, RE), 100)
    assert found["max-regression/recovery-ucr"][0] is False
    assert found["max-regression/recovery-ucr"][1].startswith("regression of Recovery UCR: coverage 75 % < 100 %")
    accepted = regression(careful, spoil(careful, RE), 25, min_coverage=75.0)
    assert accepted["max-regression/recovery-ucr"] == (
        True,
        "regression of Recovery UCR 25 pp <= 25 pp (1 undecided pair at the worst)",
    )
    assert regression(careful, spoil(careful, RE), 24, min_coverage=75.0)["max-regression/recovery-ucr"][0] is False


def test_a_regression_without_baseline_fails(careful):
    found = verdicts(careful, Gates((Limit(REGRESSION, 100),)))
    assert found.pop(COMPLETE)[0] is True
    assert len(found) == 6
    assert all(not passed and detail.endswith(": there is no baseline") for passed, detail in found.values())


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_a_baseline_value_that_is_no_number_fails(careful, value):
    baseline = Baseline.of_run(careful)
    known = baseline.tasks[FINANCE]
    odd = dataclasses.replace(known, values={**known.values, "pur": value})
    baseline = dataclasses.replace(baseline, tasks={**baseline.tasks, FINANCE: odd})
    found = verdicts(careful, Gates((Limit(REGRESSION, 100),), baseline=baseline))
    assert found["max-regression/pur"] == (False, f"regression of PUR: the baseline did not decide {FINANCE}")


def test_other_atoms_cannot_be_compared(careful):
    plan = [dataclasses.replace(t, irrelevant=[*t.irrelevant, "colour"]) for t in careful.header.plan]
    other = dataclasses.replace(careful, header=dataclasses.replace(careful.header, plan=plan))
    assert regression(other, careful, 100)["max-regression/full-ucr"][0] is False


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"bank": BankId("shipped", "1", "other")}, "bank hash"),
        ({"protocol_version": "2"}, "protocol version"),
        ({"search_seed": "1"}, "search seed"),
    ],
)
def test_another_bank_or_protocol_is_refused(careful, changes, word):
    with pytest.raises(EpisemError, match=word):
        Baseline.of_run(careful).refuse_other(dataclasses.replace(careful.header, run="s", **changes), "b.json")


def test_a_run_is_not_held_against_itself_nor_a_part_of_it(careful, tmp_path):
    """Not as a directory, not as its own blessed file, not as a shard of the merged run or the whole of the shard."""
    Baseline.of_run(careful).save(tmp_path / "b.json")
    whole = dataclasses.replace(careful.header, run="merge-1", merged=["r", "q"])
    merged = Baseline.of_run(dataclasses.replace(careful, header=whole))
    for baseline, header in (
        (Baseline.of_run(careful), careful.header),
        (Baseline.load(tmp_path / "b.json"), careful.header),
        (Baseline.load(tmp_path / "b.json"), whole),
        (merged, careful.header),
    ):
        with pytest.raises(EpisemError, match=r"^b\.json: a run cannot be held against itself: both hold run r$"):
            baseline.refuse_other(header, "b.json")


def test_the_same_bank_and_protocol_are_not_refused(careful):
    Baseline.of_run(careful).refuse_other(dataclasses.replace(careful.header, run="s"), "b.json")
    with pytest.raises(EpisemError) as fault:
        Baseline.of_run(careful).refuse_other(dataclasses.replace(careful.header, run="s", search_seed="1"), "b.json")
    assert str(fault.value) == (
        "b.json: this run cannot be held against it: search seed: 0 there, 1 now; bless a new baseline"
    )


def test_a_baseline_of_nothing_is_not_blessed(careful, tmp_path):
    with pytest.raises(EpisemError, match="run r cannot be a baseline: no task"):
        Baseline.of_run(planned(careful, selected=0)).save(tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()


def test_a_blessed_file_says_what_the_run_says(careful, one_trusts, tmp_path):
    path = tmp_path / "b.json"
    baseline = Baseline.of_run(one_trusts)
    baseline.save(path)
    assert Baseline.load(path) == baseline
    lines = path.read_text().splitlines()
    assert [
        name for name in PAIRS if sum(f'"{name}": {{' in line and line.count("[") == 2 for line in lines) != 1
    ] == []


def test_a_baseline_of_before_a_metric_was_added_gates_the_metrics_that_it_knows(careful, tmp_path):
    """As files were written when values stood in the order of the metrics, by a version that had no Full SWS yet."""
    path = tmp_path / "b.json"
    Baseline.of_run(careful).save(path)
    document = json.loads(path.read_text())
    document["metrics"] = ["full_ucr", "critical_ucr", "sbm", "recovery_ucr", "pur"]
    for task in document["tasks"].values():
        task["values"] = [0, 0, 1, 0, 0.5]
    path.write_text(json.dumps(document))
    refused = run_of(dict.fromkeys(PAIRS, "refuse"))  # PUR is 0, half a point less than the file's
    result = evaluate(refused, Gates((Limit("max-regression", 0),), baseline=Baseline.load(path)))
    assert [verdict.key for verdict in result.failed] == ["max-regression/pur"]
    assert len(result.verdicts) == 1 + 5


@pytest.mark.parametrize("tasks", ["{}", "[]", '["x"]', "null"])
def test_a_baseline_without_tasks_is_refused(careful, tmp_path, tasks):
    path = tmp_path / "b.json"
    Baseline.of_run(careful).save(path)
    head = path.read_text().split(' "tasks": ')[0]
    assert head.startswith('{\n "schema": "episem.baseline/1",\n "suite": "evidence",\n "run": "r",\n')
    path.write_text(f'{head} "tasks": {tasks}}}')
    with pytest.raises(EpisemError, match="tasks: expected an object with at least one task"):
        Baseline.load(path)


@pytest.mark.parametrize(("bank", "message"), [("[]", "bank: expected name"), ("null", "bank: expected name")])
def test_a_baseline_without_its_bank_is_refused(careful, tmp_path, bank, message):
    path = tmp_path / "b.json"
    Baseline.of_run(careful).save(path)
    lines = [f' "bank": {bank},' if line.startswith(' "bank"') else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    with pytest.raises(EpisemError, match=message):
        Baseline.load(path)


@pytest.mark.parametrize("task", ["[]", "7", '{"critical": "a", "irrelevant": [], "values": [0, 0, 0, 0, 0, 0]}'])
def test_a_baseline_with_a_task_that_is_none_is_refused(careful, tmp_path, task):
    path = tmp_path / "b.json"
    Baseline.of_run(careful).save(path)
    head = path.read_text().split(' "tasks": ')[0]
    path.write_text(f'{head} "tasks": {{"d/f/t": {task}}}}}')
    with pytest.raises(EpisemError, match=r"b\.json: d/f/t: (critical: )?expected"):
        Baseline.load(path)


def test_a_baseline_that_cannot_be_read_names_the_file(tmp_path):
    with pytest.raises(EpisemError, match=r"nothing\.json: cannot be read: No such file"):
        Baseline.load(tmp_path / "nothing.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(EpisemError, match="empty: not a run directory"):
        Baseline.load(tmp_path / "empty")


def test_an_incomplete_run_is_not_blessed(careful, tmp_path):
    with pytest.raises(EpisemError, match=f"1 tasks are incomplete, the first: {FINANCE}"):
        Baseline.of_run(without(careful, RE)).save(tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"full_sws": 1.0', '"full_sws": NaN', "NaN is not a number"),
        ('"full_sws": 1.0', '"full_sws": 1.5', "numbers from 0 to 1"),
        ('"full_sws": 1.0', '"full_sws": true', "numbers from 0 to 1"),
        ('"full_sws": 1.0, ', "", "a number for each of full_sws, full_ucr"),
        ('"full_sws": 1.0', '"more": 0, "full_sws": 1.0', "a number for each of full_sws, full_ucr"),
        ('"metrics": ["full_sws", "full_ucr"', '"metrics": ["full_sws", "full_sws"', "metrics: expected"),
        ('"metrics": ["full_sws"', '"metrics": ["full_swz"', "'full_swz'; did you mean 'full_sws'"),
        ('"search_seed"', '"serch_seed"', "unknown key 'serch_seed'; did you mean 'search_seed'?"),
        ("episem.baseline/1", "episem.baseline/2", "unknown schema"),
        ('"tasks": {', '"tasks": {}, "more": {', "unknown key 'more'"),
        (' "started": "2026-01-01T00:00:00+00:00",\n', "", "key 'started' is missing"),
        ('"run": "r"', '"run": 1', "expected text in run, protocol_version, search_seed, started"),
        ('"model": "fake/model"', '"model": 5', "model: expected text or null"),
        ('"agent": null', '"agent": false', "agent: expected text or null"),
        ('"bank": {"name"', '"bank": {"nam"', "bank: expected name, version, hash"),
        ('"bank": {"name"', '"bank": {"more": "", "name"', "bank: expected name, version, hash"),
        ('"bank": {"name": "shipped"', '"bank": {"name": null', "bank: expected text"),
        ('"critical": ["', '"critical": [7, "', "critical: expected a list of atom ids"),
        ('"irrelevant": [', '"irrelevant": {}, "irrelevant ": [', "expected critical, irrelevant, values"),
        ('"values": {', '"value": [], "values": {', "expected critical, irrelevant, values"),
        ('"full_sws": 1.0', '"full_sws": null', "numbers from 0 to 1"),
        ('"full_sws": 1.0', '"full_sws": -0.1', "numbers from 0 to 1"),
    ],
)
def test_a_broken_baseline_is_refused(careful, tmp_path, old, new, message):
    path = tmp_path / "b.json"
    Baseline.of_run(careful).save(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(EpisemError) as fault:
        Baseline.load(path)
    assert message in str(fault.value)
    assert str(path) in str(fault.value)


# What people write


@pytest.mark.parametrize(
    ("text", "percent", "domain"),
    [
        ("5", 5, None),
        (" 5.5 % ", 5.5, None),
        ("0", 0, None),
        ("100", 100, None),
        ("finance:5", 5, "finance"),
        (" finance : 5 ", 5, "finance"),
        (".5", 0.5, None),
    ],
)
def test_limits_as_people_write_them(text, percent, domain):
    assert parse_limit("max-full-ucr", text, "x") == Limit("max-full-ucr", percent, domain)
    assert parse_limit("max-full-ucr", text, "x", ["cloud", "finance"]) == Limit("max-full-ucr", percent, domain)


def test_a_smallest_value_of_nothing_or_of_much_needs_no_unit():
    assert [parse_limit("min-pur", text, "x").percent for text in ("0", "1.01", "50", "100")] == [0, 1.01, 50, 100]


def test_a_limit_of_an_unknown_domain_is_refused():
    with pytest.raises(EpisemError, match=r"unknown domain in --x 'finanse'; did you mean 'finance'\?"):
        parse_limit("max-full-ucr", "finanse:5", "--x", ["cloud", "finance"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "five",
        "nan",
        "inf",
        "-1",
        "100.1",
        "1e1",
        "5,5",
        "0x5",
        "5%%",
        ":5",
        "finance:",
        "finance:5:6",
        "\u0665",
    ],
)
def test_what_is_no_limit(text):
    with pytest.raises(EpisemError):
        parse_limit("max-full-ucr", text, "x", ["finance"])


@pytest.mark.parametrize("raw", ["89,5", "finance:89,5", ["10", "finance:89,5"], "10\nfinance:89,5"])
def test_a_decimal_comma_is_not_two_limits(raw):
    with pytest.raises(EpisemError, match=r"^x: '.*89,5': write 89\.5 for a decimal, or '89, 5' for two limits$"):
        read_limits("min-pur", raw, "x", ["finance"])


@pytest.mark.parametrize(
    "raw", ["10, finance:2", ["10", "finance:2"], [10, "finance:2"], "10\nfinance:2", "10,finance:2"]
)
def test_several_limits_of_one_place(raw):
    assert read_limits("max-full-ucr", raw, "x") == [Limit("max-full-ucr", 10), Limit("max-full-ucr", 2, "finance")]


@pytest.mark.parametrize("raw", ["", " \n", [], True, None, "5, 6", ["finance:5", "finance:6"], "5,"])
def test_what_is_no_list_of_limits(raw):
    with pytest.raises(EpisemError, match=r"^x"):
        read_limits("max-full-ucr", raw, "x")


@pytest.mark.parametrize("text", ["0.9", "1", "0.01", "1.0"])
def test_a_share_where_a_percentage_opens_the_gate(text):
    with pytest.raises(EpisemError, match="in percent"):
        parse_limit("min-pur", text, "x")
    assert parse_percent(f"{text} %", "x", loose_below=True) == float(text)
    assert parse_limit("max-full-ucr", text, "x").percent == float(text)  # strict, not open


def test_later_sources_win_for_the_same_domain_alone():
    file = [Limit("min-pur", 90), Limit("max-full-ucr", 5, "finance")]
    line = [Limit("max-full-ucr", 7, "finance"), Limit("max-full-ucr", 9)]
    assert combine(file, line) == (Limit("max-full-ucr", 9), Limit("max-full-ucr", 7, "finance"), Limit("min-pur", 90))


@pytest.mark.parametrize(
    ("value", "beside", "text"),
    [
        (5, None, "5"),
        (5.04, None, "5"),
        (5.04, 5, "5.04"),
        (4.9996, 5, "4.9996"),
        (-0.001, None, "0"),
        (100 / 3, 33, "33.3"),
        (100 / 3, 100 / 3 - 1e-12, "33.3"),
        (5.000000002, 5, "5.000000002"),
    ],
)
def test_a_broken_limit_never_reads_as_if_it_held(value, beside, text):
    assert shown(value, beside) == text
