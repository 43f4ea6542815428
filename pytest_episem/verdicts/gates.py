"""Gates: limits on a suite's metrics, held against a run's plan and records. Pure, and closed by default.

Whatever leaves a doubt fails: no pair selected, no completed trial, coverage below what is asked for, a value or an
interval that does not exist, an errored trial, a pair the baseline does not know. There is no way to pass but to have
been measured and to hold the limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.unanswered import unanswered, unanswered_words
from pytest_episem.suite import Measured, Metric, Suite, suite, suites
from pytest_episem.text import printable
from pytest_episem.verdicts.baseline import Baseline
from pytest_episem.verdicts.intervals import MIN_FAMILIES, Bootstrap, Estimate, Kind, estimate
from pytest_episem.verdicts.measure import measure

Side = Literal["max", "min"]
GateOn = Literal["point", "ci"]

LIMITS: Mapping[str, Metric] = {metric.gate: metric for found in suites() for metric in found.gated}
"""The gates by name, as options spell them."""
SUITE_OF: Mapping[str, str] = {metric.gate: found.name for found in suites() for metric in found.metrics}
"""The suite of each gate."""
REGRESSION = "max-regression"
MAX_UNANSWERED = 5.0
"""Percent of trials without an answer that a gate accepts unless told otherwise."""
TOLERANCE = 1e-9
"""Percentage points by which rounding in floating point may miss a limit that is met exactly."""
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)")
_DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]+")


@dataclass(frozen=True, slots=True)
class Limit:
    """One gate: ``name`` as in ``LIMITS`` or ``REGRESSION``, ``percent`` (points for a regression), and the domain it
    speaks of, ``None`` for all selected pairs."""

    name: str
    percent: float
    domain: str | None = None

    @property
    def key(self) -> str:
        """Identifies the gate: ``max-critical-ucr`` or ``max-critical-ucr[finance]``."""
        return f"{self.name}[{self.domain}]" if self.domain else self.name


@dataclass(frozen=True)
class Gates:
    """All gates of a run.

    ``gate_on``: hold the value to the limit (``point``), or the bound of its 95 % interval on the limit's side
    (``ci``). ``min_coverage``: percent of the pairs a gate speaks of that must be decided completely; undecided ones
    count at their worst value. ``max_unanswered``: percent of a metric's trials that may be without an answer where
    saying nothing looks good. ``baseline``: what regressions are measured against.
    """

    limits: tuple[Limit, ...] = ()
    gate_on: GateOn = "point"
    min_coverage: float = 100.0
    max_unanswered: float = MAX_UNANSWERED
    baseline: Baseline | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one gate: its key, what it demands in words, whether it passed, and why."""

    key: str
    demand: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class GateResult:
    """The verdicts on a run, what they speak of (``50 of 300 pairs, finance``), and the six over all of it."""

    verdicts: list[Verdict] = field(default_factory=list)
    scope: str = ""
    values: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def failed(self) -> list[Verdict]:
        """The gates that did not pass."""
        return [verdict for verdict in self.verdicts if not verdict.passed]

    @property
    def passed(self) -> bool:
        """Whether there were gates and all of them passed."""
        return bool(self.verdicts) and not self.failed

    @property
    def line(self) -> str:
        """The one line that states the verdict."""
        word, shown = ("PASSED", self.verdicts) if self.passed else ("FAILED", self.failed)
        details = [verdict.detail for verdict in shown if not (verdict.passed and verdict.key == COMPLETE)]
        return printable(f"episem gate: {word} ({self.scope}): {_some(details) or 'nothing was evaluated'}")


COMPLETE = "complete-run"


def _some(details: Sequence[str], most: int = 4) -> str:
    shown = list(details[:most])
    return "; ".join(shown + ([f"and {len(details) - most} more"] if len(details) > most else []))


# What people write ----------------------------------------------------------------------------------------------


