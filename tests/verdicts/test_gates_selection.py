"""Samples and shards: whole pairs, spread over families, always the same ones; and the numbers of the docs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import precision
import pytest

from pytest_episem.agents.prices import token_prices
from pytest_episem.banks.selection import Shard, sample, spread
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.evidence.estimate import Range, estimate_work
from pytest_episem.evidence.plan import count, fixed_conditions
from pytest_episem.verdicts.intervals import extreme_bound

DOCS = Path(__file__).parents[2] / "docs"


def conditions_of(task) -> int:
    return count(len(task.critical), len(task.irrelevant))


@pytest.fixture(scope="module")
def tasks():
    return list(shipped_bank().tasks.values())


def test_a_sample_is_spread_over_families_and_domains(tasks):
    by_id = {task.id: task for task in tasks}
    for size in (6, 50, 60, 100, 150):
        chosen = [by_id[name] for name in sample(tasks, size)]
        assert len(chosen) == size
        families = Counter((task.domain, task.family) for task in chosen)
        assert len(families) == min(size, 60)
        domains = Counter(task.domain for task in chosen)
        assert len(domains) == 6
        if size <= 60:
            assert max(domains.values()) - min(domains.values()) <= 1
            assert set(families.values()) == {1}


def test_a_larger_sample_holds_the_smaller_and_order_does_not_matter(tasks):
    assert sample(tasks, 50) < sample(tasks, 100) < sample(tasks, 300)
    assert sample(tasks[::-1], 50) == sample(tasks, 50)
    assert sorted(spread(tasks)) == sorted(task.id for task in tasks)


@pytest.mark.parametrize("size", [0, -1, 301])
def test_a_sample_that_is_none(tasks, size):
    with pytest.raises(EpisemError, match="between 1 and the 300 pairs"):
        sample(tasks, size)


@pytest.mark.parametrize("of", [1, 2, 3, 7, 50])
def test_shards_are_a_partition_of_equal_work(tasks, of):
    parts = [Shard(index, of).choose(tasks, conditions_of) for index in range(1, of + 1)]
    assert sum(map(len, parts)) == 300
    assert set().union(*parts) == {task.id for task in tasks}
    work = {task.id: count(len(task.critical), len(task.irrelevant)) for task in tasks}
    loads = [sum(work[name] for name in part) for part in parts]
    assert max(loads) - min(loads) <= max(work.values())


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/0", "1", "1/2/3", "a/b", "", "-1/2", "1/2.5"])
def test_a_shard_that_is_none(text):
    with pytest.raises(EpisemError, match="must be i/n"):
        Shard.parse(text)


def test_more_shards_than_pairs_would_be_empty(tasks):
    with pytest.raises(EpisemError, match="only 300 pairs"):
        Shard(1, 301).choose(tasks, conditions_of)


def test_an_estimate_counts_what_would_run(tasks):
    task = shipped_bank().task("finance/payment-authorization/pr-58217")
    conditions = fixed_conditions(task.id, task.critical, task.irrelevant)
    work = estimate_work({task.id: task}, conditions, [task.id], "Do.")
    # 14 conditions; the search adds the mask of both atoms, and its three counterparts if that is unsafe.
    assert work.rollouts == Range(14, 18)
    # At least two requests each. At most one a read (four), one for the audit in the six `re` conditions, and the last.
    assert work.requests == Range(28, 8 * 5 + 6 * 6 + 4 * 5)
    assert 0 < work.prompt_tokens.low < work.prompt_tokens.high
    assert work.cost(1.0, 0.0).low == work.prompt_tokens.low


def test_prices_come_from_litellms_list():
    prices = token_prices("gpt-4o-mini")
    assert prices is not None
    assert 0 < prices[0] < prices[1] < 1
    assert token_prices("nobody/has-this-model") is None


def test_the_bound_of_nothing_seen():
    # The rule of three, two-sided: 1 - 0.025 ** (1/n).
    assert extreme_bound(50) == pytest.approx(0.0711, abs=1e-4)
    assert extreme_bound(60) == pytest.approx(0.0596, abs=1e-4)


def test_families_that_all_end_alike_widen_the_interval():
    whole = precision.selections()[-1]
    assert whole.pairs == 300
    assert len(whole.sizes) == 60
    free = precision.precision(whole, 20, 0.0, tries=60)
    alike = precision.precision(whole, 20, 1.0, tries=60)
    # 1.96 sqrt(0.2 x 0.8 / 300) = 4.5 points; were every family one draw, of 60: 10.1.
    assert free.half == pytest.approx(4.5, abs=0.6)
    assert alike.half == pytest.approx(10.1, abs=1.0)


@pytest.mark.slow
def test_the_page_shows_what_is_computed():
    page = (DOCS / "choosing-thresholds.md").read_text(encoding="utf-8")
    start, end = page.index(precision.BEGIN), page.index(precision.END) + len(precision.END)
    assert page[start:end] == "\n".join(precision.tables())
