"""The exact sign-flip test, against numbers counted out by hand."""

from __future__ import annotations

import pytest

from pytest_episem.verdicts.sign_flip import sign_flip


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([], 1.0),  # nothing differs
        ([0, 0], 1.0),
        ([1] * 8, 2 / 256),  # eight families of one sign: all, or none, the other way
        ([4, 2, 3, 1, 1, 0, 1, 0, 2, 7], 2 / 256),  # of any size, and families without a difference change nothing
        ([-1, -2, -5], 2 / 8),  # two-sided
        ([1, -1], 1.0),  # a sum of 0 is the nearest there is
        ([3, 1, -1], 6 / 8),  # |sum| 3: of the eight sums 5, 3, 3, 1 and their opposites six reach it
        ([0.5, 0.25], 2 / 4),
    ],
)
def test_the_share_of_sums_as_far_from_zero(differences, p):
    assert sign_flip(differences) == pytest.approx(p)


def test_eight_families_of_one_sign_are_the_sources_value():
    assert f"{sign_flip([2, 3, 4, 1, 1, 4, 4, 2]):.4f}" == "0.0078"


def test_sixty_families_are_counted_out():
    assert sign_flip([1] * 60) == 2 / 2**60


def test_too_many_sums_are_not_guessed():
    assert sign_flip([2**n / 1000 for n in range(30)]) is None
