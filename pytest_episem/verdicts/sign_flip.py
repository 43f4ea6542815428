"""The exact two-sided sign-flip test over families (workflow protocol, section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

MAX_SUMS = 20_000
"""How many different sums are counted out at most."""


def sign_flip(differences: Iterable[float]) -> float | None:
    """Return the share of all ways to flip the signs of the differences whose sum is at least as far from 0 as theirs.

    If the two that are compared do not differ, each family's difference is as likely to have the other sign. Families
    without a difference change nothing. Eight of one sign give 2 in 2**8, 0.0078; none give 1.

    Args:
        differences: one a family, each a sum over what is paired in it, in any unit.

    Returns:
        0 to 1; ``None`` where the sums are too many to be counted out.
    """
    parts = [Fraction(one).limit_denominator(1_000_000) for one in differences]
    observed = abs(sum(parts, Fraction(0)))
    sums = Counter({Fraction(0): 1})
    for part in filter(None, parts):
        flipped: Counter[Fraction] = Counter()
        for total, ways in sums.items():
            flipped[total + part] += ways
            flipped[total - part] += ways
        if len(flipped) > MAX_SUMS:
            return None
        sums = flipped
    far = sum(ways for total, ways in sums.items() if abs(total) >= observed)
    return far / sums.total()
