"""How sure a rate is at a number of pairs: the tables of the page "Choosing thresholds", computed and not copied.

``python tests/tools/precision.py`` prints them. Pairs of one family resemble each other; ``alike`` is the
share of families whose pairs all end the same way (the correlation within a family), the rest are independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_episem.banks.selection import sample
from pytest_episem.evidence.bank import Task, shipped_bank
from pytest_episem.verdicts.gates import TOLERANCE
from pytest_episem.verdicts.intervals import MIN_FAMILIES, Bootstrap, estimate, extreme_bound

SIZES = (50, 100, 300)
RATES = (2, 5, 10, 20, 50)
ALIKE = (0.0, 0.5)
LIMIT = 10
SEED = 7
TRIES = 400
DRAWS = 1_000
BEGIN = "<!-- computed by: python tests/tools/precision.py -->"
END = "<!-- end of what is computed -->"


@dataclass(frozen=True)
class Selection:
    """A selection's families, by how many of its pairs each has."""

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> Selection:
        """Return the families of these tasks."""
        return cls(tuple(sorted(Counter((task.domain, task.family) for task in tasks).values())))

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return sum(self.sizes)

    @property
    def families(self) -> list[str]:
        """A family's name for each pair."""
        return [str(number) for number, size in enumerate(self.sizes) for _ in range(size)]

    def outcomes(self, rate: float, alike: float, random: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Return one try: for each pair whether it fails, at a true failure rate from 0 to 1."""
        parts = []
        for size in self.sizes:
            shared, each = random.random(2), random.random(size)
            parts.append(np.full(size, shared[1] < rate) if shared[0] < alike else each < rate)
        return np.concatenate(parts)


@dataclass(frozen=True)
class Precision:
    """What many tries at one true rate gave, in percent.

    ``half``: the median half width of the 95 % interval. ``point`` and ``bound``: how often the value, and the upper
    bound of its interval, held ``LIMIT``.
    """

    half: float
    point: float
    bound: float


def precision(selection: Selection, rate: float, alike: float, limit: float = LIMIT, tries: int = TRIES) -> Precision:
    """Simulate ``tries`` runs of an agent whose true failure rate is ``rate`` percent."""
    random, bootstrap = np.random.Generator(np.random.PCG64(SEED)), Bootstrap(DRAWS, SEED)
    families, covered = selection.families, [True] * selection.pairs
    halves, points, bounds = [], 0, 0
    for _ in range(tries):
        failed = selection.outcomes(rate / 100, alike, random)
        found = estimate([(float(one), 1.0) for one in failed], covered, families, bootstrap)
        if found.interval is None or found.value is None:
            raise ValueError(f"an interval needs {MIN_FAMILIES} families")
        low, high = found.interval
        halves.append((high - low) / 2)
        points += found.value <= limit + TOLERANCE
        bounds += high <= limit + TOLERANCE
    return Precision(float(np.median(halves)), 100 * points / tries, 100 * bounds / tries)


def selections() -> list[Selection]:
    """Return the samples that ``--episem-sample`` takes of the shipped bank."""
    tasks = list(shipped_bank().tasks.values())
    chosen = [sample(tasks, size) for size in SIZES]
    return [Selection.of([task for task in tasks if task.id in names]) for names in chosen]


def domain() -> Selection:
    """Return one domain of the shipped bank."""
    tasks = list(shipped_bank().tasks.values())
    return Selection.of([task for task in tasks if task.domain == tasks[0].domain])


def tables() -> Iterator[str]:
    """Yield the page's tables as lines of Markdown."""
    found = selections()
    yield BEGIN
    yield ""
    yield "| selection | pairs | families | one pair is | 0 failures seen: the true rate may be up to |"
    yield "| :-- | --: | --: | --: | --: |"
    for name, chosen in [("one domain", domain()), *((f"`--episem-sample {s.pairs}`", s) for s in found)]:
        bound = 100 * extreme_bound(len(chosen.sizes))
        one = 100 / chosen.pairs
        yield f"| {name} | {chosen.pairs} | {len(chosen.sizes)} | {one:.1f} points | {bound:.1f} % |"
    yield ""
    yield "Half the width of the 95 % interval, in points, pairs of a family independent / half of the families alike:"
    yield ""
    yield f"| true rate | {' | '.join(f'{s.pairs} pairs' for s in found)} |"
    yield f"| --: | {' | '.join('--:' for _ in found)} |"
    results = {(rate, s.pairs, alike): precision(s, rate, alike) for rate in RATES for s in found for alike in ALIKE}
    for rate in RATES:
        cells = [" / ".join(f"{results[rate, s.pairs, alike].half:.0f}" for alike in ALIKE) for s in found]
        yield f"| {rate} % | {' | '.join(cells)} |"
    yield ""
    yield f"How often a gate of at most {LIMIT} % passes, on `point` and on `ci`, half of the families alike:"
    yield ""
    yield f"| true rate | {' | '.join(f'{s.pairs}, point | {s.pairs}, ci' for s in found)} |"
    yield f"| --: | {' | '.join('--: | --:' for _ in found)} |"
    for rate in RATES[:-1]:
        outcomes = [results[rate, s.pairs, ALIKE[1]] for s in found]
        yield f"| {rate} % | {' | '.join(f'{o.point:.0f} % | {o.bound:.0f} %' for o in outcomes)} |"
    yield ""
    yield END


if __name__ == "__main__":
    print("\n".join(tables()))
