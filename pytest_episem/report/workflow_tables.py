"""The tables of the workflow suite, once, for the terminal, Markdown, CSV and HTML alike. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_episem.report import words
from pytest_episem.report.tables import Cell, Column, Table
from pytest_episem.report.workflow_words import against, ending
from pytest_episem.verdicts.intervals import Estimate
from pytest_episem.workflows.guided import Stratum, guided, told
from pytest_episem.workflows.summary import ALL, Named, WorkflowSummary, losses, savings

AGENT = Column("agent", "Agent", "text")


def workflow_tables(runs: Named) -> list[Table]:
    """Return every table of runs side by side, those without a row left out."""
    made = [build(runs) for build in _TABLES]
    return [table for table in made if not table.empty]


def share(numerator: int, summary: WorkflowSummary) -> Estimate:
    """Return a count of recorded cases with its denominator and the run's coverage."""
    return _share(numerator, summary.row.runs, summary.coverage)


def _share(numerator: int, denominator: int, coverage: float) -> Estimate:
    return Estimate(100 * numerator / denominator if denominator else None, numerator, denominator, coverage)


def _by_run(runs: Named, cells: Callable[[WorkflowSummary], Sequence[Cell]]) -> list[list[Cell]]:
    return [[name, *cells(summary)] for name, summary in runs]


COUNTS = (
    Column("goal", "Goal", "count", "higher"),
    Column("new", "New violations", "count", "lower"),
    Column("handed_off", "Handed off", "count"),
    Column("withdrawn", "Withdrawn", "count"),
    Column("unknown", "Unknown", "count"),
    Column("claims", "Claims", "count"),
)
COSTS = (
    Column("fee", "Fee", "count", "lower"),
    Column("actions", "Actions", "count", "lower"),
    Column("time", "Time", "count", "lower"),
    Column("false_certificates", "False certificates", "count", "lower", "False certif."),
    Column("refuted", "Refuted", "count", "lower"),
)


def workflows(runs: Named) -> Table:
    """How the cases ended and what that cost, Table 3 of the source."""
    unchecked = any(summary.row.claims or not summary.run["shield"] for _, summary in runs)
    counts = [column for column in (*COUNTS, *COSTS) if unchecked or column.key != "claims"]
    recorded = Column("recorded", "Recorded", "of")
    columns = (AGENT, Column("certified", "Certified", "of", "higher"), *counts, recorded)
    note = (
        "Certified: the finish was safe in every compatible world. Goal: what was approved is so at the deadline, "
        "known or not. New violations: cases with harm that the recovery did. Fee, actions and time are sums of "
        "synthetic units; waiting and handing off are actions. False certificates: what the finish claims is not so. "
        "Refuted: the record does not replay; it enters no other number. Handed off, withdrawn and unknown are neither "
        "success nor failure."
    )
    rows = _by_run(
        runs,
        lambda s: [
            share(s.row.certified, s),
            *(getattr(s.row, column.key) for column in counts),
            _share(s.row.runs, len(s.planned), s.coverage),
        ],
    )
    return Table("workflows", "Workflows: how the cases ended", note, columns, rows)


def proposals(runs: Named) -> Table:
    """What was wrong with proposals, whether or not the shield stopped them."""
    columns = (
        AGENT,
        Column("proposals", "Proposals", "count"),
        Column("unsafe", "Unsafe", "count", "lower"),
        Column("false_claims", "False claims", "count", "lower"),
        Column("either", "Unsafe or false", "count", "lower"),
        Column("not_offered", "Not offered", "count", "lower"),
        Column("unapproved", "Unapproved", "count", "lower"),
        Column("refused", "Refused", "count", "lower"),
        Column("faulty", "Cases with either", "of", "lower"),
        Column("given_up", "Gave up", "of", "lower"),
        Column("certain", "Claims certain when made", "of", "higher"),
    )
    note = (
        "Unsafe: could have done harm in some compatible world. False claims: not certain when they were made. Not "
        "offered: there is no such action, or it came too late. Unapproved: requests for what nobody approved, no "
        "proposals and never carried out. Cases with an unsafe proposal or a false claim fail, whether the shield "
        "refused it or not. Gave up: ended without a claim where more could have been had. Claims certain when made: "
        "of those that ended a case; the others are luck at best."
    )
    rows = _by_run(
        runs,
        lambda s: [
            s.row.proposals,
            s.row.unsafe,
            s.row.false_claims,
            s.row.unsafe + s.row.false_claims,
            s.row.not_offered,
            s.row.unapproved,
            s.row.refusals,
            share(s.row.faulty, s),
            share(s.row.given_up, s),
            _share(s.row.certain, s.row.certified + s.row.withdrawn + s.row.claims, s.coverage),
        ],
    )
    return Table("workflows-proposals", "Workflows: what was wrong with proposals", note, columns, rows)


