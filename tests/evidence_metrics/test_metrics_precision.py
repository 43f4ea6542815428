"""How sure a rate is at a number of pairs: the simulation, held to cases that can be worked out without it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from precision import LIMIT, SIZES, Selection, domain, precision, selections

from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.verdicts.intervals import MIN_FAMILIES

TEN = Selection((1,) * 10)
BOUND = 100 * (1 - 0.025**0.1)
"""Upper 95 % bound, in percent, of a share seen 0 times in ten families."""


def random() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(3))


def test_families_come_with_their_sizes():
    selection = Selection((2, 1, 3))
    assert selection.pairs == 6
    assert selection.families == ["0", "0", "1", "2", "2", "2"]


def test_a_family_is_one_of_its_domain(small_bank, card):
    """The small bank's four pairs: two of the family `card`, one each of `loan` and `room`."""
    tasks = list(small_bank.tasks.values())
    assert Selection.of(tasks).sizes == (1, 1, 2)
    elsewhere = dataclasses.replace(card, id="archive/card/c-1")
    assert Selection.of([*tasks, elsewhere, elsewhere, elsewhere]).sizes == (1, 1, 2, 3)


def test_nothing_fails_at_0_and_everything_at_1():
    selection = Selection((3, 4))
    for alike in (0.0, 0.5, 1.0):
        assert selection.outcomes(0.0, alike, random()).tolist() == [False] * 7
        assert selection.outcomes(1.0, alike, random()).tolist() == [True] * 7


def test_families_are_alike_or_independent():
    """40 families of 30 pairs: alike, each ends one way; independent, none does (chance 40 x 2 x 0.5 ** 30)."""
    selection = Selection((30,) * 40)
    alike = selection.outcomes(0.5, 1.0, random()).reshape(40, 30).sum(axis=1)
    assert set(alike.tolist()) == {0, 30}
    free = selection.outcomes(0.5, 0.0, random()).reshape(40, 30).sum(axis=1)
    assert free.min() > 0
    assert free.max() < 30
    half = selection.outcomes(0.5, 0.5, random()).reshape(40, 30).sum(axis=1)
    # The families that are alike are Binomial(40, 1/2): outside 8 to 32 once in ten thousand.
    assert 8 <= int(np.isin(half, (0, 30)).sum()) <= 32


@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_the_true_rate_is_met(alike):
    """2,000 pairs at a rate of 20 % fail 400 times with a deviation of 17.9, so within 320 and 480; alike or not."""
    failed = Selection((1,) * 2000).outcomes(0.2, alike, random())
    assert 320 < int(failed.sum()) < 480


def test_nothing_seen_has_the_closed_form_and_holds_a_limit_above_it():
    found = precision(TEN, 0, 0.0, tries=3)
    assert found.half == pytest.approx(BOUND / 2, abs=1e-6)
    # The value 0 holds the usual limit of ten percent, its bound of 30.8 does not.
    assert (found.point, found.bound) == (100.0, 0.0)
    assert precision(TEN, 0, 0.0, limit=round(BOUND, 6), tries=3).bound == 100.0
    assert precision(TEN, 0, 0.0, limit=round(BOUND, 6) - 1e-5, tries=3).bound == 0.0


def test_a_value_at_its_limit_holds_it():
    assert precision(TEN, 0, 0.0, limit=0, tries=3).point == 100.0
    full = precision(TEN, 100, 0.0, limit=100, tries=3)
    assert (full.point, full.bound) == (100.0, 100.0)
    assert full.half == pytest.approx(BOUND / 2, abs=1e-6)
    over = precision(TEN, 100, 0.0, limit=99, tries=3)
    assert (over.point, over.bound) == (0.0, 0.0)


def test_a_gate_at_the_true_rate_passes_about_half_the_time():
    """100 independent pairs, rate and limit 50 %: P(X <= 50) = 0.54 for Binomial(100, 1/2)."""
    found = precision(Selection((1,) * 100), 50, 0.0, limit=50, tries=200)
    assert 43 <= found.point <= 65  # three deviations of 3.5 points
    # The bound holds only where X <= 40, once in 35.
    assert found.bound < 10
    # 1.96 sqrt(0.5 x 0.5 / 100) = 9.8 points.
    assert found.half == pytest.approx(9.8, abs=0.5)


def test_the_same_tries_give_the_same_answer():
    assert precision(TEN, 30, 0.5, tries=5) == precision(TEN, 30, 0.5, tries=5)


def test_too_few_families_have_no_interval_to_be_sure_of():
    with pytest.raises(ValueError, match=f"an interval needs {MIN_FAMILIES} families"):
        precision(Selection((5,) * 9), 10, 0.0, tries=1)


def test_selections_are_those_of_the_page():
    assert SIZES == (50, 100, 300)
    assert [chosen.pairs for chosen in selections()] == [50, 100, 300]
    assert [len(chosen.sizes) for chosen in selections()] == [50, 60, 60]
    tasks = list(shipped_bank().tasks.values())
    assert domain().pairs == sum(task.domain == tasks[0].domain for task in tasks) == 50
    assert len(domain().sizes) == 10
    assert LIMIT == 10
