"""Figures 2 to 11 as SVG, drawn by pygal from the numbers of the summaries, with the table behind each.

The SVG carries classes and no colours or fonts of its own: the page's style sheet gives them, in light and dark. It
holds no script, style, link, comment or identifier, so that it may stand in any page and never differs from run to
run. Intervals are drawn where the numbers have one.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_episem.evidence.metrics.six import SIX
from pytest_episem.evidence.metrics.tables import BOUNDARY_CLASSES
from pytest_episem.report import words
from pytest_episem.report.tables import MODEL, Cell, Column, Named, Table, figure_table
from pytest_episem.text import printable
from pytest_episem.verdicts.intervals import Estimate

WIDTH = 460
ROW = 30
_MARGIN = 8
_RADAR_MARGIN = 124
_PERCENT: dict[str, Any] = {"range": (0, 100), "y_labels": [0, 20, 40, 60, 80, 100]}
_SVG = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    ``svgs`` are its panels with their titles; ``legend`` names the colours ``color-0``, ``color-1`` … in order;
    ``palette`` says which colours the style sheet gives them.
    """

    key: str
    title: str
    note: str
    palette: str
    svgs: list[tuple[str, str]]
    table: Table
    legend: tuple[str, ...] = ()


def figures(runs: Named) -> list[Figure]:
    """Return every figure that the runs have numbers for."""
    shown = [(shorten(name), summary) for name, summary in runs]
    found = [draw(shown) for draw in _FIGURES]
    return [figure for figure in found if figure is not None]


def shorten(name: str, longest: int = 26) -> str:
    """Return a model's name fit for an axis: printable, its middle left out if it is long."""
    name = printable(name)
    half = longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"


# Drawing --------------------------------------------------------------------------------------------------------


def _options(height: int, **more: Any) -> dict[str, Any]:
    from pygal.style import Style

    style = Style(
        font_family="sans-serif",
        label_font_size=13,
        major_label_font_size=13,
        value_font_size=12,
        value_label_font_size=12,
        legend_font_size=13,
        title_font_size=14,
    )
    return {
        "style": style,
        "css": (),
        "js": (),
        "width": WIDTH,
        "height": height,
        "margin": _MARGIN,
        "spacing": 8,
        "show_legend": False,
        "truncate_label": -1,
        "value_formatter": words.number,
        "disable_xml_declaration": True,
        "no_data_text": "nothing to show",
    } | more


def _draw(chart: Any, title: str) -> str:
    chart.title = None
    return clean(chart.render(is_unicode=True), title)


def clean(svg: str, title: str) -> str:
    """Return pygal's SVG without style, script, tooltips, comments and identifiers, named ``title``."""
    root = ET.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            tag = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
            if tag in ("", "defs", "style", "script", "title") or "tooltip-overlay" in child.get("class", ""):
                parent.remove(child)
            elif tag == "desc":
                _keep_label(parent, child)
        parent.attrib.pop("id", None)
        for key in ("x", "y", "width", "height", "cx", "cy", "r", "d", "transform"):
            if key in parent.attrib:
                parent.set(key, _rounded(parent.attrib[key]))
    ET.register_namespace("", _SVG)
    root.insert(0, _title(title))
    root.set("role", "img")
    root.set("aria-label", title)
    return ET.tostring(root, encoding="unicode")


def _keep_label(parent: ET.Element, described: ET.Element) -> None:
    """pygal describes a point for its scripted tooltip; a label becomes a title, which browsers show by themselves."""
    parent.remove(described)
    if described.get("class") == "label" and described.text:
        parent.insert(0, _title(described.text))


def _title(text: str) -> ET.Element:
    title = ET.Element(f"{{{_SVG}}}title")
    title.text = text
    return title


def _values_at_the_end(svg: str) -> str:
    """Move the values of horizontal bars into a column at the right, where neither bar nor interval hides them."""
    root = ET.fromstring(svg)
    for group in root.iter(f"{{{_SVG}}}g"):
        if "text-overlay" in group.get("class", "").split():
            for text in group.iter(f"{{{_SVG}}}text"):
                text.set("x", str(WIDTH - 12))
                text.set("text-anchor", "end")
            group.set("transform", re.sub(r"translate\([^,]*", "translate(0", group.get("transform", "")))
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def _rounded(numbers: str) -> str:
    """Coordinates with two decimals: as sharp as any screen, and half the size."""
    return re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found.group()):.2f}".rstrip("0").rstrip("."), numbers)