COMPUTATION = (
    Column("episode_ms", "Episodes ms", "ms"),
    Column("selection_ms", "Selection ms", "ms"),
    Column("decisions", "Decisions", "count"),
    Column("median_ms", "Median ms", "ms"),
    Column("p95_ms", "p95 ms", "ms"),
    Column("cutoffs", "Cut off", "count"),
    Column("fallbacks", "Fell back", "count"),
)


def computation(runs: Named) -> Table:
    """How long choosing took, Table 4 of the source."""
    note = (
        "Wall time of this machine in milliseconds: of all episodes, of all decisions, and of one decision the median "
        "and the 95th percentile. Cut off: decisions whose search was cut short; fell back: those among them that "
        "followed another controller. Of the records that stand."
    )
    timed = [(name, summary) for name, summary in runs if summary.row.selection]
    rows = _by_run(timed, lambda s: [s.row.computation[column.key] for column in COMPUTATION])
    return Table("workflows-computation", "Workflows: computation", note, (AGENT, *COMPUTATION), rows)


def templates(runs: Named) -> Table:
    """Certified completions by template, Table 9 of the source."""
    names = dict.fromkeys(name for _, summary in runs for name in summary.templates)
    columns = [Column("template", "Workflow", "text"), Column("planned", "Cases", "count")]
    columns += [
        Column(f"certified:{name}", name or "Certified", "of", "higher", name.replace("/", "/ ")) for name, _ in runs
    ]
    rows: list[list[Cell]] = []
    for name in names:
        found = [summary.templates.get(name) for _, summary in runs]
        cells = [_share(t.certified, t.recorded, t.recorded / t.planned) if t is not None else None for t in found]
        rows.append([name, max(t.planned for t in found if t is not None), *cells])
    note = "Certified completions of the recorded cases. Workflows are identifiers, not a sample of anything."
    return Table("workflows-templates", "Workflows: certified by workflow", note, tuple(columns), rows)


def costs(runs: Named) -> Table:
    """What joint planning saves beside the capability rules, Table 10 of the source."""
    columns = (
        Column("template", "Workflow", "text"),
        Column("fee", "Fee saved", "count"),
        Column("actions", "Actions saved", "count"),
        Column("seconds", "Extra seconds", "s"),
        Column("break_even", "Break-even", "s", short="Break- even"),
        Column("alike", "End alike", "of"),
    )
    note = (
        "Joint planning beside the capability rules, over the cases whose records stand in both runs; positive savings "
        "favour joint planning. Extra seconds: more time spent choosing. Break-even: extra seconds a unit of fee "
        "saved, where there are both; no amount of money. End alike: how many of these cases both end in the same way."
    )
    rows: list[list[Cell]] = [
        [
            "all workflows" if saving.template == ALL else saving.template,
            saving.fee,
            saving.actions,
            saving.seconds,
            saving.break_even,
            _share(saving.alike, saving.cases, saving.cases / saving.planned),
        ]
        for saving in savings(runs)
    ]
    return Table("workflows-savings", "Workflows: what joint planning saves", note, columns, rows)