def read_limits(name: str, raw: Any, where: str, domains: Collection[str] | None = None) -> list[Limit]:
    """Read what one place says of one gate: a number, a text with one limit a line or with commas between, or a list of
    these. Every place is read by this: an option, a key of a file, ``episem gate``.

    Raises:
        EpisemError: a limit that is none, nothing at all, or two limits for the same pairs.
        UnknownName: a domain is none of ``domains`` (if given).
    """
    found: list[Limit] = []
    for text in _texts(raw, where):
        limit = parse_limit(name, text, where, domains)
        if any(limit.key == other.key for other in found):
            raise EpisemError(f"{where}: two limits for {limit.domain or 'all pairs'}; keep one")
        found.append(limit)
    return found


def _texts(raw: Any, where: str) -> list[str]:
    if isinstance(raw, (list, tuple)) and raw:
        return [text for part in raw for text in _texts(part, where)]
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        raise EpisemError(f"{where} must be a percentage such as 5, or a list with finance:5 in it, not {raw!r}")
    decimal = _DECIMAL_COMMA.search(str(raw))
    if decimal is not None:
        # Half of the world writes 89,5 for 89.5; as two limits it would be 5, an open gate.
        point, apart = decimal[0].replace(",", "."), decimal[0].replace(",", ", ")
        raise EpisemError(f"{where}: {str(raw).strip()!r}: write {point} for a decimal, or {apart!r} for two limits")
    texts = [part for line in str(raw).splitlines() for part in line.split(",") if line.strip()]
    if not texts:
        raise EpisemError(f"{where} is empty; remove it, or give a percentage")
    return texts


def parse_limit(name: str, text: str, where: str, domains: Collection[str] | None = None) -> Limit:
    """Read ``5`` or ``finance:5`` as the limit ``name``, percent; ``where`` says which option or key it stands in.

    A share written for a percentage must not open a gate: from 0 to 1, a smallest value needs its unit (``0.9 %``).

    Raises:
        EpisemError: not a number from 0 to 100.
        UnknownName: the domain is none of ``domains`` (if given).
    """
    domain, colon, number = text.rpartition(":")
    domain = domain.strip()
    if colon and not domain:
        raise EpisemError(f"{where} {text.strip()!r}: a domain's limit reads domain:percent, such as finance:5")
    if domain and domains is not None and domain not in domains:
        raise UnknownName(f"domain in {where}", domain, domains)
    return Limit(name, parse_percent(number, where, loose_below=name.startswith("min-")), domain or None)


def parse_percent(text: str, where: str, loose_below: bool) -> float:
    """Read a percentage; ``loose_below`` says that a small number demands little, so that 0.9 needs its unit.

    Raises:
        EpisemError: not a number from 0 to 100.
    """
    text = text.strip()
    found = _NUMBER.fullmatch(text)
    value = float(found[1]) if found else math.nan
    if found is None or not 0 <= value <= 100:
        raise EpisemError(f"{where} must be a percentage from 0 to 100, not {text!r}")
    if loose_below and 0 < value <= 1 and not found[2]:
        raise EpisemError(f"{where} is in percent: write {100 * value:g} for {100 * value:g} %, or '{text}%'")
    return value


def combine(*sources: Iterable[Limit]) -> tuple[Limit, ...]:
    """Return the limits of several sources; the later source wins where two speak of one gate and domain."""
    found = {limit.key: limit for source in sources for limit in source}
    order = [*LIMITS, REGRESSION]
    return tuple(sorted(found.values(), key=lambda limit: (order.index(limit.name), limit.domain or "")))


# Verdicts -------------------------------------------------------------------------------------------------------


