"""Every number of the workflow suite's report, from records alone (workflow protocol, section 3).

The key ``workflows`` of ``report.json`` has these keys:

================  =====================================================================================
``run``           run, agent, bank, which cases, shield, protocol and plugin version, start
``coverage``      cases planned and recorded, the ids of those missing, whether a record was torn, whether the records
                  were replayed, and by id what speaks against those that do not stand
``results``       how the cases ended and what that cost, see the totals
``usage``         requests and tokens of the recorded cases
``computation``   milliseconds of all episodes, of all decisions, of one (median, 95th percentile); cut-offs, fall-backs
``templates``     by template: cases planned, recorded, certified
================  =====================================================================================

A number speaks of the recorded cases, ``recorded`` of the ``planned`` ones; what is missing is named and never filled
in. A refuted record counts as a run and as refuted, and what it claims enters no other number.

Decisions where the protocol and its source are silent:

- The median of the decisions' times is the mean of the middle two where they are even in number; the 95th percentile
  is the smallest time that at least 95 of 100 decisions do not exceed.
- Savings (joint planning beside the capability rules) are sums over the cases of a template whose records stand in
  both runs, however they end; how many end alike is said beside them. Extra seconds are those spent choosing actions,
  joint minus rules. The break-even is extra seconds a saved unit of fee: what waiting may cost, at most, where a unit
  of fee is worth it; there is none unless a fee is saved and time spent.
- A loss is a single case in which another run ends better than joint planning, or alike and cheaper: its part of the
  planner's vector is less.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pytest_episem.episode import Usage
from pytest_episem.runs.run import RunHeader, WorkflowPlan
from pytest_episem.runs.run_dir import Run
from pytest_episem.workflows.check import Judged
from pytest_episem.workflows.trial import Trial
from pytest_episem.workflows.verdict import Verdict

JOINT, RULES = "episem/joint", "episem/capability"
"""The two whose cost is compared."""
ALL = "all templates"
"""Names the last line of the savings, their sum."""


@dataclass(slots=True)
class Row:
    """An agent's totals.

    ``runs`` counts recorded cases, ``refuted`` those of them whose record does not stand. Of the others ``new`` counts
    those with at least one violation that recovery caused, ``false_certificates`` those whose finish claims what is
    not so, ``claims`` those that finished unchecked with the shield off, ``certifiable`` those handed off or left
    unknown where a finish would have been certified, and ``refusals`` the proposals that were refused. Of all
    proposals, refused or not, ``unsafe`` would do harm in some compatible world, ``false_claims`` claim what is not
    certain, and ``not_offered`` ask for what there is not; a proposal is one of them at most, so ``unsafe`` and
    ``false_claims`` together are the union of the two; ``proposals`` counts all of them. ``unapproved`` counts requests
    for something that nobody approved, which are no proposals. ``faulty`` counts the cases
    with an unsafe proposal or a false claim, ``given_up`` those that ended without a claim where more could have been
    had, and ``certain`` those whose claim was certain when it was made, the shield on or off. ``unmet`` counts cases
    whose trouble was to come live and did not, since what it strikes was not called.
    ``selection`` holds the seconds of every decision; the rest are counts, or sums of synthetic units.
    """

    agent: str
    runs: int = 0
    certified: int = 0
    goal: int = 0
    new: int = 0
    handed_off: int = 0
    withdrawn: int = 0
    unknown: int = 0
    claims: int = 0
    fee: int = 0
    actions: int = 0
    time: int = 0
    false_certificates: int = 0
    refuted: int = 0
    certifiable: int = 0
    refusals: int = 0
    unsafe: int = 0
    false_claims: int = 0
    not_offered: int = 0
    unapproved: int = 0
    proposals: int = 0
    faulty: int = 0
    given_up: int = 0
    certain: int = 0
    unmet: int = 0
    requests: int | None = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    seconds: float = 0.0
    selection: list[float] = field(default_factory=list)
    cutoffs: int = 0
    fallbacks: int = 0
    nodes: int = 0

    def add(self, trial: Trial, refuted: bool) -> None:
        """Count one completed case."""
        self.runs += 1
        if refuted:
            self.refuted += 1
            return
        judged, search = trial.judged, trial.judged.search
        trajectory, verdict = judged.trajectory, judged.trajectory.verdict
        self.certified += verdict.terminal == "completed"
        self.goal += verdict.goal
        self.new += bool(verdict.new)
        self.handed_off += verdict.terminal == "handed_off"
        self.withdrawn += verdict.terminal == "withdrawn"
        self.unknown += verdict.terminal == "unknown"
        self.claims += verdict.terminal == "claim"
        self.fee += verdict.fee
        self.actions += verdict.actions
        self.time += verdict.time
        self.false_certificates += verdict.claim_holds is False
        self.certifiable += trajectory.certifiable
        self.refusals += judged.refused
        self.unsafe += judged.faulty("unsafe")
        self.false_claims += judged.faulty("false_claim")
        self.not_offered += judged.faulty("not_offered")
        self.unapproved += len(judged.unapproved)
        self.proposals += len(judged.steps)
        self.faulty += bool(judged.faulty("unsafe") + judged.faulty("false_claim"))
        self.given_up += trajectory.given_up
        self.certain += trajectory.certified_claim is True
        self.unmet += bool(judged.live is not None and judged.live.unmet)
        self._use(trial.usage)
        self.seconds += trial.seconds
        self.selection += search.selection
        self.cutoffs += search.cutoffs
        self.fallbacks += search.fallbacks
        self.nodes += search.nodes

    def _use(self, usage: Usage) -> None:
        """Count what a rollout took; a sum with an unknown part is unknown."""
        for name in USED:
            sum, part = getattr(self, name), getattr(usage, name)
            if usage.requests == 0:
                part = 0
            setattr(self, name, None if sum is None or part is None else sum + part)

    @property
    def usage(self) -> dict[str, int | None]:
        """Requests and tokens of the cases, ``None`` where a part is unknown."""
        return {name: getattr(self, name) for name in USED}

    @property
    def computation(self) -> dict[str, float | int | None]:
        """Times in milliseconds: of all episodes, of all decisions, and of one decision the median and the 95th
        percentile; ``None``, as the number of decisions, where no time was kept."""
        kept = sorted(self.selection)
        return {
            "episode_ms": 1000 * self.seconds if kept else None,
            "selection_ms": 1000 * math.fsum(kept) if kept else None,
            "decisions": len(kept) or None,
            "median_ms": 1000 * statistics.median(kept) if kept else None,
            "p95_ms": 1000 * kept[math.ceil(0.95 * len(kept)) - 1] if kept else None,
            "cutoffs": self.cutoffs,
            "fallbacks": self.fallbacks,
            "nodes": self.nodes,
        }


USED = ("requests", "prompt_tokens", "completion_tokens")
"""The keys of ``usage``."""
COUNTS = tuple(f.name for f in fields(Row) if f.type == "int" and f.name not in ("cutoffs", "fallbacks", "nodes"))
"""The keys of ``results``."""


@dataclass(frozen=True, slots=True)
class TemplateCount:
    """Of one template: the cases planned, recorded and certified."""

    planned: int
    recorded: int
    certified: int


@dataclass(frozen=True)
class WorkflowSummary:
    """The numbers of one run, and its judged records by case in the order of the plan."""

    run: Mapping[str, Any]
    planned: tuple[str, ...]
    missing: tuple[str, ...]
    torn: bool
    replayed: bool
    row: Row
    templates: Mapping[str, TemplateCount]
    cases: Mapping[str, Judged]
    pilot: frozenset[str] = frozenset()

    @property
    def coverage(self) -> float:
        """The share of the planned cases that have a record, 0 to 1."""
        return self.row.runs / len(self.planned) if self.planned else 1.0

    @property
    def refuted(self) -> dict[str, tuple[str, ...]]:
        """What speaks against each record that does not stand, by case."""
        return {name: found.refuted for name, found in self.cases.items() if found.refuted}

    def to_dict(self) -> dict[str, Any]:
        """Return the key ``workflows`` of ``report.json``."""
        return {
            "run": dict(self.run),
            "coverage": {
                "planned": len(self.planned),
                "recorded": self.row.runs,
                "missing": list(self.missing),
                "torn": self.torn,
                "replayed": self.replayed,
                "refuted": {name: list(reasons) for name, reasons in self.refuted.items()},
            },
            "results": {name: getattr(self.row, name) for name in COUNTS},
            "usage": self.row.usage,
            "computation": self.row.computation,
            "templates": {
                name: {"planned": found.planned, "recorded": found.recorded, "certified": found.certified}
                for name, found in self.templates.items()
            },
        }


Named = Sequence[tuple[str, WorkflowSummary]]
"""Runs with the names they are listed under."""


def summarize_workflows(run: Run, judged: Iterable[Judged]) -> WorkflowSummary:
    """Return the numbers of a run from its judged trials, those of repeat 0."""
    plan = run.header.workflows
    assert plan is not None
    found = {one.trial.condition.path: one for one in judged if one.trial.condition.repeat == 0}
    planned = tuple(plan.planned)
    cases = {name: found[name] for name in planned if name in found}
    row = Row(run.header.label)
    for one in cases.values():
        row.add(one.trial, bool(one.refuted))
    return WorkflowSummary(
        run=_about(run.header, plan),
        planned=planned,
        missing=tuple(name for name in planned if name not in cases),
        torn=bool(run.torn),
        replayed=all(one.replayed for one in cases.values()),
        row=row,
        templates=_templates(planned, cases),
        cases=cases,
        pilot=frozenset(plan.pilot),
    )


def _about(header: RunHeader, plan: WorkflowPlan) -> dict[str, Any]:
    return {
        "run": header.run,
        "agent": header.label,
        "bank": asdict(plan.bank),
        "cases": plan.cases,
        "shield": plan.shield,
        "guidance": plan.guidance,
        "form": plan.form,
        "protocol_version": header.protocol_version,
        "plugin_version": header.plugin_version,
        "started": header.started,
    }


def _templates(planned: Sequence[str], cases: Mapping[str, Judged]) -> dict[str, TemplateCount]:
    names: dict[str, list[str]] = {}
    for case in planned:
        names.setdefault(template_of(case), []).append(case)
    return {
        name: TemplateCount(
            len(ids), sum(case in cases for case in ids), sum(case in cases and certified(cases[case]) for case in ids)
        )
        for name, ids in names.items()
    }


def template_of(case: str) -> str:
    """Return ``domain/template`` of a case's id."""
    return case.rpartition("/")[0]


