"""Estimates and their 95 % intervals: a bootstrap over task families (protocol, section 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DRAWS = 10_000
SEED = 20_240_229
LEVEL = 0.95
MIN_FAMILIES = 10

IntervalMethod = Literal["bootstrap", "clopper-pearson"]
Kind = Literal["rate", "difference", "mean"]
Part = tuple[float, float]
"""One task's numerator and denominator."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with what it was computed on.

    ``value`` = scale x numerator / denominator, scale 100 for percent and percentage points and 1 for plain means;
    ``None`` if nothing was eligible. ``denominator`` counts the eligible tasks (trials or rollouts where said).
    ``coverage`` is the share, 0 to 1, of the N selected tasks whose planned eligible trials all completed.
    ``interval`` is the 95 % interval in the unit of the value, ``None`` with fewer than ten families;
    ``n_families`` counts the families with an eligible task.
    """

    value: float | None
    numerator: float
    denominator: int
    coverage: float
    interval: tuple[float, float] | None = None
    interval_method: IntervalMethod | None = None
    n_families: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; keys are the field names, the interval a list of two."""
        return {
            "value": self.value,
            "numerator": self.numerator,
            "denominator": self.denominator,
            "coverage": self.coverage,
            "interval": None if self.interval is None else list(self.interval),
            "interval_method": self.interval_method,
            "n_families": self.n_families,
        }


@dataclass(slots=True)
class Bootstrap:
    """Seeded percentile bootstrap over families; one instance draws each family count once and serves all.

    ``draws`` resamples from numpy's PCG64 with ``seed``; both are recorded beside the intervals.
    """

    draws: int = DRAWS
    seed: int = SEED
    _weights: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def weights(self, families: int) -> npt.NDArray[np.float64]:
        """Return how often each family is drawn, shape (draws, families)."""
        import numpy as np  # takes longer than the rest of the plugin, and a worker needs none of it

        if families not in self._weights:
            generator = np.random.Generator(np.random.PCG64(self.seed))
            picks = generator.integers(0, families, size=(self.draws, families))
            rows = np.arange(self.draws)[:, None] * families
            counts = np.bincount((picks + rows).ravel(), minlength=self.draws * families)
            self._weights[families] = counts.reshape(self.draws, families).astype(np.float64)
        return self._weights[families]

    def interval(self, sums: Sequence[Part]) -> tuple[float, float] | None:
        """Return the percentile interval of the ratio of sums over resampled families, unscaled."""
        import numpy as np

        totals = self.weights(len(sums)) @ np.asarray(sums, dtype=np.float64)
        ratios = totals[:, 0] / totals[:, 1]
        tail = 100 * (1 - LEVEL) / 2
        low, high = np.percentile(ratios, [tail, 100 - tail])
        return float(low), float(high)


def estimate(
    parts: Sequence[Part | None],
    covered: Sequence[bool],
    families: Sequence[str],
    bootstrap: Bootstrap | None,
    kind: Kind = "rate",
) -> Estimate:
    """Return the ratio of sums over the eligible tasks with its interval.

    ``parts`` holds each selected task's numerator and denominator, ``None`` if it has no eligible trial;
    ``covered`` and ``families`` run along it. ``kind``: ``rate`` lies in 0..100, ``difference`` in -100..100
    (percentage points), ``mean`` is any mean, unscaled. Without ``bootstrap`` there is no interval.
    """
    sums = _family_sums(parts, families)
    numerator = math.fsum(part[0] for part in parts if part is not None)
    denominator = round(math.fsum(part[1] for part in parts if part is not None))
    coverage = sum(covered) / len(covered) if covered else 0.0
    if denominator == 0:
        return Estimate(None, 0.0, 0, coverage)
    scale = 1 if kind == "mean" else 100
    interval, method = _interval(sums, bootstrap, kind)
    if interval is not None:
        interval = (round(scale * interval[0], 6), round(scale * interval[1], 6))
    value = scale * numerator / denominator
    return Estimate(value, numerator, denominator, coverage, interval, method, len(sums))


def _family_sums(parts: Sequence[Part | None], families: Sequence[str]) -> list[Part]:
    """Sums of numerators and denominators of each family with an eligible task, by family name."""
    by_family: dict[str, list[Part]] = {}
    for part, family in zip(parts, families, strict=True):
        if part is not None and part[1] > 0:
            by_family.setdefault(family, []).append(part)
    return [
        (math.fsum(p[0] for p in by_family[name]), math.fsum(p[1] for p in by_family[name]))
        for name in sorted(by_family)
    ]


def _interval(
    sums: Sequence[Part], bootstrap: Bootstrap | None, kind: Kind
) -> tuple[tuple[float, float] | None, IntervalMethod | None]:
    if bootstrap is None or len(sums) < MIN_FAMILIES:
        return None, None
    bound = extreme_bound(len(sums))
    ratios = {num / den for num, den in sums}
    if kind == "rate" and ratios == {0.0}:
        return (0.0, bound), "clopper-pearson"
    if kind == "rate" and ratios == {1.0}:
        return (1.0 - bound, 1.0), "clopper-pearson"
    if kind == "difference" and len(ratios) == 1 and ratios <= {-1.0, 0.0, 1.0}:
        return _constant_difference(ratios.pop(), bound), "clopper-pearson"
    return bootstrap.interval(sums), "bootstrap"


def extreme_bound(n: int) -> float:
    """Return the upper 95 % Clopper-Pearson bound of a share seen 0 times in ``n``; by symmetry 1 minus the lower
    bound of one seen ``n`` times. At these two ends the bound has a closed form."""
    return float(1 - ((1 - LEVEL) / 2) ** (1 / n))


def _constant_difference(difference: float, bound: float) -> tuple[float, float]:
    """Bounds when every family shows the same difference of -1, 0 or 1: at most the share ``bound`` of families
    may differ from it, each as far as a difference can."""
    return difference - bound * (difference + 1), difference + bound * (1 - difference)