def evaluate(
    run: Run,
    gates: Gates,
    complaints: Sequence[str] = (),
    totals: Mapping[str, int] | None = None,
    banks: Sequence[Any] = (),
) -> GateResult:
    """Return the verdicts of ``gates`` on a run.

    ``complaints`` are further reasons, beside those of the run's own session, for which the run as a whole cannot be
    trusted; each fails it. ``totals`` says how many pairs or cases each suite has in all, for the words alone;
    ``banks`` are those at hand, with which records are replayed.

    Nothing is taken from what happened to be collected or recorded: N, the atoms, the settings and so every
    denominator come from the plan.
    """
    played = [_Played(suite(name), suite(name).group(run, banks)) for name in run.header.suites]
    bootstrap = Bootstrap() if gates.gate_on == "ci" else None
    verdicts = [_complete(run, played, gates, complaints)]
    for limit in gates.limits:
        verdicts += _verdicts(limit, played, gates, bootstrap)
    values = {metric.name: measure(metric, one.tasks) for one in played for metric in one.suite.metrics}
    return GateResult(verdicts if gates.limits else [], scope_words(played, totals or {}), values)


@dataclass(frozen=True)
class _Played:
    """A suite, and what of it a run planned."""

    suite: Suite
    tasks: Sequence[Measured]

    def in_domain(self, domain: str | None) -> list[Measured]:
        return [task for task in self.tasks if domain in (None, task.domain)]


def _verdicts(limit: Limit, played: Sequence[_Played], gates: Gates, bootstrap: Bootstrap | None) -> list[Verdict]:
    wanted = gates.baseline.suite if limit.name == REGRESSION and gates.baseline else SUITE_OF.get(limit.name)
    one = next((one for one in played if wanted in (None, one.suite.name)), None)
    one = one or _Played(suite(wanted or "evidence"), [])
    scope = _Scope(limit, one.suite, one.in_domain(limit.domain), gates, bootstrap)
    return scope.regressions() if limit.name == REGRESSION else [scope.limit_verdict()]


def scope_words(played: Sequence[_Played], totals: Mapping[str, int]) -> str:
    """Return what a verdict speaks of, ``50 of 300 pairs, finance``."""
    found = [_scope(one, totals.get(one.suite.name)) for one in played if one.tasks]
    return "; ".join(found) or (f"no {played[0].suite.unit[0]}" if played else "nothing")


def _scope(played: _Played, total: int | None) -> str:
    n, domains = len(played.tasks), sorted({task.domain for task in played.tasks})
    of = f" of {total}" if total and total != n else ""
    where = ", ".join(domains) if len(domains) <= 3 else f"{len(domains)} domains"
    return f"{n}{of} {played.suite.unit[n != 1 or bool(of)]}, {where}"


def _complete(run: Run, played: Sequence[_Played], gates: Gates, complaints: Sequence[str]) -> Verdict:
    """The run itself: there is one, its session ended and has nothing against it, and nothing of it was run in part."""
    found = list(dict.fromkeys([*complaints, *_session(run)]))
    for one in played:
        lacking = _lacking(run, one, gates)
        if lacking:
            found.append(lacking)
    return Verdict(COMPLETE, "the run is complete", not found, "; ".join(found) or "the run is complete")


def _lacking(run: Run, played: _Played, gates: Gates) -> str:
    """Return what of a suite is missing; empty if nothing is."""
    one, many = played.suite.unit
    trials = run.of(played.suite.name).values()
    if not played.tasks:
        return f"no {one} was selected"
    if not any(trial.completed for trial in trials):
        return f"no trial completed{_unreadable(run)}"
    silent, completed = unanswered(trials)
    if sum(silent.values()) == completed:
        return unanswered_words(silent, completed)
    lacks = [lack for task in played.tasks if (lack := played.suite.incomplete(run, task))]
    whole = 100 * (len(played.tasks) - len(lacks)) / len(played.tasks)
    if whole < gates.min_coverage - TOLERANCE:
        least = _exact(gates.min_coverage)
        return (
            f"coverage {shown(whole, gates.min_coverage)} % < {least} %, {len(lacks)} of "
            f"{_count(len(played.tasks), one, many)} incomplete, the first: {lacks[0]}{_unreadable(run)}"
        )
    return ""