def guidance(runs: Named) -> Table:
    """How agents end that are told less or more, Tables 5 and 6 of the source."""
    columns = (
        Column("split", "Cases", "text"),
        Column("guidance", "Told", "text"),
        Column("agents", "Agents", "count"),
        Column("certified", "Certified", "of", "higher"),
        Column("goal", "Goal", "of", "higher"),
        Column("handed_off", "Handed off", "of"),
        Column("attempts", "Attempts", "count"),
        Column("rejected", "Rejected", "count", "lower"),
    )
    note = (
        "The same agents on the same cases, told nothing beside the answers, what is certain and open, or also a next "
        "action. Pilot cases are for trying things out and say nothing of the others. Attempts are proposals, rejected "
        "those of them that the shield refused."
    )
    rows: list[list[Cell]] = [
        [
            one.split,
            one.guidance,
            one.agents,
            *(_share(getattr(one.row, key), one.row.runs, 1.0) for key in ("certified", "goal", "handed_off")),
            one.row.proposals,
            one.row.refusals,
        ]
        for one in told(runs)
    ]
    return Table("workflows-guidance", "Workflows: what agents were told", note, columns, rows, heads=2)


def guidance_cost(runs: Named) -> Table:
    """What was wrong with proposals and what was used, by what agents were told, Table 7 of the source."""
    columns = (
        Column("split", "Cases", "text"),
        Column("guidance", "Told", "text"),
        Column("unsafe", "Unsafe proposals", "count", "lower"),
        Column("false_claims", "False claims", "count", "lower"),
        Column("either", "Either", "count", "lower"),
        Column("requests", "Requests", "count"),
        Column("prompt_tokens", "Prompt tokens", "count"),
        Column("completion_tokens", "Completion tokens", "count"),
    )
    note = (
        "Proposals that could have done harm, and claims that were not certain; either: their union. What planning the "
        "advice took is not counted in tokens. A number of which a part is not known is not shown."
    )
    rows: list[list[Cell]] = [
        [
            one.split,
            one.guidance,
            one.row.unsafe,
            one.row.false_claims,
            one.row.unsafe + one.row.false_claims,
            *one.row.usage.values(),
        ]
        for one in told(runs)
    ]
    return Table(
        "workflows-guidance-cost", "Workflows: proposals and tokens by what was told", note, columns, rows, heads=2
    )


def guidance_pairs(runs: Named) -> Table:
    """Certified completions of the same agent on the same case, told less and more, Table 8 of the source."""
    columns = (
        Column("split", "Cases", "text"),
        Column("stratum", "Of", "text"),
        Column("pairs", "Pairs", "count"),
        Column("less", "Told less", "count"),
        Column("more", "Told more", "count"),
        Column("p", "Sign-flip p", "p"),
    )
    note = (
        "Pairs of agent x case; certified completions with less and with more guidance. Workflows without a net "
        "difference are one line. Sign-flip p: exact, two-sided, over workflows; the probability of a difference at "
        "least as large if being told more changed nothing. Workflows are no sample of anything."
    )
    rows: list[list[Cell]] = []
    for found in guided(runs):
        moved = [one for one in found.templates if one.less != one.more]
        still = [one for one in found.templates if one.less == one.more]
        others = (sum(getattr(one, key) for one in still) for key in _SUMS)
        rest = Stratum(words.plural(len(still), "other workflow"), *others)
        whole = Stratum(f"{found.less} and {found.more}", *(getattr(found.total, key) for key in _SUMS))
        rows.append([found.split, *_stratum(whole), found.sign_flip])
        rows += [[found.split, *_stratum(one), None] for one in (*found.agents, *moved, *([rest] if still else []))]
    return Table("workflows-guidance-pairs", "Workflows: told less and more, in pairs", note, columns, rows, heads=2)


_SUMS = ("pairs", "less", "more")


def _stratum(one: Stratum) -> list[Cell]:
    return [one.name, one.pairs, one.less, one.more]


_VECTOR = ("not certified", "unknown", "handed off", "goal missed")


