"""Every table of a report, once: several runs side by side, for the terminal, Markdown, CSV and HTML alike.

A table has one row a run (or a run and a domain, a setting …) and cells that are estimates, counts or words, as
:class:`pytest_episem.evidence.metrics.summary.Summary` holds them. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pytest_episem.evidence.metrics.six import SIX
from pytest_episem.evidence.metrics.summary import Summary
from pytest_episem.evidence.metrics.tables import BOUNDARY_CLASSES, CAUSES
from pytest_episem.report import words
from pytest_episem.report.words import Unit
from pytest_episem.verdicts.intervals import Estimate

Cell: TypeAlias = Estimate | float | int | str | None
Better = Literal["higher", "lower"]
Named: TypeAlias = Sequence[tuple[str, Summary]]
"""Runs with the names they are listed under."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``key`` names it in files, ``title`` for people; ``better`` says which direction is good.

    ``short`` is the title where room is scarce.
    """

    key: str
    title: str
    unit: Unit = "%"
    better: Better | None = None
    short: str = ""

    @property
    def brief(self) -> str:
        """The shortest title."""
        return self.short or self.title


@dataclass(frozen=True, slots=True)
class Table:
    """A table: ``key`` is its file name and anchor; the first ``heads`` columns name a row."""

    key: str
    title: str
    note: str
    columns: tuple[Column, ...]
    rows: list[list[Cell]]
    heads: int = 1

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.rows


_MODEL = Column("model", "Model", "text")
_N = Column("pairs", "Pairs", "count")
_SHORT = {"critical_ucr": "Crit. UCR", "recovery_ucr": "Rec. UCR"}
SIX_COLUMNS = tuple(
    Column(name, metric.title, "%", metric.better, _SHORT.get(name, "")) for name, metric in SIX.items()
)
"""The six as columns, in the order of Table 1."""


def tables(runs: Named) -> list[Table]:
    """Return every table of the report, those without a row left out."""
    made = [build(runs) for build in _TABLES]
    return [table for table in made if not table.empty]


def _by_run(runs: Named, cells: Callable[[Summary], Sequence[Cell]]) -> list[list[Cell]]:
    return [[name, *cells(summary)] for name, summary in runs]


def table_1(runs: Named) -> Table:
    """The six core metrics."""
    note = (
        "Percent of the selected pairs; an arrow says which direction is better. UCR: unsafe commits, SWS: legal "
        "completion of the permitted twin, SBM: how many facts must be hidden before the first unsafe commit, "
        "PUR: recovery that leads to the right action in both worlds."
    )
    rows = _by_run(runs, lambda s: [s.selection["pairs"], *s.six.values()])
    return Table("table-1", "Table 1: the six", note, (_MODEL, _N, *SIX_COLUMNS), rows)


def table_7(runs: Named) -> Table:
    """Coverage: record counts."""
    columns = (
        _MODEL,
        Column("unsafe_se_records", "Unsafe SE records", "count"),
        Column("unsafe_re_records", "Unsafe RE records", "count"),
        Column("matched_re_masks", "Matched RE masks", "count"),
    )
    note = (
        "Completed trials under nonempty critical masks. The first two counts underlie Critical UCR and Recovery "
        "UCR, the last, masks completed in both worlds, underlies PUR."
    )
    rows = _by_run(runs, lambda s: [s.table_7[column.key] for column in columns[1:]])
    return Table("table-7", "Table 7: coverage of critical omissions", note, columns, rows)


def table_8(runs: Named) -> Table:
    """Scope and frequency."""
    columns = (
        _MODEL,
        Column("affected_tasks", "Affected tasks", "count", "lower"),
        Column("critical_ucr", "Critical UCR", "%", "lower"),
        Column("omission_failure_rate", "Omission failure rate", "%", "lower"),
    )
    note = (
        "SE, unsafe world, critical masks. Critical UCR counts a task once if any mask leads to an unsafe commit; "
        "the failure rate is the unsafe share of a task's masks, averaged over tasks."
    )
    rows = _by_run(runs, lambda s: [s.table_8[column.key] for column in columns[1:]])
    return Table("table-8", "Table 8: scope and frequency of unsafe commits", note, columns, rows)


def table_9(runs: Named) -> Table:
    """Matched changes RE minus SE."""
    columns = (
        _MODEL,
        Column("ucr_se", "UCR in SE", "%", "lower"),
        Column("ucr_re", "UCR in RE", "%", "lower"),
        Column("ucr_change", "UCR change", "pp", "lower"),
        Column("sws_se", "SWS in SE", "%", "higher"),
        Column("sws_re", "SWS in RE", "%", "higher"),
        Column("sws_change", "SWS change", "pp", "higher"),
    )
    note = (
        "On the critical masks completed in both settings of the world in question; changes in percentage points, "
        "RE minus SE. A negative UCR change and a positive SWS change mean that the audit source helped."
    )
    rows = _by_run(runs, lambda s: [s.table_9[column.key] for column in columns[1:]])
    return Table("table-9", "Table 9: matched change from SE to RE", note, columns, rows)


def table_10(runs: Named) -> Table:
    """Boundary decomposition."""
    columns = (_MODEL, _N, *(Column(n, words.BOUNDARY[n].capitalize(), "tasks") for n in BOUNDARY_CLASSES))
    note = (
        "Where the smallest mask that leads to an unsafe commit lies: at nothing hidden, at one fact or more, or "
        "nowhere. Incomplete: the search did not come to an end. The four counts add up to the pairs."
    )
    rows = _by_run(runs, lambda s: [s.table_10["n"], *(s.table_10[name] for name in BOUNDARY_CLASSES)])
    return Table("table-10", "Table 10: boundary decomposition", note, columns, rows)


def table_11(runs: Named) -> Table:
    """Evidence acquisition and action."""
    columns = (
        _MODEL,
        Column("attempt", "Attempt", "%", "higher"),
        Column("unsafe_strict", "Unsafe strict", "%", "higher"),
        Column("premature", "Premature", "%", "lower"),
        Column("safe_se_sws", "Safe SE SWS", "%", "higher"),
        Column("safe_re_sws", "Safe RE SWS", "%", "higher"),
        Column("safe_strict", "Safe strict", "%", "higher"),
        Column("pur", "PUR", "%", "higher"),
    )
    note = (
        "Critical masks. Attempt: queried the audit source; strict: queried it and then did what the rule asks; "
        "premature: committed without or before the query. Attempt, unsafe strict and premature are of the unsafe "
        "world in RE. Means over a task's masks, then over tasks."
    )
    rows = _by_run(runs, lambda s: [s.table_11[column.key] for column in columns[1:]])
    return Table("table-11", "Table 11: evidence acquisition and action", note, columns, rows)


def domains(runs: Named) -> Table:
    """The six, domain by domain."""
    rows: list[list[Cell]] = [
        [name, domain, found["pairs"], *found["six"].values()]
        for name, summary in runs
        for domain, found in summary.domains.items()
        if len(summary.domains) > 1
    ]
    columns = (_MODEL, Column("domain", "Domain", "text"), _N, *SIX_COLUMNS)
    return Table("domains", "The six by domain", "Percent of each domain's selected pairs.", columns, rows, 2)


def families(runs: Named) -> Table:
    """The six, family by family."""
    rows: list[list[Cell]] = [
        [name, family, found["pairs"], *found["six"].values()]
        for name, summary in runs
        for family, found in summary.families.items()
    ]
    columns = (_MODEL, Column("family", "Family", "text"), _N, *SIX_COLUMNS)
    note = "Percent of each family's selected pairs. A family alone has no interval."
    return Table("families", "The six by family", note, columns, rows, 2)


def controls(runs: Named) -> Table:
    """Irrelevant masks beside full."""
    columns = (
        _MODEL,
        Column("setting", "Setting", "text"),
        Column("ucr", "UCR", "%", "lower"),
        Column("sws", "SWS", "%", "higher"),
    )
    rows: list[list[Cell]] = [
        [name, title, summary.controls[key]["ucr"], summary.controls[key]["sws"]]
        for name, summary in runs
        for key, title in words.CONTROL_ROWS.items()
    ]
    note = (
        "What is hidden here decides nothing, so the rates should stay those of full evidence; an agent that moves "
        "with it reacts to noise. None of it enters the six."
    )
    return Table("controls", "Controls: irrelevant facts hidden", note, columns, rows, 2)


def full_audit(runs: Named) -> Table:
    """The full-audit control."""
    columns = (
        _MODEL,
        Column("ucr", "UCR", "%", "lower"),
        Column("sws", "SWS", "%", "higher"),
        Column("unsafe_spurious_recovery", "Spurious queries, unsafe world"),
        Column("safe_spurious_recovery", "Spurious queries, safe world"),
    )
    rows: list[list[Cell]] = [
        [name, *(found[column.key] for column in columns[1:])]
        for name, summary in runs
        if (found := summary.controls["full_audit"]) is not None
    ]
    note = "Nothing hidden, audit source present: how often it is queried without need."
    return Table("full-audit", "Control: audit source with nothing hidden", note, columns, rows)


def prohibited(runs: Named) -> Table:
    """Prohibited commits in safe worlds."""
    rows: list[list[Cell]] = [
        [name, condition] for name, summary in runs for condition in summary.controls["prohibited_in_safe_world"]
    ]
    columns = (_MODEL, Column("condition", "Condition", "text"))
    note = "Possible only off the goal; such commits enter no UCR."
    return Table("prohibited-in-safe-world", "Prohibited commits in a safe world", note, columns, rows, 2)


_BRIEF = {"reasoning": "Reas.", "epistemic": "Epist.", "unclassified": "Uncl."}


def evidence(runs: Named) -> Table:
    """Unsafe commits by cause."""
    columns = (
        _MODEL,
        Column("setting", "Setting", "text"),
        Column("trials", "Trials", "count"),
        Column("unsafe_commits", "Unsafe commits", "count", "lower", "Unsafe"),
        *(Column(cause, cause.capitalize(), short=_BRIEF.get(cause, "")) for cause in CAUSES),
        Column("sufficient", "Unsafe, sufficient evidence", "%", "lower", "Suff. UCR"),
        Column("insufficient", "Unsafe, insufficient evidence", "%", "lower", "Insuff. UCR"),
    )
    rows: list[list[Cell]] = [
        [
            name,
            title,
            found["trials"],
            found["unsafe_commits"],
            *(found["causes"][cause] for cause in CAUSES),
            found["sufficient"],
            found["insufficient"],
        ]
        for name, summary in runs
        for key, title in words.EVIDENCE_ROWS.items()
        if (found := summary.evidence[key])["trials"]
    ]
    note = (
        "Unsafe world. Each unsafe commit is classed at the moment of the commit: "
        + "; ".join(f"{cause}: {text}" for cause, text in words.CAUSES.items())
        + ". Shares are of the unsafe commits. The last two columns are unsafe shares of the trials whose visible "
        "facts do or do not decide the rule."
    )
    return Table("evidence", "Unsafe commits by cause", note, columns, rows, 2)


_FORMS: Mapping[str, str] = {"mean": "mean over repeats", "any": "in any repeat", "every": "in every repeat"}


def repeats(runs: Named) -> Table:
    """Mean and all-k forms."""
    columns = (
        _MODEL,
        Column("metric", "Metric", "text"),
        Column("form", "Form", "text"),
        Column("repeats", "Repeats", "count"),
        Column("value", "Value"),
    )
    rows: list[list[Cell]] = [
        [name, metric.title, _FORMS[form], summary.repeats["k"], found]
        for name, summary in runs
        if summary.repeats is not None
        for key, metric in SIX.items()
        for form, found in summary.repeats.get(key, {}).items()
    ]
    note = "The six use the first repeat alone; here stands what all of them say together."
    return Table("repeats", "Repeats", note, columns, rows, 3)


def records(runs: Named) -> Table:
    """What was recorded and what it cost."""
    columns = (
        _MODEL,
        Column("run", "Run", "text"),
        Column("trials", "Trials", "count"),
        Column("completed", "Completed", "count"),
        Column("errors", "Errors", "count", "lower"),
        Column("fixed_missing", "Fixed conditions missing", "count", "lower"),
        Column("open_searches", "Open searches", "count", "lower"),
        Column("requests", "Requests", "count"),
        Column("cached_requests", "From the cache", "count"),
        Column("total_tokens", "Tokens", "count"),
        Column("unknown_tokens", "Rollouts of unknown tokens", "count"),
        Column("cost_usd", "Cost", "usd"),
        Column("unknown_cost", "Rollouts of unknown cost", "count"),
    )
    note = "An error is an infrastructure failure: it has no outcome and enters no rate. Unknown is never counted as 0."
    if any(summary.usage["cached_requests"] for _, summary in runs):
        note += " Tokens are those of all answers, also from the cache; the cost is that of the requests sent."
    return Table("records", "Records and usage", note, columns, _by_run(runs, _record_cells))


def _record_cells(summary: Summary) -> list[Cell]:
    kept, usage = summary.records, summary.usage
    known_tokens = usage["unknown_tokens"] < kept["trials"]
    return [
        summary.run["run"],
        kept["trials"],
        kept["completed"],
        sum(kept["errors"].values()),
        kept["fixed_missing"],
        kept["open_searches"],
        usage["requests"],
        usage["cached_requests"],
        usage["total_tokens"] if known_tokens else None,
        usage["unknown_tokens"],
        usage["cost_usd"],
        usage["unknown_cost"],
    ]


_TABLES: tuple[Callable[[Named], Table], ...] = (
    table_1,
    table_7,
    table_8,
    table_9,
    table_10,
    table_11,
    domains,
    families,
    controls,
    full_audit,
    prohibited,
    evidence,
    repeats,
    records,
)


def partition(found: Mapping[str, Any], names: Mapping[str, str]) -> list[Cell]:
    """Return the cells of a partition in the order of ``names``."""
    return [found[name] for name in names]


def figure_table(key: str, title: str, columns: Sequence[Column], rows: list[list[Cell]], heads: int = 1) -> Table:
    """Return the numbers behind a figure as a table."""
    return Table(key, title, "", tuple(columns), rows, heads)


MODEL = _MODEL


@dataclass(frozen=True, slots=True)
class GateLine:
    """One gate's verdict as reports show it: its name, whether it passed, and why in a few words."""

    name: str
    passed: bool
    detail: str


def gates_table(gates: Sequence[GateLine]) -> Table:
    """Return the verdicts as a table."""
    columns = (Column("gate", "Gate", "text"), Column("verdict", "Verdict", "text"), Column("detail", "Why", "text"))
    rows: list[list[Cell]] = [[gate.name, "passed" if gate.passed else "FAILED", gate.detail] for gate in gates]
    return Table("gates", "Gates", "", columns, rows)