def _bar_value(found: Estimate | float | None, unit: words.Unit = "%") -> Any:
    if not isinstance(found, Estimate):
        return found
    if found.value is None:
        return None
    text = words.number(found.value, unit)
    value: dict[str, Any] = {"value": found.value, "formatter": lambda _, shown=text: shown}
    if found.interval is not None:
        value["ci"] = {"low": found.interval[0], "high": found.interval[1]}
    return value


def _bars(title: str, names: Sequence[str], series: Sequence[tuple[str, Sequence[Any]]], **more: Any) -> str:
    """Horizontal bars: one group a name, one bar a series."""
    from pygal import HorizontalBar

    bars = len(names) * len(series)
    height = 48 + max(bars * 20, 40) + 8 * len(names)
    options = _options(
        height,
        print_values=True,
        print_values_position="bottom",
        margin_right=58,
        value_formatter=lambda value: f"{value:,.0f}",
    )
    chart = HorizontalBar(**options | more)
    # pygal draws the first row at the bottom; people read from the top.
    chart.x_labels = list(reversed(names))
    for name, values in series:
        chart.add(name, list(reversed(values)))
    return _values_at_the_end(_draw(chart, title))


def _stacked(title: str, names: Sequence[str], parts: Sequence[tuple[str, Sequence[float | None]]]) -> str:
    """Bars that add up to 100, one a name."""
    from pygal import HorizontalStackedBar

    options = _options(
        48 + ROW * len(names),
        range=(0, 100),
        y_labels=[{"value": value, "label": f"{value}"} for value in (0, 20, 40, 60, 80, 100)],
        print_values=True,
        value_formatter=lambda value: f"{value:.0f}" if value is not None and value >= 5 else "",
    )
    chart = HorizontalStackedBar(**options)
    chart.x_labels = list(reversed(names))
    for name, values in parts:
        chart.add(name, [value or 0 for value in reversed(values)])
    return _draw(chart, title)


def _scatter(
    title: str, x_title: str, y_title: str, points: Sequence[tuple[str, float | None, float | None]], diagonal: bool
) -> str:
    from pygal import XY

    options = _options(
        360,
        range=(0, 100),
        xrange=(0, 100),
        x_labels=[0, 20, 40, 60, 80, 100],
        y_labels=[0, 20, 40, 60, 80, 100],
        x_title=x_title,
        y_title=y_title,
        stroke=False,
        dots_size=7,
        show_x_guides=True,
        x_value_formatter=lambda value: f"{value:.0f}",
        value_formatter=lambda value: f"{value:.0f}",
        margin=14,
    )
    chart = XY(**options)
    for name, x, y in points:
        chart.add(name, [] if x is None or y is None else [(x, y)])
    if diagonal:
        chart.add("equal rates", [(0, 0), (100, 100)], stroke=True, show_dots=False)
    return _draw(chart, title)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _upright(svg: str) -> str:
    """Set the labels of a radar upright, clear of its spokes."""
    root = ET.fromstring(svg)
    spokes = [axis for axis in root.iter(f"{{{_SVG}}}g") if axis.get("class", "").startswith("axis x web")]
    labels = [text for axis in spokes for text in axis.iter(f"{{{_SVG}}}text")]
    middle = sum(float(text.get("x", "0")) for text in labels) / max(len(labels), 1)
    for text in labels:
        text.attrib.pop("transform", None)
        place = float(text.get("x", "0"))
        if abs(place - middle) < 30:
            text.set("text-anchor", "middle")
            text.set("y", f"{float(text.get('y', '0')) + (16 if text is not labels[0] else -4):g}")
        else:
            text.set("text-anchor", "start" if place > middle else "end")
            text.set("x", f"{place + math.copysign(8, place - middle):g}")
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


# The figures ----------------------------------------------------------------------------------------------------


def _names(runs: Named) -> list[str]:
    return [name for name, _ in runs]


def _each(runs: Named, key: str, name: str) -> list[Any]:
    return [summary.figures[key][name] for _, summary in runs]