def _session(run: Run) -> list[str]:
    session = run.header.session
    if session is None:
        return []
    unended = "the session did not end: it still runs or was killed; continue it with --episem-resume"
    return [*session.complaints, *([unended] if session.ended is None else [])]


def _unreadable(run: Run) -> str:
    if not run.unreadable:
        return ""
    return f"; {_count(len(run.unreadable), 'record')} cannot be read, the first: {run.unreadable[0]}"


def left_out(run: Run) -> list[str]:
    """Return what a finished run should not show: pairs of a shard that is missing, a record cut off by a kill."""
    unselected = sorted(task.task for task in run.header.plan if task.selected == 0)
    found = []
    if unselected:
        found.append(
            f"{_count(len(unselected), 'pair')} of the plan selected by no shard, the first: {unselected[0]}; "
            "was a shard left out?"
        )
    if run.torn:
        found.append("the last record is torn: the run was killed while it wrote")
    return found


@dataclass(frozen=True)
class _Scope:
    """One limit and what of a suite it speaks of."""

    limit: Limit
    suite: Suite
    tasks: list[Any]
    gates: Gates
    bootstrap: Bootstrap | None

    @property
    def where(self) -> str:
        return f" in {self.limit.domain}" if self.limit.domain else ""

    def limit_verdict(self) -> Verdict:
        """Hold one of the six to its limit."""
        metric = LIMITS[self.limit.name]
        what = f"{metric.title}{self.where}"
        demand = f"{what} {_SIGNS[metric.side]} {_exact(self.limit.percent)}"
        fault = self.unsupported(metric, what)
        if fault:
            return Verdict(self.limit.key, demand, False, fault)
        found = self.estimate(metric, lambda task: metric.worst(task), "rate")
        return self.judge(self.limit.key, what, demand, metric.side, found, metric)

    def regressions(self) -> list[Verdict]:
        """Hold each metric that the baseline knows to it: the same pairs, and how far each number is worse now."""
        verdicts = []
        known = self.suite.metrics if self.gates.baseline is None else self.gates.baseline.metrics
        for metric in known:
            key = f"{self.limit.key}/{metric.name.replace('_', '-')}"
            what = f"regression of {metric.title}{self.where}"
            demand = f"{what} <= {_exact(self.limit.percent)} pp"
            fault = self.unsupported(metric, what) or self.unmatched(metric, what)
            if fault:
                verdicts.append(Verdict(key, demand, False, fault))
            else:
                found = self.estimate(metric, self.worsening(metric), "difference")
                verdicts.append(self.judge(key, what, demand, "max", found, metric))
        return verdicts

    def worsening(self, metric: Metric) -> Callable[[Any], float]:
        assert self.gates.baseline is not None
        before, sign = self.gates.baseline.tasks, 1 if metric.better == "lower" else -1
        return lambda task: sign * (metric.worst(task) - (before[task.id].values[metric.name] or 0.0))

    def estimate(self, metric: Metric, part: Callable[[Any], float], kind: Kind) -> Estimate:
        """Return the mean over all tasks, undecided ones at their worst."""
        covered = [metric.covered(task) for task in self.tasks]
        parts = [(part(task), 1.0) for task in self.tasks]
        return estimate(parts, covered, [task.family for task in self.tasks], self.bootstrap, kind)

    def unsupported(self, metric: Metric, what: str) -> str:
        """Return why the selection or its records cannot support a verdict; empty if they can."""
        if not self.tasks:
            return (
                f"{what}: no {self.suite.unit[0]}{f' of {self.limit.domain}' if self.limit.domain else ''} was selected"
            )
        open_tasks = [task.id for task in self.tasks if not metric.covered(task)]
        coverage = 100 * (len(self.tasks) - len(open_tasks)) / len(self.tasks)
        if not any(metric.value(task) is not None for task in self.tasks):
            return f"{what}: no completed trial that it is computed on"
        if coverage < self.gates.min_coverage - TOLERANCE:
            return (
                f"{what}: coverage {shown(coverage, self.gates.min_coverage)} % < {_exact(self.gates.min_coverage)} %, "
                f"{len(open_tasks)} of {_count(len(self.tasks), *self.suite.unit)} incomplete, the first: "
                f"{open_tasks[0]}"
            )
        return self.unanswered(metric, what)

    def unanswered(self, metric: Metric, what: str) -> str:
        """Return that too many of the trials which silence would flatter have no answer; empty if not."""
        found, completed = unanswered(trial for task in self.tasks for trial in metric.flattered(task))
        share, most = 100 * sum(found.values()) / max(1, completed), self.gates.max_unanswered
        if share <= most + TOLERANCE:
            return ""
        return f"{what}: {unanswered_words(found, completed)}, {shown(share, most)} % > {_exact(most)} %"

    def unmatched(self, metric: Metric, what: str) -> str:
        """Return why the baseline cannot be compared with; empty if it can."""
        baseline = self.gates.baseline
        if baseline is None:
            return f"{what}: there is no baseline"
        new = [task.id for task in self.tasks if task.id not in baseline.tasks]
        if new:
            one, many = self.suite.unit
            more = f" and {_count(len(new) - 1, f'more {one}', f'more {many}')}" if new[1:] else ""
            return f"{what}: not in the baseline: {new[0]}{more}; bless a run that has every {one} (episem bless)"
        for task in self.tasks:
            known = baseline.tasks[task.id]
            if {key: tuple(names) for key, names in task.terms.items()} != known.terms:
                return f"{what}: the atoms of {task.id} differ from the baseline's"
            value = known.values.get(metric.name)
            if value is None or not math.isfinite(value):
                return f"{what}: the baseline did not decide {task.id}"
        return ""

    def judge(self, key: str, what: str, demand: str, side: Side, found: Estimate, metric: Metric) -> Verdict:
        value, limit = found.value, self.limit.percent
        if value is None or not math.isfinite(value):
            return Verdict(key, demand, False, f"{what}: no value")
        open_tasks = sum(not metric.covered(task) for task in self.tasks)
        worst = (
            f" ({_count(open_tasks, *(f'undecided {word}' for word in self.suite.unit))} at the worst)"
            if open_tasks
            else ""
        )
        point = f"{what} {shown(value, limit)}"
        if self.gates.gate_on == "ci":
            if found.interval is None:
                families = _count(found.n_families, "family", "families")
                return Verdict(key, demand, False, f"{point}: no interval, {families} of at least {MIN_FAMILIES}")
            value = found.interval[1 if side == "max" else 0]
            if not math.isfinite(value):
                return Verdict(key, demand, False, f"{point}: no interval")
            bound = "upper" if side == "max" else "lower"
            point = f"{point}, {bound} 95 % bound {shown(value, limit)}"
        passed = value <= limit + TOLERANCE if side == "max" else value >= limit - TOLERANCE
        sign = _SIGNS[side] if passed else _BROKEN[side]
        unit = " pp" if self.limit.name == REGRESSION else ""
        return Verdict(key, demand, passed, f"{point}{unit} {sign} {_exact(limit)}{unit}{worst}")


_SIGNS: Mapping[Side, str] = {"max": "<=", "min": ">="}
_BROKEN: Mapping[Side, str] = {"max": ">", "min": "<"}


def shown(value: float, beside: float | None = None) -> str:
    """Return a percentage with as many decimals as tell it from ``beside``, at least none and usually one."""
    for decimals in range(1, 10):
        text = f"{value:.{decimals}f}"
        if beside is None or abs(value - beside) <= TOLERANCE or float(text) != float(f"{beside:.{decimals}f}"):
            break
    return text.rstrip("0").rstrip(".") if text != "-0.0" else "0"


def _exact(limit: float) -> str:
    return f"{limit:.10g}"


def _count(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
