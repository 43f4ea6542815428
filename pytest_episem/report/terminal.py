"""The summary at the end of a session: what a person reads in ten seconds, and with ``-v`` every number.

Lines come laid out for a width of 60 columns and more; without colour they hold no escape sequence, and
``unicode=False`` keeps them to ASCII. Names from banks and records are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from pytest_episem.evidence.metrics.six import SIX
from pytest_episem.evidence.metrics.summary import Summary
from pytest_episem.evidence.metrics.tables import BOUNDARY_CLASSES, CAUSES
from pytest_episem.report import words
from pytest_episem.report.grids import (
    BAR,
    LEAST_WIDTH,
    NORMAL,
    empty_grid,
    laid_out,
    meter,
    one_run_table,
    plain_cell,
    spaced,
    starred,
)
from pytest_episem.report.layout import BAD, GOOD, LABEL, NOTE, text
from pytest_episem.report.tables import MODEL, SIX_COLUMNS, Column, Named, tables
from pytest_episem.runs.unanswered import unanswered_words
from pytest_episem.verdicts.intervals import Estimate

_ARROWS = {"higher": "↑", "lower": "↓"}


def summary_lines(
    summary: Summary, width: int, colour: bool, verbosity: int = NORMAL, unicode: bool = True
) -> list[str]:
    """Return the summary of one run, line by line.

    ``verbosity`` is pytest's: below 0 only the six in a few lines, above 0 every table. ``width`` in columns.
    """
    width = max(width, LEAST_WIDTH)
    if verbosity < NORMAL:
        short = [_identity(summary), *_warnings(summary), *_short_six(summary, width)]
        return laid_out(Group(*short), width, colour, unicode)
    blocks: list[RenderableType] = [
        _identity(summary),
        _usage(summary),
        *_warnings(summary),
        spaced(_six(summary, width)),
        *map(spaced, _overview(summary, width)),
    ]
    if verbosity > NORMAL:
        blocks += [spaced(one_run_table(table, width)) for table in tables([("", summary)]) if table.key not in _SHOWN]
    return laid_out(Group(*blocks), width, colour, unicode)


_SHOWN = {"table-1", "table-10", "domains", "controls", "records"}
"""Tables of which the overview already shows everything."""


def comparison_lines(runs: Named, width: int, colour: bool, unicode: bool = True) -> list[str]:
    """Return several runs side by side as the paper's Table 1 does, then what each lacks."""
    grid = empty_grid([MODEL, *SIX_COLUMNS])
    for name, summary in runs:
        grid.add_row(text(name), *(starred(found) for found in summary.six.values()))
    blocks: list[RenderableType] = [grid]
    for name, summary in runs:
        blocks += [Text.assemble(text(f"{name}: ", LABEL), line) for line in _warnings(summary)]
    return laid_out(Group(*blocks), max(width, LEAST_WIDTH), colour, unicode)


def _identity(summary: Summary) -> Text:
    chosen = summary.selection
    about = [words.plural(chosen["pairs"], "pair"), words.plural(chosen["families"], "family", "families")]
    if len(chosen["domains"]) == 1:
        about.append(chosen["domains"][0])
    else:
        about.append(words.plural(len(chosen["domains"]), "domain"))
    return Text.assemble(text(words.label(summary.run), "bold"), text(f" · {', '.join(about)}", LABEL))


def _usage(summary: Summary) -> Text:
    kept, usage = summary.records, summary.usage
    parts = [
        words.plural(kept["trials"], "rollout"),
        words.requests(usage),
        words.tokens(usage, kept["trials"]),
        words.cost(usage),
    ]
    return text(", ".join(parts), LABEL)


