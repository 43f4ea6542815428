"""The workflow suite at the end of a session and in ``episem report``: what a person reads in ten seconds.

Lines come laid out for a width of 60 columns and more; without colour they hold no escape sequence, and
``unicode=False`` keeps them to ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from pytest_episem.report import words
from pytest_episem.report.grids import (
    BAR,
    LEAST_WIDTH,
    NORMAL,
    empty_grid,
    laid_out,
    meter,
    one_run_table,
    pieces,
    spaced,
)
from pytest_episem.report.layout import BAD, GOOD, LABEL, NOTE, text
from pytest_episem.report.tables import Column, Table
from pytest_episem.report.workflow_tables import ends, workflow_tables
from pytest_episem.report.workflow_words import case_word, warnings
from pytest_episem.workflows.guided import SPLITS
from pytest_episem.workflows.summary import Named, WorkflowSummary, certified, losses

NAMED = 5
"""Cases named of each thing that is listed; with ``-v`` all of them."""


def workflow_lines(
    summary: WorkflowSummary, width: int, colour: bool, verbosity: int = NORMAL, unicode: bool = True
) -> list[str]:
    """Return the summary of one run, line by line.

    ``verbosity`` is pytest's: below 0 only the endings in a line, above 0 every table and every name. ``width`` in
    columns.
    """
    width = max(width, LEAST_WIDTH)
    blocks: list[RenderableType] = [_identity(summary), *_warnings(summary, verbosity)]
    if verbosity < NORMAL:
        return laid_out(Group(*blocks, _short(summary), _proposals(summary)), width, colour, unicode)
    blocks += [spaced(_endings(summary, width)), spaced(_sums(summary)), *_remarks(summary)]
    if verbosity > NORMAL:
        shown = [table for table in workflow_tables([("", summary)]) if table.key != "workflows"]
        blocks += [spaced(_own(table, width)) for table in shown]
    return laid_out(Group(*blocks), width, colour, unicode)


def workflow_comparison_lines(runs: Named, width: int, colour: bool, unicode: bool = True) -> list[str]:
    """Return several runs side by side: how their cases ended, what that cost, what joint planning saves and loses, and
    what each run lacks."""
    width = max(width, LEAST_WIDTH)
    blocks: list[RenderableType] = []
    for table in workflow_tables(runs):
        drawn = _losses(runs) if table.key == "workflows-losses" else pieces(table, width)
        blocks += [text(table.title, "bold"), *drawn, Text("")]
    for name, summary in runs:
        blocks += [Text.assemble(text(f"{name}: ", LABEL), line) for line in _warnings(summary, NORMAL)]
    return laid_out(Group(*blocks), width, colour, unicode)


def _identity(summary: WorkflowSummary) -> Text:
    about = summary.run
    planned, recorded = len(summary.planned), summary.row.runs
    sizes = [
        f"{recorded:,} of {words.plural(planned, case_word(about))}",
        words.plural(len(summary.templates), "workflow"),
        f"shield {'on' if about['shield'] else 'off'}",
        *([f"told {about['guidance']}"] if about["guidance"] != "none" else []),
        *(["trouble live"] if about["form"] == "live" else []),
    ]
    return Text.assemble(text(str(about["agent"]), "bold"), text(f" · workflows · {', '.join(sizes)}", LABEL))


def _warnings(summary: WorkflowSummary, verbosity: int) -> list[Text]:
    most = None if verbosity > NORMAL else NAMED
    return [Text.assemble((f"{mark} ", f"bold {BAD}"), text(line, BAD)) for mark, line in warnings(summary, most)]


ENDINGS = (
    ("certified", "certified", GOOD),
    ("withdrawn", "withdrawn", GOOD),
    ("handed_off", "handed off", NOTE),
    ("unknown", "unknown", NOTE),
    ("claims", "claimed unchecked", NOTE),
    ("refuted", "record refuted", BAD),
)


def _endings(summary: WorkflowSummary, width: int) -> RenderableType:
    row = summary.row
    found = empty_grid([Column("end", "how it ended", "text"), Column("cases", "cases", "of"), Column("percent", "%")])
    found.add_column("", no_wrap=True)
    room = min(BAR, width - 44)
    for key, title, style in ENDINGS:
        count = getattr(row, key)
        if count or key in ("certified", "handed_off", "unknown"):
            percent = 100 * count / row.runs if row.runs else None
            shown = (Text(f"{count:,}/{row.runs:,}"), Text(words.number(percent), style="bold"))
            found.add_row(text(title), *shown, meter(percent, room, style))
    return found


def _short(summary: WorkflowSummary) -> Text:
    row = summary.row
    parts = [f"{title} {getattr(row, key)}/{row.runs}" for key, title, _ in ENDINGS if getattr(row, key)]
    return text("   ".join([*parts, f"goal {row.goal}/{row.runs}", f"new violations {row.new}/{row.runs}"]))


def _sums(summary: WorkflowSummary) -> RenderableType:
    row = summary.row
    harm = [
        _counted("new violations", row.new, row.runs, bad=True),
        _counted("false certificates", row.false_certificates, row.runs, bad=True),
        _counted("goal reached", row.goal, row.runs),
    ]
    cost = f"fee {row.fee:,}, {words.plural(row.actions, 'action')}, {words.plural(row.time, 'instant')}"
    notes = (*_used(summary), *_split(summary), *_times(summary))
    return Group(Text(" · ").join(harm), _proposals(summary), text(cost, LABEL), *notes)


def _used(summary: WorkflowSummary) -> Iterator[Text]:
    """What a model took; an agent that sends nothing has nothing to tell."""
    usage = summary.row.usage
    if usage["requests"] != 0:
        requests, prompt, completion = (words.number(amount, "count") for amount in usage.values())
        yield text(f"{requests} requests, {prompt} prompt and {completion} completion tokens", LABEL)


def _split(summary: WorkflowSummary) -> Iterator[Text]:
    """Certified completions of the cases for trying things out and of those held out, where a run has both."""
    parts = {name: [one for one in summary.cases if (one in summary.pilot) == (name == "pilot")] for name in SPLITS}
    if all(parts.values()):
        counts = (f"{name} {sum(certified(summary.cases[c]) for c in own)}/{len(own)}" for name, own in parts.items())
        yield text(f"certified: {', '.join(counts)}", LABEL)


def _proposals(summary: WorkflowSummary) -> Text:
    """What was wrong with proposals, refused or not: all three kinds, also where there are none."""
    row = summary.row
    either = row.unsafe + row.false_claims
    wrong = f"proposals: {row.unsafe:,} unsafe, {row.false_claims:,} false claims (either: {either:,})"
    asked = f", {row.unapproved:,} unapproved" if row.unapproved else ""
    return Text.assemble((wrong, BAD if either else ""), f", {row.not_offered:,} not offered", (asked, BAD))


def _counted(title: str, count: int, of: int, bad: bool = False) -> Text:
    return Text(f"{title} {count:,}/{of:,}", style=BAD if bad and count else "")


def _times(summary: WorkflowSummary) -> Iterator[Text]:
    found = summary.row.computation
    if found["decisions"]:
        each = f"{words.number(found['median_ms'], 'ms')} ms (median), {words.number(found['p95_ms'], 'ms')} ms (p95)"
        cut = f"; {found['cutoffs']:,} cut off, {found['fallbacks']:,} fell back" if found["nodes"] else ""
        yield text(f"{words.plural(int(found['decisions'] or 0), 'decision')}, each {each}{cut}", LABEL)


def _remarks(summary: WorkflowSummary) -> Iterator[Text]:
    row = summary.row
    if row.unmet:
        yield text(f"{words.plural(row.unmet, 'case')} whose trouble never came: what it strikes was not called", NOTE)
    if row.certifiable:
        yield text(
            f"{words.plural(row.certifiable, 'case')} ended without a claim that would have been certified", NOTE
        )
    if row.claims:
        yield text(f"{row.certain:,} of {words.plural(row.claims, 'unchecked claim')} certain when made", NOTE)
    if row.refusals:
        yield text(f"{words.plural(row.refusals, 'proposal')} refused by the shield", NOTE)


def _losses(runs: Named) -> Iterator[Text]:
    """The losses as lines: as a table they have no room."""
    case = ""
    for loss in losses(runs):
        if loss.case != case:
            case = loss.case
            yield text(f"{case}: joint {_spent(loss.joint)}")
        yield text(f"  {loss.other} {_spent(loss.cost)}", LABEL)


def _spent(cost: Sequence[int]) -> str:
    fee, actions, time = cost[4:]
    return f"{ends(cost)}, fee {fee:,}, {words.plural(actions, 'action')}, {words.plural(time, 'instant')}"


def _own(table: Table, width: int) -> RenderableType:
    """A table of one run; the run's own name says nothing in it."""
    if table.columns[0].key == "agent":
        return one_run_table(table, width)
    return Group(text(table.title, "bold"), *pieces(table, width))