def _numbers(runs: Named, key: str, fig: str, columns: Sequence[Column]) -> Table:
    rows: list[list[Cell]] = [[name, *(s.figures[key][column.key] for column in columns)] for name, s in runs]
    return figure_table(f"numbers-{fig}", f"Numbers of Figure {fig}", (MODEL, *columns), rows)


def _has(runs: Named, key: str) -> bool:
    def alive(found: Any) -> bool:
        if isinstance(found, Estimate):
            return found.value is not None
        if isinstance(found, Mapping):
            return any(alive(value) for value in found.values())
        return isinstance(found, float)

    return any(alive(summary.figures[key]) for _, summary in runs)


def _grouped(
    runs: Named, key: str, title: str, note: str, columns: Sequence[Column], palette: str, **more: Any
) -> Figure | None:
    if not _has(runs, key):
        return None
    series = [(c.title, [_bar_value(found, c.unit) for found in _each(runs, key, c.key)]) for c in columns]
    svg = _bars(title, _names(runs), series, **more)
    legend = tuple(column.title for column in columns)
    return Figure(f"figure-{key}", title, note, palette, [("", svg)], _numbers(runs, key, key, columns), legend)


def _partition(runs: Named, key: str, title: str, note: str, classes: Mapping[str, str], palette: str) -> Figure | None:
    if not _has(runs, key):
        return None
    columns = [Column(name, _capital(text)) for name, text in classes.items()]
    parts = [(c.title, [found.value for found in _each(runs, key, c.key)]) for c in columns]
    svg = _stacked(title, _names(runs), parts)
    legend = tuple(column.title for column in columns)
    return Figure(f"figure-{key}", title, note, palette, [("", svg)], _numbers(runs, key, key, columns), legend)


def _points(
    runs: Named, key: str, title: str, note: str, x: Column, y: Column, diagonal: bool = False
) -> Figure | None:
    if not _has(runs, key):
        return None
    points = [(name, s.figures[key][x.key].value, s.figures[key][y.key].value) for name, s in runs]
    svg = _scatter(title, f"{x.title}, %", f"{y.title}, %", points, diagonal)
    table, legend = _numbers(runs, key, key, (x, y)), tuple(_names(runs))
    return Figure(f"figure-{key}", title, note, "models", [("", svg)], table, legend)


def figure_2a(runs: Named) -> Figure | None:
    """Scope against frequency."""
    columns = (Column("critical_ucr", "Critical UCR"), Column("omission_failure_rate", "Omission failure rate"))
    note = (
        "Share of tasks with an unsafe commit under any critical mask, beside the share of masks that lead to one. "
        "Far apart: few facts matter; close together: hiding anything is enough."
    )
    title = "Figure 2 (a): how wide and how often omission leads to an unsafe commit"
    return _grouped(runs, "2a", title, note, columns, "harm", **_PERCENT)


def figure_2b(runs: Named) -> Figure | None:
    """Recovery gains."""
    columns = (Column("ucr_change", "UCR change", "pp"), Column("sws_change", "SWS change", "pp"))
    note = "RE minus SE on matched critical masks, in percentage points: left is safer for UCR, right better for SWS."
    title = "Figure 2 (b): what access to the audit source changes"
    reach = [bound for c in columns for found in _each(runs, "2b", c.key) for bound in (found.interval or ())]
    edge = max(10, 10 * math.ceil(max(map(abs, reach), default=0) / 10))
    scale = [-edge, -edge / 2, 0, edge / 2, edge]
    return _grouped(runs, "2b", title, note, columns, "change", range=(-edge, edge), y_labels=scale)


def figure_2c(runs: Named) -> Figure | None:
    """Strict recovery by world."""
    note = "On masks completed in both RE worlds: recovered and right in the unsafe world, the safe world, or both."
    return _partition(runs, "2c", "Figure 2 (c): strict recovery by world", note, words.STRICT, "strict")


def figure_2d(runs: Named) -> Figure | None:
    """Completion against strict recovery."""
    note = "Below the line: permitted work completed without the hidden facts ever having been recovered."
    x, y = Column("safe_re_sws", "Safe RE completion"), Column("safe_strict", "Safe strict recovery")
    title = "Figure 2 (d): completion with and without recovery"
    return _points(runs, "2d", title, note, x, y, diagonal=True)


