"""Figures: real SVG, clean enough to stand in any page, with their numbers beside them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.report.figures import clean, figures, shorten

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(summary):
    return {figure.key: figure for figure in figures([("some/model", summary)])}


def test_every_figure_of_the_protocol(drawn):
    wanted = ["2a", "2b", "2c", "2d", "3", "4", "5", "6", "7", "8", "9", "10", "11"]
    assert list(drawn) == [f"figure-{key}" for key in wanted]


def test_svg_is_inert_and_named(drawn):
    for figure in drawn.values():
        for _, svg in figure.svgs:
            root = ET.fromstring(svg)
            tags = {node.tag.removeprefix(SVG) for node in root.iter()}
            assert tags <= {"svg", "title", "g", "rect", "path", "text", "circle", "line", "tspan"}
            assert root.get("role") == "img"
            assert root.findtext(f"{SVG}title")
            assert not [
                k for node in root.iter() for k in node.attrib if k.startswith("on") or k in ("id", "style", "href")
            ]


def bars(svg):
    rects = ET.fromstring(svg).iter(f"{SVG}rect")
    return [float(rect.get("width", "0")) for rect in rects if rect.get("class", "").startswith("rect reactive")]


def test_bars_are_as_long_as_their_numbers(drawn):
    lengths = bars(drawn["figure-2a"].svgs[0][1])
    assert sorted(lengths)[0] / sorted(lengths)[1] == pytest.approx(0.35, abs=0.01)
    re_legal, se_legal, re_held, se_held = bars(drawn["figure-8"].svgs[0][1])[:4]
    assert (se_legal / (se_legal + se_held), re_legal / (re_legal + re_held)) == pytest.approx((0.375, 0.75), abs=0.001)


def test_the_numbers_behind_a_figure(drawn):
    cells = drawn["figure-6"].table.rows[0][1:]
    assert [cell.value for cell in cells] == [50, 0, 50, 0]
    cells = drawn["figure-2b"].table.rows[0][1:]
    assert [cell.value for cell in cells] == [-50, 37.5]
    assert [row[2] for row in drawn["figure-10"].table.rows] == [50, 50]


def test_unknown_tokens_draw_nothing(trusting):
    found = figures([("episem/trusting", summarize(trusting, draws=10))])
    assert "figure-11" not in [figure.key for figure in found]


def test_models_side_by_side_share_a_figure(summary, trusting):
    runs = [("some/model", summary), ("episem/trusting", summarize(trusting, draws=10))]
    found = {figure.key: figure for figure in figures(runs)}
    text = found["figure-4"].svgs[0][1]
    assert text.index("some/model") > 0
    assert text.index("episem/trusting") > 0
    assert found["figure-3"].legend == ("some/model", "episem/trusting")
    assert len(found["figure-7"].table.rows) == 2


def test_the_same_numbers_give_the_same_svg(summary):
    once, again = figures([("m", summary)]), figures([("m", summary)])
    assert [figure.svgs for figure in once] == [figure.svgs for figure in again]


def test_cleaning_keeps_only_the_picture():
    dirty = (
        '<svg xmlns="http://www.w3.org/2000/svg"><!-- made today --><defs><style>*{}</style></defs><script>x()</script>'
        '<g id="a" class="plot"><title>0.2</title><circle r="1.23456"/><desc class="label">a family</desc></g></svg>'
    )
    svg = clean(dirty, 'A "title" & <more>')
    assert "made today" not in svg
    assert "script" not in svg
    assert 'r="1.23"' in svg
    assert "<title>a family</title>" in svg
    assert "0.2" not in svg
    assert ET.fromstring(svg).findtext(f"{SVG}title") == 'A "title" & <more>'


def test_long_and_hostile_names_fit_an_axis():
    assert shorten("a/b") == "a/b"
    assert len(shorten("x" * 100)) <= 26
    assert shorten("\x1b[0m\ud800") == r"\x1b[0m\ud800"
