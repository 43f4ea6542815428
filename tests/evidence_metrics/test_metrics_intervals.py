"""Intervals: bootstrap over families, its limits, and the closed form at 0 and 100 %."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_episem.verdicts.intervals import DRAWS, LEVEL, MIN_FAMILIES, Bootstrap, Estimate, estimate, extreme_bound


def families(n: int) -> list[str]:
    return [f"d/f{i:02}" for i in range(n)]


def rate(values: list[float], names: list[str], draws: int = 2000, seed: int = 1, **kind: str):
    parts = [(value, 1.0) for value in values]
    return estimate(parts, [True] * len(values), names, Bootstrap(draws, seed), **kind)


def test_fewer_than_ten_families_have_no_interval():
    assert rate([1, 0] * 4 + [1], families(9)).interval is None
    found = rate([1, 0] * 5, families(10))
    assert found.interval_method == "bootstrap"
    assert found.n_families == 10


def test_the_interval_of_ten_families_half_affected():
    # The resampled count is Binomial(10, 1/2): P(X <= 1) = 11/1024 < 2.5 % < P(X <= 2) = 56/1024.
    found = rate([1.0] * 5 + [0.0] * 5, families(10), draws=20_000)
    assert found.value == 50
    assert found.interval == (20, 80)


def test_the_protocols_numbers():
    assert (DRAWS, LEVEL, MIN_FAMILIES) == (10_000, 0.95, 10)
    assert Bootstrap().draws == 10_000


class Chosen(Bootstrap):
    """Draws that are known: of two families the second is drawn 0, 1, … 40 times out of 40."""

    def weights(self, families: int):
        assert families == 2
        return np.array([[40 - times, times] for times in range(41)], dtype=np.float64)


def test_the_interval_lies_between_the_percentiles_2_5_and_97_5():
    """The ratios of the draws are 0/40, 1/40, … 40/40: 2.5 % of the way is 1/40, 97.5 % is 39/40."""
    assert Chosen().interval([(0.0, 1.0), (1.0, 1.0)]) == pytest.approx((1 / 40, 39 / 40))
    # Sums before the ratio: the second family has three times the weight. 3k / (40 + 2k) at k = 1 and k = 39.
    assert Chosen().interval([(0.0, 1.0), (3.0, 3.0)]) == pytest.approx((3 / 42, 117 / 118))


def test_families_are_resampled_whole():
    # Twenty tasks, but only ten families whose two tasks agree: no narrower than ten tasks.
    alone = rate([1.0] * 5 + [0.0] * 5, families(10))
    twice = rate([1.0] * 10 + [0.0] * 10, [name for name in families(10) for _ in "ab"])
    assert twice.interval == alone.interval


def test_at_the_ends_clopper_pearson_on_families():
    # 1 - 0.025 ** (1 / 10) = 0.3085 (the textbook bound for 0 of 10)
    zero, full = rate([0.0] * 20, families(10) * 2), rate([1.0] * 20, families(10) * 2)
    assert zero.interval_method == full.interval_method == "clopper-pearson"
    assert zero.interval == (0, pytest.approx(30.85, abs=0.005))
    assert full.interval == (pytest.approx(69.15, abs=0.005), 100)
    assert extreme_bound(60) == pytest.approx(0.0596, abs=0.0001)
    # ln 0.025 = -3.688879454, a tenth of it to the power of e is 0.691502892: six decimals are kept.
    assert (zero.interval, full.interval) == ((0, 30.849711), (69.150289, 100))


def test_without_a_bootstrap_there_is_no_interval_however_many_families():
    found = estimate([(0.0, 1.0)] * 12, [True] * 12, families(12), None)
    assert (found.value, found.interval, found.interval_method, found.n_families) == (0, None, None, 12)


def test_a_difference_that_is_nowhere_seen_is_bounded_both_ways():
    found = rate([0.0] * 10, families(10), kind="difference")
    assert found.interval == (pytest.approx(-30.85, abs=0.005), pytest.approx(30.85, abs=0.005))
    assert found.interval_method == "clopper-pearson"
    found = rate([1.0] * 10, families(10), kind="difference")
    assert found.interval == (pytest.approx(100 - 2 * 30.85, abs=0.01), 100)
    found = rate([-1.0] * 10, families(10), kind="difference")
    assert found.interval == (-100, pytest.approx(-100 + 2 * 30.85, abs=0.01))


def test_a_difference_that_is_everywhere_the_same_but_not_extreme_is_left_to_the_bootstrap():
    found = rate([0.5] * 10, families(10), kind="difference")
    assert (found.interval, found.interval_method) == ((50, 50), "bootstrap")


def test_a_difference_seen_in_half_of_the_families_is_left_to_the_bootstrap():
    found = rate([1.0] * 5 + [0.0] * 5, families(10), kind="difference", draws=20_000)
    # as for a rate: the resampled count is Binomial(10, 1/2)
    assert (found.value, found.interval, found.interval_method) == (50, (20, 80), "bootstrap")


def test_a_part_without_weight_makes_no_family():
    found = estimate([(1.0, 1.0), (0.0, 0.0), (0.0, 1.0)], [True] * 3, families(3), None)
    assert (found.value, found.denominator, found.n_families) == (50, 2, 2)


def test_parts_and_families_go_together():
    with pytest.raises(ValueError, match="zip"):
        estimate([(1.0, 1.0)], [True], families(2), None)


def test_the_json_form_of_an_estimate():
    found = Estimate(50.0, 5.0, 10, 1.0, (20.0, 80.0), "bootstrap", 10).to_dict()
    assert found == {
        "value": 50.0,
        "numerator": 5.0,
        "denominator": 10,
        "coverage": 1.0,
        "interval": [20.0, 80.0],
        "interval_method": "bootstrap",
        "n_families": 10,
    }
    nothing = Estimate(None, 0.0, 0, 0.0).to_dict()
    assert (nothing["interval"], nothing["interval_method"], nothing["n_families"]) == (None, None, 0)


def test_the_seed_decides_the_interval_and_nothing_else_does():
    values = [((7 * i) % 11) / 11 for i in range(30)]
    names = families(15) * 2
    again = rate(values, names)
    assert rate(values, names).interval == again.interval
    assert rate(values[::-1], names[::-1]).interval == again.interval
    assert rate(values, names, seed=2).interval != again.interval


def test_families_without_an_eligible_task_are_not_resampled():
    parts = [(1.0, 1.0)] * 5 + [(0.0, 1.0)] * 5 + [None] * 5
    found = estimate(parts, [True] * 10 + [False] * 5, families(15), Bootstrap(500, 1))
    assert found.n_families == 10
    assert found.denominator == 10
    assert found.coverage == pytest.approx(2 / 3)


def test_each_draw_takes_as_many_families_as_there_are():
    weights = Bootstrap(300, 5).weights(12)
    assert weights.shape == (300, 12)
    assert set(weights.sum(axis=1)) == {12}
    assert weights.mean() == 1


def test_a_mean_is_not_scaled_and_never_taken_for_a_rate():
    found = rate([0.0] * 10, families(10), kind="mean")
    assert found.interval_method == "bootstrap"
    found = rate([250.0] * 10, families(10), kind="mean")
    assert found.value == 250
    assert found.interval == (250, 250)


def test_nothing_eligible_is_no_number():
    found = estimate([None, None], [False, False], families(2), Bootstrap(10))
    assert (found.value, found.numerator, found.denominator, found.coverage) == (None, 0, 0, 0)
    assert estimate([], [], [], None).coverage == 0