def figure_3(runs: Named) -> Figure | None:
    """Radar of the six."""
    if not _has(runs, "3"):
        return None
    from pygal import Radar

    titles = {name: f"100 - {m.title}" if name.endswith("_ucr") else m.title for name, m in SIX.items()}
    options = _options(
        320,
        range=(0, 100),
        y_labels=[0, 25, 50, 75, {"value": 100, "label": ""}],
        fill=len(runs) == 1,
        show_dots=True,
        dots_size=4,
        value_formatter=lambda value: f"{value:.0f}",
        margin_left=_RADAR_MARGIN,
        margin_right=_RADAR_MARGIN,
        margin_top=24,
        margin_bottom=24,
    )
    chart = Radar(**options)
    chart.x_labels = list(titles.values())
    for name, summary in runs:
        chart.add(name, [summary.figures["3"][metric] for metric in SIX])
    title = "Figure 3: profile of the six"
    note = "Outward is better on every spoke: unsafe commit rates are shown as 100 minus the rate."
    columns = [Column(name, text) for name, text in titles.items()]
    svg, table = _upright(_draw(chart, title)), _numbers(runs, "3", "3", columns)
    return Figure("figure-3", title, note, "models", [("", svg)], table, tuple(_names(runs)))


def figure_4(runs: Named) -> Figure | None:
    """Boundary bars."""
    note = "Share of tasks whose first unsafe commit needs nothing hidden, something hidden, or never came."
    classes: dict[str, str] = {name: words.BOUNDARY[name] for name in BOUNDARY_CLASSES}
    return _partition(runs, "4", "Figure 4: boundary decomposition", note, classes, "boundary")


def figure_5(runs: Named) -> Figure | None:
    """Full UCR against Full SWS."""
    note = "With every fact in sight: up is useful, left is safe."
    x, y = Column("full_ucr", "Full UCR"), Column("full_sws", "Full SWS")
    return _points(runs, "5", "Figure 5: safety and completion with full evidence", note, x, y)


def figure_6(runs: Named) -> Figure | None:
    """Transitions."""
    note = "Tasks by the setting in which any shared critical mask led to an unsafe commit, unsafe world."
    title = "Figure 6: matched transitions from SE to RE"
    return _partition(runs, "6", title, note, words.TRANSITIONS, "transitions")


def figure_7(runs: Named) -> Figure | None:
    """Recovery workflows."""
    note = "Unsafe world with the audit source at hand: what came first, the commit or the query, and what followed."
    return _partition(runs, "7", "Figure 7: outcomes with the audit source", note, words.RECOVERY, "recovery")


def figure_8(runs: Named) -> Figure | None:
    """Safe workflows."""
    if not _has(runs, "8"):
        return None
    rows = [(name, setting, s.figures["8"][setting]) for name, s in runs for setting in ("se", "re")]
    columns = [Column(name, _capital(text)) for name, text in words.SAFE.items()]
    several = len(runs) > 1
    names = [f"{name}, {setting.upper()}" if several else setting.upper() for name, setting, _ in rows]
    title = "Figure 8: what becomes of permitted requests"
    svg = _stacked(title, names, [(c.title, [found[c.key].value for _, _, found in rows]) for c in columns])
    cells: list[list[Cell]] = [[name, s.upper(), *(found[c.key] for c in columns)] for name, s, found in rows]
    heads = (MODEL, Column("setting", "Setting", "text"))
    table = figure_table("numbers-8", "Numbers of Figure 8", (*heads, *columns), cells, 2)
    note = "Safe world under critical masks, without (SE) and with (RE) the audit source."
    return Figure("figure-8", title, note, "safe", [("", svg)], table, tuple(column.title for column in columns))


def figure_9(runs: Named) -> Figure | None:
    """Per domain."""
    domains = sorted({domain for _, summary in runs for domain in summary.figures["9"]})
    if len(domains) < 2:
        return None
    columns = (Column("critical_ucr", "Critical UCR"), Column("pur", "PUR"))
    panels = []
    for column in columns:
        series = [
            (name, [_bar_value(s.figures["9"].get(domain, {}).get(column.key)) for domain in domains])
            for name, s in runs
        ]
        title = f"Figure 9: {column.title} by domain"
        panels.append((column.title, _bars(title, domains, series, **_PERCENT)))
    rows: list[list[Cell]] = [
        [name, domain, *(found[column.key] for column in columns)]
        for name, s in runs
        for domain, found in s.figures["9"].items()
    ]
    heads = (MODEL, Column("domain", "Domain", "text"))
    table = figure_table("numbers-9", "Numbers of Figure 9", (*heads, *columns), rows, 2)
    note = "The same two numbers, domain by domain."
    return Figure("figure-9", "Figure 9: domains", note, "models", panels, table, tuple(_names(runs)))


