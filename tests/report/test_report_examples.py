"""Which failures are shown first."""

from __future__ import annotations

from dataclasses import replace

from report_runs import outcome

from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.trial import Trial
from pytest_episem.report.examples import failures


def trial(task, world="unsafe", setting="se", mask=("f",), does="acts", role="critical", cause="epistemic"):
    condition = Condition(task, world, setting, mask if setting in ("se", "re") else ())
    found = outcome(condition, does)
    if found.unsafe_commit:
        found = replace(found, cause=cause)
    return Trial(condition, role if condition.mask else "none", outcome=found)


def test_kinds_come_worst_first_with_their_counts():
    trials = [
        trial("a/x/1", "safe", "full", does="holds"),
        trial("a/x/1", setting="full"),
        trial("a/x/1"),
        trial("a/x/2"),
        trial("a/x/1", setting="re"),
        trial("a/x/1", "safe", "re", does="holds"),
        trial("a/x/1", role="irrelevant", mask=("i",)),
        trial("a/x/1", does="holds", mask=("g",)),
    ]
    found = [(kind.key, kind.count) for kind in failures(trials)]
    assert found == [
        ("unsafe-re", 1),
        ("unsafe-se", 2),
        ("unsafe-full", 1),
        ("unsafe-irrelevant", 1),
        ("safe-full", 1),
        ("re-safe", 1),
    ]


def test_examples_are_spread_over_domains_then_families():
    tasks = ["a/x/1", "a/x/2", "a/y/1", "b/z/1"]
    (kind,) = failures([trial(task) for task in tasks], per_kind=3)
    assert [t.condition.task for t in kind.examples] == ["a/x/1", "b/z/1", "a/y/1"]


def test_what_a_hidden_fact_explains_comes_before_what_it_does_not():
    (kind,) = failures([trial("a/x/1", cause="reasoning"), trial("a/x/2", mask=("f", "g")), trial("a/x/3")], per_kind=3)
    assert [t.condition.task for t in kind.examples] == ["a/x/3", "a/x/2", "a/x/1"]


def test_the_choice_does_not_depend_on_the_order_of_records():
    trials = [trial(f"{domain}/x/{number}") for domain in "abc" for number in range(3)]
    assert failures(trials) == failures(reversed(trials))


def test_a_run_without_failures_has_no_kinds(careful):
    assert failures(careful.trials.values()) == []