def joint_losses(runs: Named) -> Table:
    """The single cases in which another run does better than joint planning."""
    columns = (
        Column("case", "Case", "text"),
        Column("other", "Better", "text"),
        Column("ends", "Ends", "text"),
        Column("fee", "Fee", "count", "lower"),
        Column("actions", "Actions", "count", "lower"),
        Column("time", "Time", "count", "lower"),
        Column("joint_ends", "Joint ends", "text"),
        Column("joint_fee", "Joint fee", "count", "lower"),
        Column("joint_actions", "Joint actions", "count", "lower"),
        Column("joint_time", "Joint time", "count", "lower"),
    )
    note = (
        "Joint planning is best summed over all compatible worlds; a single one may be better served by luck. Compared "
        "in this order: certified, unknown, handed off, goal, fee, actions, time; with runs of the same bank, cases "
        "and shield alone."
    )
    rows: list[list[Cell]] = [
        [loss.case, loss.other, ends(loss.cost), *loss.cost[4:], ends(loss.joint), *loss.joint[4:]]
        for loss in losses(runs)
    ]
    return Table("workflows-losses", "Workflows: single cases that joint planning loses", note, columns, rows)


def ends(cost: Sequence[int]) -> str:
    """Return how a case ended, from its part of the planner's vector."""
    return ", ".join(word for word, set_ in zip(_VECTOR, cost, strict=False) if set_) or "certified"


def coverage(runs: Named) -> Table:
    """What was planned, recorded and replayed."""
    columns = (
        AGENT,
        Column("planned", "Planned", "count"),
        Column("recorded", "Recorded", "count"),
        Column("missing", "Missing", "count", "lower"),
        Column("refuted", "Refuted", "count", "lower"),
        Column("certifiable", "Certifiable, not finished", "count", "lower", "Certifi- able"),
        Column("replayed", "Replayed", "text"),
        Column("shield", "Shield", "text"),
        Column("told", "Told", "text"),
        Column("form", "Trouble", "text"),
        Column("unmet", "Never met", "count", "lower"),
        Column("cases", "Over", "text"),
    )
    note = (
        "Certifiable, not finished: ended without a claim where a finish would have been certified. Replayed: every "
        "record was played and judged once more before it counted; that needs the bank of the run. Told: beside the "
        "answers. Never met: cases whose trouble did not come, since what it strikes was never called."
    )
    rows = _by_run(
        runs,
        lambda s: [
            len(s.planned),
            s.row.runs,
            len(s.missing),
            s.row.refuted,
            s.row.certifiable,
            "yes" if s.replayed else "no: bank not at hand",
            "on" if s.run["shield"] else "off",
            s.run["guidance"],
            {"journal": "in the journal", "live": "live"}[s.run["form"]],
            s.row.unmet,
            s.run["cases"],
        ],
    )
    return Table("workflows-coverage", "Workflows: coverage and checks", note, columns, rows)


_TABLES = (
    workflows,
    proposals,
    guidance,
    guidance_cost,
    guidance_pairs,
    computation,
    templates,
    costs,
    joint_losses,
    coverage,
)


def cases(runs: Named) -> Table:
    """Every case of every run, for files."""
    columns = (
        AGENT,
        Column("case", "Case", "text"),
        Column("ending", "Ending", "text"),
        Column("against", "Against it", "text"),
        *(Column(name, name.capitalize(), "count") for name in ("goal", "fee", "actions", "time")),
    )
    rows: list[list[Cell]] = []
    for name, summary in runs:
        for case in summary.planned:
            judged = summary.cases.get(case)
            if judged is None:
                rows.append([name, case, "no record", "", None, None, None, None])
                continue
            verdict = judged.trajectory.verdict
            numbers = (int(verdict.goal), verdict.fee, verdict.actions, verdict.time)
            kept = [None] * len(numbers) if judged.refuted else numbers
            rows.append([name, case, ending(judged)[0], against(judged), *kept])
    return Table("workflows-cases", "Workflows: every case", "", columns, rows, heads=2)
