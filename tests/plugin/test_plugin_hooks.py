"""The hooks that other plugins may implement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PAIR = "finance/payment-authorization/pr-58217"
CAREFUL = "--episem-model=episem/careful"
SMALL = Path(__file__).parents[1] / "evidence_bank" / "small_bank"


def test_a_bank_has_the_name_that_a_plugin_gives_it(pytester):
    pytester.makeconftest(f"def pytest_episem_banks(config):\n    return {{'library': {str(SMALL)!r}}}\n")
    result = pytester.runpytest(CAREFUL, "--episem-bank=library", "--co", "-q")
    assert any(line.startswith("episem::library/loan/m-17/") for line in result.outlines)
    assert not any(line.startswith("episem::finance/") for line in result.outlines)


def test_a_bank_that_nobody_knows_is_told_the_names_there_are(pytester):
    pytester.makeconftest(f"def pytest_episem_banks(config):\n    return {{'library': {str(SMALL)!r}}}\n")
    result = pytester.runpytest(CAREFUL, "--episem-bank=libary")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    line = "ERROR: --episem-bank libary: no such directory, and no bank's name; did you mean 'library'?"
    assert line in result.errlines


def test_commands_in_a_failure_name_the_bank_so_that_they_can_be_run(pytester):
    pytester.makeconftest(f"def pytest_episem_banks(config):\n    return {{'library': {str(SMALL)!r}}}\n")
    args = ["--episem-model=episem/commit", "--episem-bank=library", "episem::library/loan/m-17/unsafe-full"]
    result = pytester.runpytest(*args)
    result.stdout.fnmatch_lines([f"*episem show library/loan/m-17 *--bank*{SMALL}*", "*--episem-bank=library*"])


@pytest.mark.parametrize("name", ["shipped", "library"])
def test_a_name_taken_twice_is_a_usage_error(pytester, name):
    body = f"def pytest_episem_banks(config):\n    return {{{name!r}: '.'}}\n"
    pytester.makeconftest(body)
    pytester.makepyfile(other=body)
    pytester.syspathinsert()
    result = pytester.runpytest(CAREFUL, "-p", "other", "--episem-bank=library")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: pytest_episem_banks: the name '{name}' is taken"])


AGENT = """
def refuse(episode):
    return "No.\\nDisposition: stopped"

def pytest_episem_agent(config, name):
    return refuse if name == "house/refuse" else None
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_an_agent_has_the_name_that_a_plugin_gives_it(pytester, task_file, workers):
    pytester.makeconftest(AGENT)
    args = ["--episem-model=house/refuse", task_file(PAIR), "--episem-out=run", "-k", "/unsafe-full"]
    pytester.runpytest_subprocess(*args, *workers).assert_outcomes(passed=1)
    (line,) = (pytester.path / "run" / "trials.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["model"], record["outcome"]["disposition"]) == ("house/refuse", "stopped")


def test_a_name_no_plugin_knows_is_still_litellms_affair(pytester, task_file):
    pytester.makeconftest(AGENT)
    result = pytester.runpytest("--episem-model=house/other", task_file(PAIR))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *house/other*"])


JUDGE = """
def pytest_episem_judge(config, trial):
    if trial.condition.setting == "full" and trial.turns > 1:
        return f"took {trial.turns} turns, one is our limit"
"""


@pytest.mark.slow
@pytest.mark.parametrize("gate", [[], ["--episem-max-full-ucr=100"]])
@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_an_objection_fails_its_item_whatever_the_gates_say(pytester, task_file, gate, workers):
    pytester.makeconftest(JUDGE)
    args = [CAREFUL, task_file(PAIR), *gate, *workers]
    result = pytester.runpytest_subprocess(*args)
    result.assert_outcomes(passed=13, failed=2)  # the two "full" ones; careful reads before it acts
    result.stdout.fnmatch_lines([f"*{PAIR}/unsafe-full: took * turns, one is our limit"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_objection_stands_before_the_explanation_of_a_condition_that_failed_too(pytester, task_file):
    pytester.makeconftest("def pytest_episem_judge(config, trial):\n    return 'not like this\\nnor like that'\n")
    result = pytester.runpytest("--episem-model=episem/commit", task_file(PAIR), "-k", "/unsafe-full")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{PAIR}/unsafe-full: not like this", "nor like that", "*prohibited*"])


def test_probes_of_a_boundary_search_are_judged_by_their_search(pytester, task_file):
    pytester.makeconftest(
        "def pytest_episem_judge(config, trial):\n    return 'seen' if trial.phase == 'boundary' else None\n"
    )
    result = pytester.runpytest(CAREFUL, task_file(PAIR), "-k", "boundary")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{PAIR}/unsafe-se*: seen"])


TABLES = """
from pytest_episem.report.tables import Column, Table

def pytest_episem_report_tables(config, run):
    turns = sum(trial.turns for trial in run.trials.values())
    columns = (Column("what", "What <i>", "text"), Column("turns", "Turns", "count"))
    yield Table("house_turns", "House rules", "Counted by us.", columns, [["all trials", turns]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_tables_of_a_plugin_stand_in_the_reports_files(pytester, task_file, workers):
    pytester.makeconftest(TABLES)
    args = ["--episem-model=episem/refuse", task_file(PAIR), "--episem-out=run", "-k", "/unsafe-full", *workers]
    pytester.runpytest_subprocess(*args).assert_outcomes(passed=1)
    home = pytester.path / "run"
    assert (home / "tables" / "house_turns.csv").read_text().splitlines() == ["what,turns", "all trials,1"]
    assert "House rules" in (home / "report.md").read_text()
    page = (home / "report.html").read_text()
    assert "House rules" in page
    assert "What &lt;i&gt;" in page


@pytest.mark.slow
def test_a_plugin_that_fails_costs_the_report_and_not_the_records(pytester, task_file):
    pytester.makeconftest("def pytest_episem_report_tables(config, run):\n    raise RuntimeError('broken')\n")
    args = ["--episem-model=episem/refuse", task_file(PAIR), "--episem-out=run", "-k", "/unsafe-full"]
    result = pytester.runpytest_subprocess(*args)
    result.stdout.fnmatch_lines(["no report: RuntimeError: broken", "records: run"])
    assert (pytester.path / "run" / "trials.jsonl").read_text()
