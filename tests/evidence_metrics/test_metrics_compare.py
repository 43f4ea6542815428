"""Two runs compared: paired by task, on what both tested."""

from __future__ import annotations

import json

import pytest

from pytest_episem.errors import EpisemError
from pytest_episem.evidence.condition import Condition
from pytest_episem.verdicts.compare import compare

TASKS = [f"d/f{i:02}/t" for i in range(12)]


@pytest.fixture
def plan(build):
    return [build.plan_task(task, "ab") for task in TASKS]


def holds(condition: Condition) -> str:
    return "hold"


def test_a_run_against_itself_changes_nothing(build, plan):
    run = build.make_run(plan, holds)
    found = compare(run, run, draws=100)
    assert found.differences == []
    for difference in found.metrics.values():
        assert difference.change.value == 0
        assert difference.better == difference.worse == []
        # Of 12 families none differs: at most 1 - 0.025 ** (1/12) = 26.46 % of them do, either way.
        assert difference.change.interval == (pytest.approx(-26.46, abs=0.01), pytest.approx(26.46, abs=0.01))
        assert difference.change.interval_method == "clopper-pearson"


def test_changes_tasks_and_direction(build, plan):
    a = build.make_run(plan, lambda c: "act" if c.task in TASKS[:3] else "hold")
    b = build.make_run(plan, lambda c: "act" if c.task in TASKS[2:8] else "hold", run="run-2")
    six = compare(a, b, draws=2000).metrics
    ucr, sws = six["full_ucr"], six["full_sws"]
    assert (ucr.a.value, ucr.b.value) == (25, 50)
    assert ucr.change.value == 25
    assert ucr.change.interval[0] < 25 < ucr.change.interval[1]
    assert ucr.change.interval_method == "bootstrap"
    assert [m.task for m in ucr.better] == TASKS[:2]
    assert [m.task for m in ucr.worse] == TASKS[3:8]
    assert [m.task for m in sws.better] == TASKS[3:8]
    assert six["sbm"].change.value == -25
    assert [m.task for m in six["sbm"].worse] == TASKS[3:8]


@pytest.mark.parametrize(
    ("before", "after", "improved"),
    [
        ({}, {"safe-full": "act"}, {"full_sws"}),
        ({"unsafe-re[a]": "act"}, {}, {"recovery_ucr"}),
        ({"unsafe-se[a]": "act"}, {}, {"critical_ucr", "sbm"}),
        ({"unsafe-full": "act"}, {}, {"full_ucr", "sbm"}),
        ({}, {"unsafe-re[a]": "strict", "safe-re[a]": "strict"}, {"pur"}),
    ],
)
def test_each_metric_knows_which_way_is_better(build, before, after, improved):
    plan = [build.plan_task("d/f/t", "ab")]
    worse, better = (build.make_run(plan, lambda c, rules=r: rules.get(c.name, "hold")) for r in (before, after))
    forth, back = compare(worse, better, draws=10).metrics, compare(better, worse, draws=10).metrics
    assert {name for name, found in forth.items() if found.better} == improved
    assert {name for name, found in back.items() if found.worse} == improved
    assert not any(found.worse for found in forth.values())
    assert not any(found.better for found in back.values())


def test_masks_that_only_one_run_tested_do_not_count(build):
    plan = [build.plan_task("d/f/t", "abc")]

    # A falls at the triple; B at the first pair it tries, and never gets to the triple.
    a = build.make_run(plan, lambda c: "act" if c.name == "unsafe-se[a,b,c]" else "hold")
    b = build.make_run(plan, lambda c: "act" if c.name.startswith("unsafe-se") and len(c.mask) == 2 else "hold")
    found = compare(a, b, draws=10).metrics["critical_ucr"]
    assert (found.a.value, found.b.value) == (100, 100)
    # Both tested the singles and B's witness pair, at which A held.
    assert (found.matched_a.value, found.matched_b.value) == (0, 100)
    assert found.change.value == 100
    assert compare(a, b, draws=10).metrics["sbm"].change.value == -25


def test_a_task_undecided_in_one_run_is_not_compared(build, plan):
    a = build.make_run(plan, holds)
    b = build.make_run(plan, lambda c: "error" if c.id == f"{TASKS[0]}/unsafe-full" else "hold", run="b")
    for one, other in ((a, b), (b, a)):
        found = compare(one, other, draws=10).metrics["full_ucr"]
        assert found.change.denominator == found.matched_a.denominator == found.matched_b.denominator == 11
        assert found.change.coverage == pytest.approx(11 / 12)


def test_tasks_of_one_run_alone_and_altered_ones_are_named(build, plan):
    other = [build.plan_task(TASKS[0], "abc"), *plan[1:5], build.plan_task("e/g/u", "a")]
    found = compare(build.make_run(plan, holds), build.make_run(other, holds, model="fake/two"), draws=10)
    assert found.tasks == TASKS[1:5]
    assert found.altered == TASKS[:1]
    assert found.only_a == TASKS[5:]
    assert found.only_b == ["e/g/u"]
    assert found.differences == ["model: fake/model in A, fake/two in B"]


def test_nothing_in_common_is_one_clear_line(build, plan):
    other = build.make_run([build.plan_task("e/g/u", "a")], holds, run="other")
    with pytest.raises(EpisemError, match=r"^nothing to compare: 'run-1' and 'other' have no task in common$"):
        compare(build.make_run(plan, holds), other)


def test_the_json_form(build, plan):
    a, b = build.make_run(plan, holds), build.make_run(plan, lambda c: "act", run="run-2", model="fake/two")
    found = compare(a, b, draws=10, seed=3).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    six = found.pop("metrics")
    assert found == {
        "schema": "episem.compare/2",
        "suite": "evidence",
        "a": "run-1",
        "b": "run-2",
        "differences": ["model: fake/model in A, fake/two in B"],
        "tasks": TASKS,
        "only_a": [],
        "only_b": [],
        "altered": [],
        "intervals": {"level": 95, "draws": 10, "seed": 3, "resampled": "families"},
    }
    assert list(six) == ["full_sws", "full_ucr", "critical_ucr", "sbm", "recovery_ucr", "pur"]
    ucr = six["full_ucr"]
    assert set(ucr) == {"a", "b", "matched_a", "matched_b", "change", "better", "worse"}
    values = {name: ucr[name]["value"] for name in ("a", "b", "matched_a", "matched_b", "change")}
    assert values == {"a": 0, "b": 100, "matched_a": 0, "matched_b": 100, "change": 100}
    assert ucr["better"] == []
    assert ucr["worse"] == [{"task": task, "a": 0.0, "b": 1.0} for task in TASKS]