def _warnings(summary: Summary) -> list[Text]:
    """Everything that makes the numbers speak of less than was planned, in plain words."""
    kept = summary.records
    lacks: list[str] = []
    if kept["errors"]:
        kinds = words.sentence([f"{count:,} {kind}" for kind, count in kept["errors"].items()])
        lacks.append(f"{words.plural(sum(kept['errors'].values()), 'error')} ({kinds})")
    if kept["fixed_missing"]:
        lacks.append(f"{kept['fixed_missing']:,} of {kept['fixed_planned']:,} fixed conditions without an outcome")
    if kept["open_searches"]:
        lacks.append(f"{words.plural(kept['open_searches'], 'boundary search', 'boundary searches')} not finished")
    lacks += words.unreadable(kept)
    partial = [name for name, found in summary.six.items() if found.coverage < 1]
    silent = [Text.assemble(("UNANSWERED ", f"bold {BAD}"), text(said, BAD))] if (said := _unanswered(summary)) else []
    if not lacks and not partial:
        return silent
    line = Text.assemble(("INCOMPLETE ", f"bold {BAD}"), text("; ".join(lacks) or "coverage below 100 %", BAD))
    if partial:
        least = min((summary.six[name] for name in partial), key=lambda found: found.coverage)
        line.append_text(text(f"; coverage down to {words.coverage(least)}", BAD))
    return [line, *silent]


def _unanswered(summary: Summary) -> str:
    return unanswered_words(summary.records.get("unanswered", {}), summary.records["completed"])


def _short_six(summary: Summary, width: int) -> list[Text]:
    lines = [""]
    for name, metric in SIX.items():
        found = summary.six[name]
        piece = f"{metric.title} {words.number(found.value)} {words.interval(found)}".rstrip()
        if lines[-1] and len(lines[-1]) + 3 + len(piece) > width:
            lines.append("")
        lines[-1] += f"   {piece}" if lines[-1] else piece
    return [Text(line) for line in lines]


def _six(summary: Summary, width: int) -> RenderableType:
    complete = all(found.coverage == 1 for found in summary.six.values())
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=LABEL)
    grid.add_column("metric", no_wrap=True)
    for name in ("%", "95 % interval", "n"):
        grid.add_column(name, justify="right", no_wrap=True)
    room = width - 50 - max(len(words.fraction(found)) for found in summary.six.values())
    covers = not complete or room >= 20
    if covers:
        grid.add_column("coverage", justify="right", no_wrap=True)
        room -= 10
    bar = min(BAR, room) if room >= 4 else 0
    if bar:
        grid.add_column("", no_wrap=True)
    for name, metric in SIX.items():
        found = summary.six[name]
        row = [
            Text(f"{metric.title} {_ARROWS[metric.better]}"),
            Text(words.number(found.value), style="bold"),
            Text(words.interval(found), style=LABEL),
            Text(words.fraction(found), style=LABEL),
        ]
        if covers:
            row.append(Text(words.coverage(found), style=f"bold {BAD}" if found.coverage < 1 else LABEL))
        if bar:
            row.append(meter(found.value, bar, GOOD if metric.better == "higher" else BAD))
        grid.add_row(*row)
    return grid


def _overview(summary: Summary, width: int) -> Iterable[RenderableType]:
    yield _boundary(summary, width)
    if len(summary.domains) > 1:
        yield _domains(summary, width)
    if summary.table_7["unsafe_re_records"]:
        yield _recovery(summary, width)
    if any(summary.controls[key][rate].denominator for key in ("se", "re") for rate in ("ucr", "sws")):
        yield _controls(summary)
    if any(row["unsafe_commits"] for row in summary.evidence.values()):
        yield _causes(summary)


def _bars(title: str, rows: Iterable[tuple[str, Estimate, str]], width: int, counts: bool) -> RenderableType:
    """Rows of (name, estimate, style of its bar); ``counts`` shows the numerators."""
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=LABEL)
    grid.add_column(title, no_wrap=True)
    for name in ("tasks", "%") if counts else ("%",):
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    for name, found, style in rows:
        tasks = [Text(words.amount(found.numerator))] if counts else []
        value = Text(words.number(found.value), style="bold")
        grid.add_row(text(name), *tasks, value, meter(found.value, 12 if width < 80 else BAR, style))
    return grid


