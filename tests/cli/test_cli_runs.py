"""``episem report``, ``compare`` and ``merge`` on runs of agents with a known answer (protocol, section 9).

pr-58217 has two critical facts and either one alone decides it, so ``trusting`` commits under the first single mask:
Critical UCR 100, SBM 1 / 3. ``careful`` never does, and recovers: SBM 100, PUR 100.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

TASK = "finance/payment-authorization/pr-58217"
OTHER = "finance/payment-authorization/pr-60944"


@pytest.fixture
def trusting(make_run, tmp_path: Path) -> Path:
    return make_run(tmp_path / "trusting", "episem/trusting")


@pytest.fixture
def careful(make_run, tmp_path: Path) -> Path:
    return make_run(tmp_path / "careful", "episem/careful")


def six(document):
    return {name: round(found["value"], 2) for name, found in document["six"].items()}


TRUSTING = {"full_sws": 100, "full_ucr": 0, "critical_ucr": 100, "sbm": 33.33, "recovery_ucr": 100, "pur": 0}
CAREFUL = {"full_sws": 100, "full_ucr": 0, "critical_ucr": 0, "sbm": 100, "recovery_ucr": 0, "pur": 100}


def test_report_prints_the_summary_and_writes_the_numbers(episem, trusting):
    result = episem("report", trusting, "--format", "json")
    assert (result.returncode, result.stderr) == (0, "")
    assert "episem/trusting" in result.stdout
    assert f"written: {trusting / 'report.json'}" in result.stdout.splitlines()
    document = json.loads((trusting / "report.json").read_text(encoding="ascii"))
    assert document["schema"] == "episem.report/1"
    assert six(document) == TRUSTING


def test_report_leaves_every_kind_of_file(episem, careful):
    result = episem("report", careful)
    assert result.returncode == 0, result.stderr
    written = [line.removeprefix("written: ") for line in result.stdout.splitlines() if line.startswith("written: ")]
    assert written == [str(careful / name) for name in ("report.json", "report.md", "report.html", "tables")]
    assert all(Path(path).exists() for path in written)


def test_report_writes_only_the_formats_asked_for(episem, careful):
    assert episem("report", careful, "--format", "md", "--format", "json").returncode == 0
    assert sorted(path.name for path in careful.iterdir()) == ["report.json", "report.md", "run.json", "trials.jsonl"]
    result = episem("report", careful, "--format", "pdf")
    assert result.returncode == 2
    assert "'pdf' is not one of 'json', 'md', 'html', 'csv'" in result.stderr


def test_report_as_json_writes_no_file(episem, careful):
    result = episem("report", careful, "--json")
    assert six(json.loads(result.stdout)) == CAREFUL
    assert sorted(path.name for path in careful.iterdir()) == ["run.json", "trials.jsonl"]


def test_report_of_several_runs(episem, trusting, careful, tmp_path):
    result = episem("report", trusting, careful, "--out", tmp_path / "both", "--format", "json")
    assert result.returncode == 0
    reports = json.loads((tmp_path / "both" / "report.json").read_text(encoding="ascii"))["reports"]
    assert {name: six(found) for name, found in reports.items()} == {
        "episem/trusting": TRUSTING,
        "episem/careful": CAREFUL,
    }
    assert not (trusting / "report.json").exists()


def test_report_tells_of_torn_and_double_records(episem, trusting):
    records = trusting / "trials.jsonl"
    lines = records.read_text(encoding="ascii").splitlines(keepends=True)
    records.write_text("".join([*lines, lines[0], lines[1][:50]]), encoding="ascii")
    lines = episem("report", trusting, "--format", "json").stdout.splitlines()
    assert "a torn last record was skipped" in lines
    assert "1 record left out, of conditions that have a better one" in lines


def test_report_names_the_line_of_a_bad_record(episem, trusting):
    records = trusting / "trials.jsonl"
    lines = records.read_text(encoding="ascii").splitlines(keepends=True)
    records.write_text("".join([lines[0], lines[1].replace("episem.trial/1", "episem.trial/9")]), encoding="ascii")
    result = episem("report", trusting)
    assert result.returncode == 2
    assert "trials.jsonl line 2: unknown schema 'episem.trial/9'" in result.stderr


def test_a_record_that_cannot_be_read_is_named_and_the_rest_is_reported(episem, trusting):
    records = trusting / "trials.jsonl"
    lines = records.read_text(encoding="ascii").splitlines(keepends=True)
    records.write_text("".join([lines[0], lines[1].replace('"turns": ', '"turns": -'), *lines[2:]]), encoding="ascii")
    result = episem("report", trusting)
    assert (result.returncode, result.stderr) == (0, "")
    named = "1 record cannot be read, the first: "
    assert named in " ".join(result.stdout.split())
    assert "line 2: turns: Input should be greater than or equal to 0" in " ".join(result.stdout.split())
    for page in ("report.md", "report.html"):
        assert "1 record cannot be read" in (trusting / page).read_text(encoding="utf-8")


def test_compare(episem, trusting, careful):
    result = episem("compare", trusting, careful)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["A", "trusting"],
        ["B", "careful"],
        ["differs", "in", "model:", "episem/trusting", "in", "A,", "episem/careful", "in", "B"],
    ]
    cells = {line[:14].strip(): line[14:].split() for line in lines}
    assert cells["Full SWS"] == ["100.0", "100.0", "+0.0", "-", "0", "0", "1"]
    assert cells["Critical UCR"] == ["100.0", "0.0", "-100.0", "-", "1", "0", "1"]
    assert cells["SBM"] == ["33.3", "100.0", "+66.7", "-", "1", "0", "1"]
    assert cells["PUR"] == ["0.0", "100.0", "+100.0", "-", "1", "0", "1"]
    assert next(line.split() for line in lines if TASK in line) == [TASK, "100", "to", "0"]
    assert "Critical UCR: 1 task better" in lines


def test_compare_the_other_way_round_is_worse(episem, trusting, careful):
    document = json.loads(episem("compare", careful, trusting, "--json").stdout)
    assert document["schema"] == "episem.compare/2"
    assert document["metrics"]["critical_ucr"]["change"]["value"] == 100
    assert document["metrics"]["critical_ucr"]["worse"] == [{"task": TASK, "a": 0, "b": 1}]
    assert document["metrics"]["critical_ucr"]["better"] == []


def test_compare_names_what_only_one_run_has(episem, trusting, make_run, tmp_path):
    both = make_run(tmp_path / "both", "episem/trusting", ("pr-58217", "pr-60944"))
    page = episem("compare", trusting, both).stdout
    assert "No task moved" in page
    assert f"Only in B: 1 task\n  {OTHER}\n" in page


def test_compare_of_runs_without_a_common_task(episem, trusting, make_run, tmp_path):
    other = make_run(tmp_path / "other", "episem/trusting", ("pr-60944",))
    result = episem("compare", trusting, other)
    assert result.returncode == 2
    assert "have no task in common" in result.stderr


def test_merge_makes_one_run_of_shards(episem, trusting, make_run, tmp_path):
    shard = make_run(tmp_path / "shard", "episem/trusting", ("pr-60944",))
    result = episem("merge", trusting, shard, "--out", tmp_path / "whole")
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["run", "tasks", "trials", "errors", "duplicates", "torn"]
    assert lines[1] == [str(trusting), "1", "14", "0", "0", "0"]
    assert lines[3] == [str(tmp_path / "whole"), "2", "28", "0", "0", "0"]
    document = json.loads(episem("report", tmp_path / "whole", "--json").stdout)
    assert document["selection"]["pairs"] == 2
    assert six(document) == TRUSTING


def test_merge_tells_of_torn_and_double_records(episem, trusting, tmp_path):
    records = trusting / "trials.jsonl"
    lines = records.read_text(encoding="ascii").splitlines(keepends=True)
    records.write_text("".join([*lines, lines[0], lines[1][:50]]), encoding="ascii")
    result = episem("merge", trusting, trusting, "--out", tmp_path / "whole")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[1] == [str(trusting), "1", "14", "0", "1", "1"]
    assert rows[3] == [str(tmp_path / "whole"), "1", "14", "0", "0", "0"]
    assert "14 trials of a condition that another run holds as well were left out" in result.stdout
    assert "torn: a last record that a killed run left half written was skipped" in result.stdout


def test_merge_names_every_difference(episem, trusting, careful, tmp_path):
    result = episem("merge", trusting, careful, "--out", tmp_path / "whole")
    assert result.returncode == 2
    assert "cannot merge: model: episem/trusting in" in result.stderr
    assert not (tmp_path / "whole").exists()


@pytest.mark.parametrize("wrong", [".", "trustin"])
def test_a_directory_that_is_no_run_names_the_newest_run_there(episem, trusting, careful, tmp_path, wrong):
    for number, run in enumerate((careful, trusting)):
        os.utime(run / "run.json", (number, number))
    result = episem("report", tmp_path / wrong)
    assert result.returncode == 2
    said = f"not a run directory, it holds no run.json; the newest run there is {trusting}"
    assert result.stderr == f"episem: {tmp_path / wrong}: {said}\n"
