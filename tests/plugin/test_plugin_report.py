"""What a session leaves and prints: the summary, the report's files, and progress for who watches."""

from __future__ import annotations

import json

import pytest

from pytest_episem.plugin.progress import EVERY, FIRST, Progress, duration, speed

TASK = "finance/payment-authorization/pr-58217"


@pytest.fixture
def run(pytester, task_file, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def start(*arguments, model="trusting"):
        return pytester.runpytest(task_file(TASK), f"--episem-model=episem/{model}", "--episem-out=run", *arguments)

    return start


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n0",), ("-n2",)])
def test_a_run_leaves_every_report(pytester, run, workers):
    run(*workers)
    made = {path.name for path in (pytester.path / "run").iterdir()}
    assert {"run.json", "trials.jsonl", "report.json", "report.md", "report.html", "tables"} <= made
    document = json.loads((pytester.path / "run" / "report.json").read_text())
    assert document["six"]["critical_ucr"]["value"] == 100
    assert document["records"]["trials"] == 14


def test_the_summary_stands_last_and_says_where_the_report_is(run):
    result = run()
    result.stdout.fnmatch_lines(
        [
            "*= episem =*",
            "episem/trusting * 1 pair, 1 family, finance",
            "*",
            "Critical UCR *100.0*",
            "*",
            "report:*report.html",
        ]
    )
    assert "FAILURES" not in "\n".join(result.outlines).rpartition("= episem =")[2]


def test_quiet_prints_the_six_alone(run):
    text = "\n".join(run("-q", "--tb=no", "--no-summary").outlines).rpartition("= episem =")[2]
    assert "Critical UCR 100.0" in text
    assert "boundary" not in text


def test_verbose_prints_every_table(run):
    assert "Table 11" in "\n".join(run("-v", "--tb=no").outlines)


def test_no_colour_when_asked(run, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "\n".join(run("--tb=no").outlines)


def test_collecting_alone_reports_nothing(pytester, run):
    assert run("--co").ret == 0
    assert not (pytester.path / "run").exists()


def test_reports_are_written_without_a_terminal_too(pytester, run):
    run("-p", "no:terminal")
    assert (pytester.path / "run" / "report.html").exists()


def test_a_report_that_cannot_be_written_costs_no_record(pytester, run):
    (pytester.path / "run" / "report.json").mkdir(parents=True)
    result = run("--tb=no")
    assert len((pytester.path / "run" / "trials.jsonl").read_text().splitlines()) == 14
    result.stdout.fnmatch_lines(["Critical UCR *", "no report: *cannot be written*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_resumed_run_is_reported_whole(pytester, task_file, run):
    run("--episem-setting=full")
    pytester.runpytest(task_file(TASK), "--episem-model=episem/trusting", "--episem-resume=run", "--tb=no")
    assert json.loads((pytester.path / "run" / "report.json").read_text())["records"]["trials"] == 14


def test_the_markdown_goes_to_the_page_of_a_github_step(pytester, run, monkeypatch):
    page = pytester.path / "step.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    run("--tb=no")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n## EpiSEM")
    assert text.count("## EpiSEM") == 1


class FakeWriter:
    def __init__(self):
        self.lines, self.width_of_current_line = [], 0

    def line(self, text="", **_):
        self.lines.append(text)
        self.width_of_current_line = 0


class FakeReporter:
    def __init__(self, isatty=True, verbosity=0):
        self.isatty, self.verbosity, self._tw, self.currentfspath = isatty, verbosity, FakeWriter(), "episem"


@pytest.fixture
def watched():
    now = [0.0]
    reporter = FakeReporter()
    return now, reporter, Progress(reporter, lambda: 100, lambda: 0.5, lambda: now[0])


def test_progress_says_how_far_how_fast_how_long_and_at_what_cost(watched):
    now, reporter, progress = watched
    for _ in range(19):
        progress.step()
    assert reporter._tw.lines == []
    now[0] = FIRST
    reporter._tw.width_of_current_line = 7
    progress.step()
    assert reporter._tw.lines == ["", "episem 20/100, 2.0/s, 40 s left, $0.50 so far"]
    assert reporter.currentfspath is None
    progress.step()
    now[0] = FIRST + EVERY
    progress.step()
    assert len(reporter._tw.lines) == 3


def test_unknown_cost_is_left_out():
    progress = Progress(FakeReporter(), lambda: 4, lambda: None, lambda: 0.0)
    assert "$" not in progress.line(10.0)


@pytest.mark.parametrize("reporter", [FakeReporter(isatty=False), FakeReporter(verbosity=-1), None])
def test_nobody_watches_nothing_is_printed(reporter):
    now = [0.0]
    progress = Progress(reporter, lambda: 10, lambda: None, lambda: now[0])
    now[0] = 1000.0
    progress.step()
    assert reporter is None or reporter._tw.lines == []


def test_rates_and_times_as_people_say_them():
    assert [speed(rate) for rate in (12.34, 1.0, 0.25)] == ["12.3/s", "1.0/s", "15.0/min"]
    assert [duration(seconds) for seconds in (4, 89, 90, 3600, 7500)] == [
        "4 s",
        "89 s",
        "2 min",
        "60 min",
        "2 h 05 min",
    ]