_BOUNDARY_STYLES = {"baseline_failure": BAD, "omission_failure": NOTE, "no_observed_failure": GOOD, "incomplete": LABEL}


def _boundary(summary: Summary, width: int) -> RenderableType:
    found = summary.table_10
    rows = [
        (words.BOUNDARY[name], found[name], _BOUNDARY_STYLES[name])
        for name in BOUNDARY_CLASSES
        if name != "incomplete" or found[name].numerator
    ]
    return _bars("boundary", rows, width, counts=True)


def _domains(summary: Summary, width: int) -> RenderableType:
    pairs = width >= 70
    counted = [Column("pairs", "pairs", "count")] if pairs else []
    grid = empty_grid([Column("domain", "domain", "text"), *counted, *SIX_COLUMNS])
    for name, domain in summary.domains.items():
        counts = [plain_cell(domain["pairs"])] if pairs else []
        grid.add_row(text(name), *counts, *(starred(found) for found in domain["six"].values()))
    return grid


_FUNNEL = (
    ("attempt", "queried the audit source", GOOD),
    ("unsafe_strict", "… and held back (unsafe world)", GOOD),
    ("safe_strict", "… and completed (safe world)", GOOD),
    ("premature", "committed without or before it", BAD),
)


_MOVES = (("se_only", "SE only"), ("re_only", "RE only"), ("both", "both"), ("neither", "neither"))


def _recovery(summary: Summary, width: int) -> RenderableType:
    rows = [(title, summary.table_11[key], style) for key, title, style in _FUNNEL]
    rows.append(("right in both worlds (PUR)", summary.six["pur"], GOOD))
    t9, moves = summary.table_9, summary.figures["6"]
    change = [
        f"{title} {words.number(t9[f'{key}_se'].value)} → {words.number(t9[f'{key}_re'].value)}"
        f" ({words.number(t9[f'{key}_change'].value, 'pp')})"
        for key, title in (("ucr", "UCR"), ("sws", "SWS"))
    ]
    tasks = [f"{title} {words.amount(moves[key].numerator)}" for key, title in _MOVES]
    return Group(
        _bars("recovery", rows, width, counts=False),
        Text.assemble(("from SE to RE  ", LABEL), ", ".join(change)),
        Text.assemble(("unsafe tasks   ", LABEL), ", ".join(tasks)),
    )


def _controls(summary: Summary) -> RenderableType:
    columns = [Column("control", "control", "text")]
    columns += [
        Column(key, title.replace("irrelevant mask", "irrelevant")) for key, title in words.CONTROL_ROWS.items()
    ]
    grid = empty_grid(columns)
    for rate, title in (("ucr", "UCR"), ("sws", "SWS")):
        grid.add_row(text(title), *(starred(summary.controls[key][rate]) for key in words.CONTROL_ROWS))
    prohibited = summary.controls["prohibited_in_safe_world"]
    if not prohibited:
        return grid
    line = f"{words.plural(len(prohibited), 'prohibited commit')} in a safe world, the first: {prohibited[0]}"
    return Group(grid, text(line, NOTE))


def _causes(summary: Summary) -> RenderableType:
    causes = [c for c in CAUSES if any(row["causes"][c].numerator for row in summary.evidence.values())]
    columns = [Column("setting", "unsafe commits by cause", "text"), Column("n", "all", "count")]
    grid = empty_grid([*columns, *(Column(cause, cause, "count") for cause in causes)])
    for key, title in words.EVIDENCE_ROWS.items():
        found = summary.evidence[key]
        if found["unsafe_commits"]:
            counts = [Text(words.amount(found["causes"][cause].numerator)) for cause in causes]
            grid.add_row(text(title), plain_cell(found["unsafe_commits"]), *counts)
    return grid
