"""The terminal summary. Values are those of the protocol's worked example, section 10."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_runs import A, B, worked_example

from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.evidence.trial import TrialError, Usage
from pytest_episem.report.terminal import comparison_lines, summary_lines
from pytest_episem.runs.run_dir import Run

SIX = {
    "Full SWS": "50.0",
    "Full UCR": "0.0",
    "Critical UCR": "100.0",
    "SBM": "41.7",
    "Recovery UCR": "50.0",
    "PUR": "50.0",
}
WIDTHS = (60, 61, 72, 80, 100, 132, 250)


def starting(lines, name):
    return [line for line in lines if line.startswith(name)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_lines_fit_the_width_and_no_figure_is_cut(summary, width, verbosity):
    lines = summary_lines(summary, width, colour=False, verbosity=verbosity)
    assert max(map(len, lines)) <= width
    assert not any("…" in line and "… and" not in line for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_six_stand_with_value_and_counts(summary, width):
    lines = summary_lines(summary, width, colour=False)
    for name, value in SIX.items():
        (line,) = starting(lines, name)
        assert value in line.split()
    assert "0.8/2" in starting(lines, "SBM")[0]


def test_coverage_and_bars_stand_where_there_is_room(summary):
    (line,) = starting(summary_lines(summary, 80, colour=False), "Critical UCR")
    assert "100 %" in line
    assert line.count("█") >= 10
    (line,) = starting(summary_lines(summary, 80, colour=False), "Full UCR")
    assert "█" not in line


def test_boundary_recovery_and_causes(summary):
    lines = summary_lines(summary, 80, colour=False)
    assert starting(lines, "omission failure")[0].split()[2:4] == ["2", "100.0"]
    assert starting(lines, "baseline failure")[0].split()[2:4] == ["0", "0.0"]
    assert "75.0" in starting(lines, "queried the audit source")[0]
    assert "25.0" in starting(lines, "committed without or before it")[0]
    assert "UCR 100.0 → 50.0 (-50.0), SWS 37.5 → 75.0 (+37.5)" in "\n".join(lines)
    assert "SE only 1, RE only 0, both 1, neither 0" in "\n".join(lines)
    assert starting(lines, "SE, critical mask")[0].split()[-2:] == ["2", "2"]


def test_every_domain_has_its_line_when_there_are_several(summary, trusting):
    lines = summary_lines(summary, 80, colour=False)
    assert starting(lines, "finance")[0].split() == ["finance", "1", "100.0", "0.0", "100.0", "33.3", "100.0", "50.0"]
    assert starting(lines, "travel")[0].split() == ["travel", "1", "0.0", "0.0", "100.0", "50.0", "0.0", "50.0"]
    assert not starting(summary_lines(summarize(trusting, draws=10), 80, colour=False), "domain")


def test_quiet_prints_the_six_in_a_few_lines(summary):
    lines = summary_lines(summary, 80, colour=False, verbosity=-1)
    assert len(lines) <= 4
    assert all(f"{name} {value}" in "\n".join(lines) for name, value in SIX.items())


def test_verbose_prints_every_table(summary):
    text = "\n".join(summary_lines(summary, 80, colour=False, verbosity=1))
    for name in ("Table 7", "Table 8", "Table 9", "Table 11", "The six by family", "Unsafe commits by cause"):
        assert name in text
    assert "Unsafe SE records  7" in text
    assert "Omission failure rate  35.0" in text


def test_colour_only_when_asked(summary):
    assert "\x1b" not in "".join(summary_lines(summary, 80, colour=False, verbosity=1))
    assert "\x1b[" in "".join(summary_lines(summary, 80, colour=True))


def test_ascii_where_the_terminal_takes_nothing_else(summary):
    "".join(summary_lines(summary, 80, colour=False, verbosity=1, unicode=False)).encode("ascii")


def test_unknown_cost_and_tokens_are_never_zero(trusting, summary):
    known = summary_lines(summary, 80, colour=False)[1]
    assert "3,480 tokens" in known
    assert "$7.25" in known
    unknown = summary_lines(summarize(trusting, draws=10), 80, colour=False)[1]
    assert "tokens unknown, cost unknown" in unknown
    assert "$" not in unknown


def test_a_partly_known_cost_names_what_is_unknown(example):
    first, *rest = example.trials.items()
    silent = replace(first[1], usage=Usage(requests=3))
    run = Run(example.header, {first[0]: silent, **dict(rest)})
    line = " ".join(summary_lines(summarize(run, draws=10), 120, colour=False)[1:2])
    assert "3,360 tokens and 1 rollout of unknown tokens" in line
    assert "$7.00 and 1 rollout of unknown cost" in line


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_incomplete_is_shouted(verbosity):
    run = worked_example()
    trials = dict(run.trials)
    gone = next(c for c in trials if c.task == A and (c.world, c.setting) == ("unsafe", "full"))
    lost = next(c for c in trials if c.task == B and (c.world, c.setting) == ("safe", "full"))
    trials[gone] = replace(trials[gone], status="error", outcome=None, error=TrialError("timeout", "no answer"))
    del trials[lost]
    lines = summary_lines(summarize(Run(run.header, trials), draws=10), 100, False, verbosity)
    assert len(starting(lines, "INCOMPLETE")) == 1
    for part in (
        "1 error (1 timeout)",
        "2 of 24 fixed conditions without an outcome",
        "1 boundary search not finished",
    ):
        assert part in " ".join(lines)
    assert "50 %" in " ".join(lines)


def test_a_complete_run_is_not_called_incomplete(summary):
    assert not starting(summary_lines(summary, 80, colour=False), "INCOMPLETE")


def test_names_cannot_move_the_cursor(hostile):
    text = "\n".join(summary_lines(summarize(hostile, draws=10), 80, colour=False, verbosity=1))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"\x1b[31m" in text.replace("\n", "")
    text.encode("utf-8")


def test_models_side_by_side(summary, trusting):
    runs = [("some/model", summary), ("episem/trusting", summarize(trusting, draws=10))]
    lines = comparison_lines(runs, 80, colour=False)
    assert starting(lines, "some/model")[0].split() == ["some/model", *SIX.values()]
    assert starting(lines, "episem/trusting")[0].split() == [
        "episem/trusting",
        "100.0",
        "0.0",
        "100.0",
        "33.3",
        "100.0",
        "0.0",
    ]
