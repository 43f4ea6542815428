"""The cells of a comparison on the terminal."""

from __future__ import annotations

from pytest_episem.report.comparison_page import interval_words, percent
from pytest_episem.verdicts.intervals import Estimate


def test_cells_of_numbers_and_of_none():
    known = Estimate(12.345, 1.2345, 10, 1.0, (-1.04, 2.55), "bootstrap", 10)
    assert (percent(known), interval_words(known)) == ("12.3", "-1.0 to +2.5")
    nothing = Estimate(None, 0.0, 0, 0.0)
    assert (percent(nothing), interval_words(nothing)) == ("-", "-")