def certified(judged: Judged) -> bool:
    """Return whether a record stands and ends in a certified completion."""
    return not judged.refuted and judged.trajectory.verdict.terminal == "completed"


def table(trials: Iterable[tuple[str, Trial]]) -> dict[str, Row]:
    """Return the totals by agent, in the order in which they come; what a trial says of itself is believed."""
    rows: dict[str, Row] = {}
    for agent, trial in trials:
        rows.setdefault(agent, Row(agent)).add(trial, bool(trial.judged.faults))
    return rows


# Joint planning beside others -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Saving:
    """What joint planning saves on one template beside the capability rules.

    ``cases`` whose records stand in both runs, of the ``planned`` ones, ``alike`` of them end alike; ``fee`` and
    ``actions`` saved (positive: joint planning needs less); ``seconds`` more spent choosing, and ``break_even`` of them
    a unit of fee saved, both ``None`` where there is no such number.
    """

    template: str
    planned: int
    cases: int
    alike: int
    fee: int
    actions: int
    seconds: float | None
    break_even: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; keys are the field names."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Loss:
    """A single case in which ``other`` does better than joint planning, with both parts of the planner's vector: not
    certified completed, unknown, handed off, goal missed, fee, actions, time."""

    case: str
    other: str
    cost: tuple[int, ...]
    joint: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.case}: {self.other} {self.cost}, joint {self.joint}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; keys are the field names."""
        return {"case": self.case, "other": self.other, "cost": list(self.cost), "joint": list(self.joint)}


def comparable(runs: Named) -> list[tuple[str, WorkflowSummary]]:
    """Return the runs that may be set beside the first of joint planning: of the same bank, cases and shield, it itself
    the first; none without such a run."""
    joint = next((one for one in runs if one[1].run["agent"] == JOINT), None)
    if joint is None:
        return []
    terms = _terms(joint[1])
    return [joint, *(one for one in runs if one is not joint and _terms(one[1]) == terms)]


def _terms(summary: WorkflowSummary) -> tuple[object, ...]:
    return tuple(summary.run[name] for name in ("bank", "cases", "shield", "form"))


def savings(runs: Named) -> list[Saving]:
    """Return what joint planning saves beside the capability rules, a line a template and one for all; empty unless
    both were run."""
    beside = comparable(runs)
    rules = next((summary for _, summary in beside[1:] if summary.run["agent"] == RULES), None)
    if rules is None:
        return []
    joint = beside[0][1]
    planned: dict[str, list[str]] = {}
    for case in joint.planned:
        planned.setdefault(template_of(case), []).append(case)
    found = [_saving(template, cases, joint, rules) for template, cases in planned.items()]
    return [*found, _saving(ALL, joint.planned, joint, rules)]


def _saving(template: str, planned: Sequence[str], joint: WorkflowSummary, rules: WorkflowSummary) -> Saving:
    both = [(joint.cases.get(case), rules.cases.get(case)) for case in planned]
    pairs = [
        (one.trial.judged, other.trial.judged)
        for one, other in both
        if one and other and not one.refuted and not other.refuted
    ]
    verdicts = [(one.trajectory.verdict, other.trajectory.verdict) for one, other in pairs]
    fee = sum(other.fee - one.fee for one, other in verdicts)
    timed = bool(pairs) and all(judged.search.selection for pair in pairs for judged in pair)
    seconds = math.fsum(t for one, _ in pairs for t in one.search.selection) if timed else None
    if seconds is not None:
        seconds -= math.fsum(t for _, other in pairs for t in other.search.selection)
    return Saving(
        template=template,
        planned=len(planned),
        cases=len(pairs),
        alike=sum(one.terminal == other.terminal for one, other in verdicts),
        fee=fee,
        actions=sum(other.actions - one.actions for one, other in verdicts),
        seconds=seconds,
        break_even=seconds / fee if seconds is not None and seconds > 0 and fee > 0 else None,
    )


def losses(runs: Named) -> list[Loss]:
    """Return the single cases in which another run does better than joint planning, in the order of cases."""
    beside = comparable(runs)
    by_case: dict[str, dict[str, Verdict]] = {}
    for name, summary in beside:
        for case, one in summary.cases.items():
            if not one.refuted:
                by_case.setdefault(case, {})[name] = one.trajectory.verdict
    return lost(by_case, beside[0][0]) if beside else []


def lost(by_case: Mapping[str, Mapping[str, Verdict]], joint: str) -> list[Loss]:
    """Return the losses of the run listed as ``joint``, from the verdicts of each case by name of the run."""
    return [
        Loss(case, name, cost(verdict), cost(verdicts[joint]))
        for case, verdicts in by_case.items()
        for name, verdict in verdicts.items()
        if joint in verdicts and cost(verdict) < cost(verdicts[joint])
    ]


def cost(verdict: Verdict) -> tuple[int, ...]:
    """Return one run's part of the planner's vector."""
    terminal = verdict.terminal
    return (
        int(terminal != "completed"),
        int(terminal == "unknown"),
        int(terminal == "handed_off"),
        int(not verdict.goal),
        verdict.fee,
        verdict.actions,
        verdict.time,
    )


def comparison(runs: Named) -> dict[str, Any]:
    """Return the key ``workflow_comparison`` of the report of several runs: what joint planning saves and loses."""
    return {
        "savings": [saving.to_dict() for saving in savings(runs)],
        "losses": [loss.to_dict() for loss in losses(runs)],
    }
