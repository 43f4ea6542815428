"""The page of ``episem compare``: how each metric changed, how sure that is, and which tasks moved."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from pytest_episem.report.layout import BAD, GOOD, NOTE, Cell, Justify, counted, heading, page, prose, rows, table, text
from pytest_episem.report.words import sentence
from pytest_episem.suite import Metric, suite
from pytest_episem.verdicts.compare import Comparison, Difference, Moved
from pytest_episem.verdicts.intervals import Estimate

MOST = 10
"""Tasks named of each kind unless all are asked for."""

_COLUMNS: list[tuple[str, Justify]] = [
    ("metric", "left"),
    ("A", "right"),
    ("B", "right"),
    ("B - A", "right"),
    ("95 % interval", "right"),
    ("better", "right"),
    ("worse", "right"),
    ("tasks", "right"),
]


def comparison_page(found: Comparison, everything: bool = False) -> RenderableType:
    """Return the page; ``everything`` names all tasks that moved, not the first ten of each kind."""
    return page(
        rows([("A", found.a), ("B", found.b), *(("differs in", line) for line in found.differences)], by=0),
        heading(f"The metrics on what both runs tested, {counted(len(found.tasks), 'task')}"),
        table(_COLUMNS, [_line(metric, found.metrics[metric.name]) for metric in suite(found.suite).metrics]),
        *_remarks(found),
        *_moved(found, everything),
        *_left_out(found, everything),
    )


def _title(found: Comparison, name: str) -> str:
    return next(metric.title for metric in suite(found.suite).metrics if metric.name == name)


def _line(metric: Metric, found: Difference) -> list[Cell]:
    change = found.change.value
    return [
        metric.title,
        percent(found.matched_a),
        percent(found.matched_b),
        text("-" if change is None else f"{change:+.1f}", _style(metric, change)),
        interval_words(found.change),
        str(len(found.better)),
        str(len(found.worse)),
        str(found.change.denominator),
    ]


def _style(metric: Metric, change: float | None) -> str:
    if not change:
        return ""
    return GOOD if (change > 0) == (metric.better == "higher") else BAD


def percent(estimate: Estimate) -> str:
    """Return an estimate's value with one decimal, ``-`` where nothing was eligible."""
    return "-" if estimate.value is None else f"{estimate.value:.1f}"


def interval_words(estimate: Estimate) -> str:
    """Return a change's interval, ``-`` where there are too few families for one."""
    if estimate.interval is None:
        return "-"
    low, high = estimate.interval
    return f"{low:+.1f} to {high:+.1f}"


def _remarks(found: Comparison) -> list[RenderableType]:
    up = [metric.title for metric in suite(found.suite).metrics if metric.better == "higher"]
    remarks = [
        f"A and B in percent, B - A in percentage points. Higher is better in {sentence(up)}, else lower is better."
    ]
    if all(difference.change.interval is None for difference in found.metrics.values()):
        remarks.append("No interval: that takes tasks of at least ten families.")
    partly = [_title(found, name) for name, d in found.metrics.items() if d.change.coverage < 1]
    if partly:
        remarks.append(f"Not complete in both runs, so compared on a part: {', '.join(partly)}.")
    for name, difference in found.metrics.items():
        alone = (percent(difference.a), percent(difference.b))
        if alone != (percent(difference.matched_a), percent(difference.matched_b)):
            remarks.append(
                f"{_title(found, name)}: each run on its own records has {alone[0]} and {alone[1]}; "
                "above are the masks that completed in both."
            )
    return [text(""), *(prose(remark) for remark in remarks)]


def _moved(found: Comparison, everything: bool) -> list[RenderableType]:
    blocks: list[RenderableType] = []
    for name, difference in found.metrics.items():
        for kind, moved, style in (("better", difference.better, GOOD), ("worse", difference.worse, BAD)):
            if moved:
                title = f"{_title(found, name)}: {counted(len(moved), 'task')} {kind}"
                blocks += [heading(title), rows(_names(moved, style, everything))]
    return blocks or [heading("No task moved")]


def _names(moved: Sequence[Moved], style: str, everything: bool) -> list[tuple[Cell, Cell]]:
    shown = moved if everything else moved[:MOST]
    pairs: list[tuple[Cell, Cell]] = [
        (text(task.task), text(f"{100 * task.a:.0f} to {100 * task.b:.0f}", style)) for task in shown
    ]
    if len(shown) < len(moved):
        pairs.append((Text(f"and {len(moved) - len(shown)} more; --all names them", style=NOTE), ""))
    return pairs


def _left_out(found: Comparison, everything: bool) -> list[RenderableType]:
    blocks: list[RenderableType] = []
    for title, names in (
        ("Only in A", found.only_a),
        ("Only in B", found.only_b),
        ("Not compared, since their facts differ", found.altered),
    ):
        if names:
            shown = names if everything else names[:MOST]
            more = "" if len(shown) == len(names) else f"\nand {len(names) - len(shown)} more; --all names them"
            blocks += [heading(f"{title}: {counted(len(names), 'task')}"), prose("\n".join(shown) + more)]
    return blocks
