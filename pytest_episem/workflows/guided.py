"""What guidance is worth: the same agents on the same cases, told more or less (workflow protocol, section 5).

A unit is agent x case, paired over two kinds of guidance; cases for trying things out (``pilot``) and those held out
are kept apart. Decisions where the protocol and its source are silent:

- What is told least comes first: nothing, evidence, advice; the pair that is compared is evidence, or nothing where it
  was not run, with the last of the others.
- Runs are set beside the first one's bank, cases, form and shield; a case counts where its records stand in both.
- The test is over families, the templates, on the difference in certified completions summed over a family's units.
- Attempts are proposals, as the source counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_episem.verdicts.sign_flip import sign_flip
from pytest_episem.workflows.check import Judged
from pytest_episem.workflows.summary import Named, Row, WorkflowSummary, certified, template_of

SPLITS = ("pilot", "held-out")
_ORDER = ("none", "evidence", "advice")


@dataclass(frozen=True, slots=True)
class Told:
    """One kind of guidance on one side of the split, over all agents; ``agents`` counts them."""

    guidance: str
    split: str
    agents: int
    row: Row


@dataclass(frozen=True, slots=True)
class Stratum:
    """Paired units of one agent or one template: how many, and how many certified with less and with more."""

    name: str
    pairs: int
    less: int
    more: int


@dataclass(frozen=True, slots=True)
class Guided:
    """Two kinds of guidance on one side of the split, paired.

    ``sign_flip`` is the exact two-sided p-value over families; ``agents``, ``templates`` are the strata.
    """

    split: str
    less: str
    more: str
    agents: tuple[Stratum, ...]
    templates: tuple[Stratum, ...]
    sign_flip: float | None

    @property
    def total(self) -> Stratum:
        """All units."""
        return Stratum("all", *(sum(getattr(one, key) for one in self.agents) for key in ("pairs", "less", "more")))


def told(runs: Named) -> list[Told]:
    """Return a row for each kind of guidance and side of the split; none unless two kinds were run."""
    kinds = _kinds(runs)
    if len(kinds) < 2:
        return []
    found = []
    for split in SPLITS:
        for guidance, summaries in kinds.items():
            row = Row(guidance)
            for summary in summaries:
                for judged in _of(summary, split).values():
                    row.add(judged.trial, bool(judged.refuted))
            if row.runs:
                found.append(Told(guidance, split, len({str(one.run["agent"]) for one in summaries}), row))
    return found


def guided(runs: Named) -> list[Guided]:
    """Return what more guidance changed, for each side of the split that has a pair; none unless two kinds were run."""
    kinds = _kinds(runs)
    names = sorted(kinds, key=_place)
    if len(names) < 2:
        return []
    less = "evidence" if "evidence" in names[:-1] else names[0]
    units = [_units(split, kinds[less], kinds[names[-1]]) for split in SPLITS]
    return [_guided(split, less, names[-1], found) for split, found in zip(SPLITS, units, strict=True) if found]


def _place(guidance: str) -> tuple[int, str]:
    return _ORDER.index(guidance.partition(":")[0]), guidance


def _kinds(runs: Named) -> dict[str, list[WorkflowSummary]]:
    """The runs by guidance, those that may be set beside the first."""
    kinds: dict[str, list[WorkflowSummary]] = {}
    for _, summary in runs:
        if all(summary.run[name] == runs[0][1].run[name] for name in ("bank", "cases", "form", "shield")):
            kinds.setdefault(str(summary.run["guidance"]), []).append(summary)
    return {name: kinds[name] for name in sorted(kinds, key=_place)}


def _of(summary: WorkflowSummary, split: str) -> dict[str, Judged]:
    return {case: one for case, one in summary.cases.items() if (case in summary.pilot) == (split == "pilot")}


@dataclass(frozen=True, slots=True)
class _Unit:
    agent: str
    template: str
    less: bool
    more: bool


def _units(split: str, less: Iterable[WorkflowSummary], more: Iterable[WorkflowSummary]) -> list[_Unit]:
    by_agent = {str(one.run["agent"]): _of(one, split) for one in less}
    return [
        _Unit(agent, template_of(case), certified(by_agent[agent][case]), certified(judged))
        for summary in more
        if (agent := str(summary.run["agent"])) in by_agent
        for case, judged in _of(summary, split).items()
        if case in by_agent[agent] and not judged.refuted and not by_agent[agent][case].refuted
    ]


def _guided(split: str, less: str, more: str, units: list[_Unit]) -> Guided:
    templates = tuple(_strata(units, "template"))
    flips = sign_flip(one.more - one.less for one in templates)
    return Guided(split, less, more, tuple(_strata(units, "agent")), templates, flips)


def _strata(units: list[_Unit], by: str) -> Iterator[Stratum]:
    for name in dict.fromkeys(getattr(unit, by) for unit in units):
        own = [unit for unit in units if getattr(unit, by) == name]
        yield Stratum(name, len(own), sum(unit.less for unit in own), sum(unit.more for unit in own))
