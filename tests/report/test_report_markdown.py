"""``report.md``: fits a comment, says what matters, and cannot be made to act."""

from __future__ import annotations

import re

import pytest
from report_runs import HOSTILE

from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.report.examples import Kind, failures
from pytest_episem.report.markdown import LIMIT, code, markdown
from pytest_episem.report.tables import GateLine


def rows(text, head):
    """The cells of the table whose header row holds ``head``."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("|") and head in line)
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_the_six_with_intervals_and_coverage(summary):
    table = rows(markdown([("some/model", summary)]), "95 % interval")
    assert [row[0].split(" ↑")[0].split(" ↓")[0] for row in table] == [
        "Full SWS", "Full UCR", "Critical UCR", "SBM", "Recovery UCR", "PUR",
    ]  # fmt: skip
    assert [row[1] for row in table] == ["**50.0**", "**0.0**", "**100.0**", "**41.7**", "**50.0**", "**50.0**"]
    assert [row[3] for row in table] == ["1/2", "0/2", "2/2", "0.8/2", "1/2", "1/2"]
    assert {row[4] for row in table} == {"100 %"}


def test_boundary_and_domains(summary):
    text = markdown([("some/model", summary)])
    assert "baseline failure 0 · omission failure 2 · no observed failure 0 · incomplete 0 (of 2 pairs)" in text
    assert [row[1:4] for row in rows(text, "Domain")] == [
        ["<code>finance</code>", "1", "100.0"],
        ["<code>travel</code>", "1", "0.0"],
    ]


def test_failing_examples_come_with_the_command_that_shows_them(summary, example):
    kinds = failures(example.trials.values())
    text = markdown([("some/model", summary)], [("some/model", kinds)])
    assert "### 7 failing conditions" in text
    assert "episem show finance/alpha/a-1 --world unsafe --setting se --mask a1" in text


def test_gates_when_there_were_some(summary):
    gates = [GateLine("max-full-ucr", True, "0.0 is at most 5"), GateLine("min-pur", False, "50.0 is below 90")]
    text = markdown([("some/model", summary)], gates=gates)
    assert "**1 of 2 gates failed**" in text
    assert "FAILED" in text
    assert "gate" not in markdown([("some/model", summary)])
    assert "**All gates passed**" in markdown([("some/model", summary)], gates=gates[:1])


def test_details_are_folded(summary):
    text = markdown([("some/model", summary)])
    assert text.count("<details>") == text.count("</details>") >= 6
    assert text.index("Full SWS") < text.index("<details>")


def test_several_runs_stand_side_by_side(summary, trusting):
    text = markdown([("one", summary), ("two", summarize(trusting, draws=10))])
    assert [row[0] for row in rows(text, "Full SWS")] == ["<code>one</code>", "<code>two</code>"]


@pytest.mark.parametrize("runs", [1, 6, 60])
def test_never_longer_than_a_comment_may_be(summary, example, runs):
    kinds = [Kind(k.key, k.title, k.count, k.examples * 40) for k in failures(example.trials.values())]
    named = [(f"model-{number}" + "x" * 300, summary) for number in range(runs)]
    text = markdown(named, [(name, kinds) for name, _ in named])
    assert len(text.encode()) <= LIMIT
    assert runs == 1 or "Left out for length" in text
    assert "Full SWS" in text


def test_incomplete_is_said_first(hostile):
    text = markdown([("m", summarize(hostile, draws=10))])
    assert text.index("**Incomplete.**") < text.index("Full SWS")


ACTIVE = re.compile(r"https?://|www\.|@|\]\(|\x1b|\u202e|<script|<img|\{\{|\|.*`")


def test_untrusted_text_is_inert(hostile):
    summary = summarize(hostile, draws=10)
    gates = [GateLine(HOSTILE, False, HOSTILE)]
    text = markdown([(HOSTILE, summary)], [(HOSTILE, failures(hostile.trials.values()))], gates)
    assert not ACTIVE.search(text)
    text.encode("utf-8")
    for row in rows(text, "Verdict"):
        assert len(row) == 3
    tags = set(re.findall(r"</?[a-z]+", text))
    assert tags <= {"<code", "</code", "<br", "<details", "</details", "<summary", "</summary"}


def test_code_keeps_the_text_readable():
    assert code("finance/pr-1") == "<code>finance/pr-1</code>"
    assert code("a|b") == "<code>a&#124;b</code>"
    assert code("www.example") == "<code>www&#46;example</code>"
    assert code("x" * 500).count("x") == 159