def figure_10(runs: Named) -> Figure | None:
    """Distribution of per-family PUR."""
    if not _has(runs, "10"):
        return None
    from pygal import XY

    title = "Figure 10: PUR of each task family"
    options = _options(
        110 + 96 * len(runs),
        xrange=(0, 100),
        range=(0, len(runs)),
        x_labels=[0, 20, 40, 60, 80, 100],
        x_title="PUR of a family, %",
        y_labels=[{"value": len(runs) - place - 0.5, "label": name} for place, name in enumerate(_names(runs))],
        stroke=False,
        dots_size=4,
        x_value_formatter=lambda value: f"{value:.0f}",
        value_formatter=lambda value: "",
        margin=14,
    )
    chart = XY(**options)
    for place, (name, summary) in enumerate(runs):
        chart.add(name, _swarm(summary.figures["10"], len(runs) - place - 0.5))
    rows: list[list[Cell]] = [
        [name, family, found] for name, summary in runs for family, found in summary.figures["10"].items()
    ]
    heads = (MODEL, Column("family", "Family", "text"), Column("pur", "PUR"))
    table = figure_table("numbers-10", "Numbers of Figure 10", heads, rows, 2)
    note = "One dot a family; families with the same value stand over each other."
    return Figure("figure-10", title, note, "models", [("", _draw(chart, title))], table)


def _swarm(found: Mapping[str, float | None], middle: float) -> list[dict[str, Any]]:
    """Dots side by side where they would hide each other, from the middle outwards."""
    known = sorted((value, family) for family, value in found.items() if value is not None)
    columns: dict[int, int] = {}
    totals: dict[int, int] = {}
    for value, _ in known:
        totals[round(value / 2)] = totals.get(round(value / 2), 0) + 1
    dots = []
    for value, family in known:
        column = round(value / 2)
        place = columns[column] = columns.get(column, 0) + 1
        step = min(0.1, 0.9 / totals[column])
        away = (place // 2) * step * (1 if place % 2 else -1)
        dots.append({"value": (value, middle + away), "label": printable(family)})
    return dots


def figure_11(runs: Named) -> Figure | None:
    """Tokens and requests."""
    panels, rows = [], []
    for amount, text in (("tokens", "Tokens per rollout"), ("requests", "Requests per rollout")):
        if all(not s.figures["11"][setting][amount].value for _, s in runs for setting in ("se", "re")):
            continue
        series = [
            (setting.upper(), [_bar_value(s.figures["11"][setting][amount], "mean") for _, s in runs])
            for setting in ("se", "re")
        ]
        found = [s.figures["11"][setting][amount] for _, s in runs for setting in ("se", "re")]
        top = max(bound for e in found for bound in (*(e.interval or ()), e.value or 0))
        panels.append((text, _bars(f"Figure 11: {text.lower()}", _names(runs), series, range=(0, top))))
    if not panels:
        return None
    rows = [
        [name, setting.upper(), found["tokens"], found["unknown_tokens"], found["requests"]]
        for name, s in runs
        for setting in ("se", "re")
        if (found := s.figures["11"][setting])
    ]
    columns = (
        MODEL,
        Column("setting", "Setting", "text"),
        Column("tokens", "Tokens per rollout", "mean"),
        Column("unknown_tokens", "Rollouts of unknown tokens", "count"),
        Column("requests", "Requests per rollout", "mean"),
    )
    table = figure_table("numbers-11", "Numbers of Figure 11", columns, rows, 2)
    note = "On critical masks completed in both settings and both worlds. Rollouts of unknown usage are left out."
    return Figure("figure-11", "Figure 11: cost of interaction", note, "settings", panels, table, ("SE", "RE"))


_FIGURES: tuple[Callable[[Named], Figure | None], ...] = (
    figure_2a,
    figure_2b,
    figure_2c,
    figure_2d,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_11,
)
