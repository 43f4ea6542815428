"""``report.md``: what a pull request's comment needs to say, details folded, never too long for one.

Names, commands and texts from banks, models and options are written as ``<code>`` with every character that
Markdown, HTML or a forge could act on as a numeric entity: no link, mention, table bar or tag comes out of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from pytest_episem.evidence.explain import show_command
from pytest_episem.evidence.metrics.six import SIX
from pytest_episem.evidence.metrics.summary import Summary
from pytest_episem.evidence.metrics.tables import BOUNDARY_CLASSES
from pytest_episem.report import words
from pytest_episem.report.examples import Kind
from pytest_episem.report.tables import Cell, Column, GateLine, Named, Table, gates_table, tables
from pytest_episem.report.workflow_tables import workflow_tables
from pytest_episem.report.workflow_words import against, case_command, case_word, warnings
from pytest_episem.runs.unanswered import unanswered_words
from pytest_episem.text import printable
from pytest_episem.verdicts.intervals import Estimate
from pytest_episem.workflows.summary import Named as Workflows
from pytest_episem.workflows.summary import WorkflowSummary

LIMIT = 60_000
"""Bytes of UTF-8 a report takes at most; GitHub refuses comments over 65,536 characters."""
FAULTS = 10
"""Cases of the workflow suite that count against a run and are named."""
_LONGEST = 160
_SAFE = re.compile(r"[^A-Za-z0-9 /,.=-]|(?i:(?<=www)\.)")
_ARROWS = {"higher": "↑", "lower": "↓"}


def code(text: object, longest: int = _LONGEST) -> str:
    """Return untrusted text as inert inline code of at most ``longest`` characters."""
    line = printable(text)
    line = line if len(line) <= longest else f"{line[: longest - 1]}…"
    return f"<code>{_SAFE.sub(lambda found: f'&#{ord(found.group())};', line)}</code>"


def markdown(
    runs: Named,
    failing: Sequence[tuple[str, Sequence[Kind]]] = (),
    gates: Sequence[GateLine] = (),
    limit: int = LIMIT,
    workflows: Workflows = (),
    more: Iterable[Table] = (),
) -> str:
    """Return the report of one run or of several side by side.

    ``failing`` holds each run's kinds of failure under its name, ``gates`` the verdicts if there were any,
    ``workflows`` the runs of the workflow suite, ``more`` tables to stand behind ours. Sections that would make the
    text longer than ``limit`` bytes are left out and named at the end.
    """
    lead = [_title([name for name, _ in runs or workflows]), *(_identity(summary) for _, summary in runs)]
    lead += [workflow_identity(summary) for _, summary in workflows]
    lead += [line for name, summary in runs for line in _warnings(name, summary, len(runs) > 1)]
    lead += [line for name, summary in workflows for line in _workflow_warnings(name, summary, len(workflows) > 1)]
    sections: list[tuple[str, Callable[[], str]]] = []
    if gates:
        sections.append(("gates", lambda: _gates(gates)))
    if runs:
        sections += _evidence(runs, failing)
    if workflows:
        sections += _workflows(workflows)
    sections += [(table.title, lambda t=table: _folded(t)) for table in more]  # type: ignore[misc]
    return _within(limit, "\n\n".join(lead), sections)


def _evidence(runs: Named, failing: Sequence[tuple[str, Sequence[Kind]]]) -> list[tuple[str, Callable[[], str]]]:
    sections: list[tuple[str, Callable[[], str]]] = []
    sections.append(("the six", lambda: _six(runs)))
    sections.append(("boundary", lambda: _boundary(runs)))
    banks = {name: words.banks_of(summary.run["bank"]["name"]) for name, summary in runs}
    for name, kinds in failing:
        some = _failing(name, kinds, len(runs) > 1, banks.get(name, []))
        sections.append((f"failing examples of {name}", lambda text=some: text))  # type: ignore[misc]
    for table in sorted(tables(runs), key=lambda t: t.key not in ("domains",)):
        if table.key not in ("table-1", "table-10"):
            sections.append((table.title, lambda t=table: _folded(t)))  # type: ignore[misc]
    return sections


def _workflows(runs: Workflows) -> list[tuple[str, Callable[[], str]]]:
    sections: list[tuple[str, Callable[[], str]]] = []
    for table in workflow_tables(runs):
        draw = _headed if table.key in ("workflows", "workflows-proposals") else _folded
        sections.append((table.title, lambda t=table, d=draw: d(t)))  # type: ignore[misc]
        if table.key == "workflows":
            for name, summary in runs:
                of = f" of {code(name, 80)}" if len(runs) > 1 else ""
                sections.append((f"faults of {name}", lambda s=summary, o=of: _faults(s, o)))  # type: ignore[misc]
    return sections


def _faults(summary: WorkflowSummary, of: str) -> str:
    found = [(name, said) for name, judged in summary.cases.items() if (said := against(judged))]
    if not found:
        return ""
    lines = [f"### {words.plural(len(found), 'case')}{of} that {'counts' if len(found) == 1 else 'count'} against it\n"]
    for name, said in found[:FAULTS]:
        lines.append(f"- {code(name, 240)}<br>{code(said, 300)}<br>{code(case_command(summary, name), 300)}")
    if len(found) > FAULTS:
        lines.append(f"- and {len(found) - FAULTS:,} more")
    return "\n".join(lines)


def _headed(table: Table) -> str:
    return f"### {table.title}\n\n{_table(table)}\n\n{table.note}"


def _within(limit: int, lead: str, sections: Iterable[tuple[str, Callable[[], str]]]) -> str:
    parts, left_out, room = [lead], [], limit - len(lead.encode()) - 2_000
    for name, make in sections:
        text = make()
        size = len(text.encode()) + 2
        if size <= room:
            parts.append(text)
            room -= size
        elif text:
            left_out.append(name)
    if left_out:
        shown = left_out[:8] + ([f"{len(left_out) - 8} more"] if len(left_out) > 8 else [])
        parts.append(f"Left out for length: {', '.join(code(name) for name in shown)}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(names: Sequence[str]) -> str:
    return f"## EpiSEM: {code(names[0], 100) if len(names) == 1 else f'{len(names)} runs side by side'}"


def workflow_identity(summary: WorkflowSummary) -> str:
    """Return what a run of the workflow suite is, in a line of Markdown."""
    about, bank = summary.run, summary.run["bank"]
    parts = [
        f"workflows of {code(about['agent'], 80)}",
        f"{summary.row.runs:,} of {words.plural(len(summary.planned), case_word(about))}",
        words.plural(len(summary.templates), "workflow"),
        f"shield {'on' if about['shield'] else 'off'}",
        *([f"told {about['guidance']}"] if about["guidance"] != "none" else []),
        *(["trouble live"] if about["form"] == "live" else []),
        f"bank {code(bank['name'], 60)} {code(bank['version'], 30)} {code(bank['hash'][:12])}",
        f"run {code(about['run'], 60)}",
    ]
    return " · ".join(parts)


def _workflow_warnings(name: str, summary: WorkflowSummary, several: bool) -> Iterator[str]:
    whose = f" {code(name, 80)}:" if several else ""
    for mark, line in warnings(summary):
        yield f"> ⚠️ **{mark.capitalize()}.**{whose} {code(line, 400)}"


def _identity(summary: Summary) -> str:
    chosen, bank = summary.selection, summary.run["bank"]
    pairs = f"{words.plural(chosen['pairs'], 'pair')}, {words.plural(chosen['families'], 'family', 'families')}"
    kept = summary.records
    parts = [
        pairs,
        words.plural(kept["trials"], "rollout"),
        words.requests(summary.usage),
        words.tokens(summary.usage, kept["trials"]),
        words.cost(summary.usage),
        f"bank {code(bank['name'], 60)} {code(bank['version'], 30)} {code(bank['hash'][:12])}",
        f"run {code(summary.run['run'], 60)}",
    ]
    return " · ".join(parts)


def _warnings(name: str, summary: Summary, several: bool) -> Iterator[str]:
    kept = summary.records
    lacks = [f"{count:,} errors of kind {code(kind, 40)}" for kind, count in list(kept["errors"].items())[:8]]
    if kept["fixed_missing"]:
        lacks.append(f"{kept['fixed_missing']:,} of {kept['fixed_planned']:,} fixed conditions without an outcome")
    if kept["open_searches"]:
        lacks.append(f"{words.plural(kept['open_searches'], 'boundary search', 'boundary searches')} not finished")
    lacks += [code(line, 200) for line in words.unreadable(kept)]
    if lacks or any(found.coverage < 1 for found in summary.six.values()):
        whose = f" {code(name, 80)}:" if several else ""
        yield f"> ⚠️ **Incomplete.**{whose} {'; '.join(lacks) or 'Coverage is below 100 %.'}"

    said = unanswered_words(kept.get("unanswered", {}), kept["completed"])
    if said:
        whose = f" {code(name, 80)}:" if several else ""
        yield f"> ⚠️ **Unanswered.**{whose} {said}"


def _gates(gates: Sequence[GateLine]) -> str:
    failed = sum(not gate.passed for gate in gates)
    verdict = f"❌ **{failed} of {words.plural(len(gates), 'gate')} failed**" if failed else "✅ **All gates passed**"
    return f"{verdict}\n\n{_table(gates_table(gates))}"


def _six(runs: Named) -> str:
    if len(runs) > 1:
        return _table(next(table for table in tables(runs) if table.key == "table-1"))
    found = runs[0][1].six
    lines = ["| Metric | % | 95 % interval | n | Coverage |", "| :-- | --: | --: | --: | --: |"]
    for name, metric in SIX.items():
        e = found[name]
        covered = words.coverage(e) if e.coverage == 1 else f"**{words.coverage(e)}**"
        lines.append(
            f"| {metric.title} {_ARROWS[metric.better]} | **{words.number(e.value)}** | {words.interval(e)} "
            f"| {words.fraction(e)} | {covered} |"
        )
    return "\n".join(lines)


def _boundary(runs: Named) -> str:
    lines = []
    for name, summary in runs:
        found = summary.table_10
        parts = [f"{words.BOUNDARY[key]} {words.amount(found[key].numerator)}" for key in BOUNDARY_CLASSES]
        whose = f" {code(name, 80)}" if len(runs) > 1 else ""
        lines.append(f"**Boundary**{whose}: {' · '.join(parts)} (of {words.plural(found['n'], 'pair')})")
    return "\n\n".join(lines)


def _failing(name: str, kinds: Sequence[Kind], several: bool, banks: Sequence[str]) -> str:
    if not kinds:
        return ""
    count = sum(kind.count for kind in kinds)
    whose = f" of {code(name, 80)}" if several else ""
    lines = [f"### {count:,} failing conditions{whose}"]
    for kind in kinds:
        lines.append(f"\n**{kind.count:,}: {kind.title}**\n")
        for trial in kind.examples:
            lines.append(f"- {code(trial.condition.id, 240)}<br>{code(show_command(trial, banks), 300)}")
    return "\n".join(lines)


def _folded(table: Table) -> str:
    note = f"{table.note}\n\n" if table.note else ""
    return f"<details>\n<summary>{table.title}</summary>\n\n{note}{_table(table)}\n\n</details>"


def _table(table: Table) -> str:
    arrows = [f" {_ARROWS[column.better]}" if column.better else "" for column in table.columns]
    head = [f"{_heading(column)}{arrow}" for column, arrow in zip(table.columns, arrows, strict=True)]
    rule = [":--" if column.unit == "text" else "--:" for column in table.columns]
    rows = [[_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _heading(column: Column) -> str:
    """A column's title; one named after a run is not ours."""
    return code(column.title, 80) if ":" in column.key else column.title


def _cell(cell: Cell, column: Column) -> str:
    if isinstance(cell, Estimate):
        star = "\\*" if cell.coverage < 1 else ""
        return f"{words.value(cell, column.unit)}{star}"
    if isinstance(cell, str):
        return code(cell)
    return words.number(cell, column.unit)
