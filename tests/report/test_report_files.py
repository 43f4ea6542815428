"""All files of a report: JSON, CSV, and that each is written whole."""

from __future__ import annotations

import csv
import io
import json

import pytest
from report_runs import HOSTILE, save

from pytest_episem.banks.problem import BankError, Problem
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.report.csv_files import csv_text
from pytest_episem.report.tables import Column, Table, tables
from pytest_episem.report.words import labels
from pytest_episem.report.write import write_reports


@pytest.fixture
def run_dirs(tmp_path, example, trusting):
    return save(example, tmp_path / "one"), save(trusting, tmp_path / "two")


def table(summary, key):
    found = next(t for t in tables([("some/model", summary)]) if t.key == key)
    return list(csv.DictReader(io.StringIO(csv_text(found))))


def test_one_call_writes_every_file(tmp_path, run_dirs):
    written = write_reports(run_dirs[:1], tmp_path / "out")
    names = {path.relative_to(tmp_path / "out").as_posix() for path in written.files}
    assert {"report.json", "report.md", "report.html", "tables/table-1.csv", "tables/families.csv"} <= names
    assert all(path.stat().st_size for path in written.files)
    assert not list((tmp_path / "out").glob("*.part"))


def test_old_records_are_reported_without_the_shipped_banks(tmp_path, run_dirs, monkeypatch):
    """Neither bank can be read: the numbers need none, and the page shows the conditions without their tasks."""

    def broken():
        raise BankError([Problem("schema", "evidence", "", "", "cannot be read")])

    monkeypatch.setattr("pytest_episem.report.html.shipped_bank", broken)
    monkeypatch.setattr("pytest_episem.report.write.shipped_workflows", broken)
    write_reports(run_dirs[:1], tmp_path / "out")
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["six"]["critical_ucr"]["value"] == 100
    assert "Critical UCR" in (tmp_path / "out" / "report.html").read_text()


def test_report_json_of_one_run_holds_its_numbers(tmp_path, run_dirs, example):
    write_reports(run_dirs[:1], tmp_path / "out")
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["schema"] == "episem.report/1"
    assert document == json.loads(json.dumps(summarize(example).to_dict()))
    assert document["six"]["critical_ucr"]["value"] == 100


def test_report_json_of_several_runs_names_each(tmp_path, run_dirs):
    write_reports(run_dirs, tmp_path / "out")
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["schema"] == "episem.reports/1"
    assert list(document["reports"]) == ["some/model", "episem/trusting"]
    assert document["reports"]["some/model"]["six"]["pur"]["value"] == 50


def test_no_run_and_no_directory_are_one_clear_message(tmp_path, run_dirs):
    with pytest.raises(EpisemError, match="name at least one run"):
        write_reports([], tmp_path / "out")
    with pytest.raises(EpisemError, match="not a run directory"):
        write_reports([tmp_path / "nowhere"], tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(EpisemError, match="cannot be written"):
        write_reports(run_dirs[:1], tmp_path / "file")


def test_an_old_report_is_replaced(tmp_path, run_dirs):
    out = tmp_path / "out"
    write_reports(run_dirs[:1], out)
    before = (out / "report.html").read_bytes()
    write_reports(run_dirs[1:], out)
    write_reports(run_dirs[:1], out)
    assert (out / "report.html").read_bytes() == before


def test_csv_spreads_an_estimate(summary):
    (row,) = table(summary, "table-1")
    assert row["model"] == "some/model"
    assert float(row["sbm"]) == pytest.approx(41.6667, abs=1e-3)
    assert float(row["sbm_numerator"]) == pytest.approx(1 / 3 + 2 / 4)
    assert (row["sbm_denominator"], row["sbm_coverage"], row["sbm_low"]) == ("2", "1.0", "")


def test_csv_of_the_paper_s_tables(summary):
    assert table(summary, "table-7") == [
        {"model": "some/model", "unsafe_se_records": "7", "unsafe_re_records": "6", "matched_re_masks": "6"}
    ]
    (row,) = table(summary, "table-9")
    assert (float(row["ucr_change"]), float(row["sws_change"])) == (-50, 37.5)
    (row,) = table(summary, "table-10")
    assert (row["omission_failure_numerator"], row["pairs"]) == ("2.0", "2")
    (row,) = table(summary, "table-11")
    names = ("attempt", "unsafe_strict", "premature", "safe_se_sws", "safe_re_sws", "safe_strict", "pur")
    assert [float(row[name]) for name in names] == [75, 75, 25, 37.5, 75, 50, 50]


def test_csv_leaves_the_unknown_empty(trusting):
    (row,) = table(summarize(trusting, draws=10), "records")
    assert (row["total_tokens"], row["cost_usd"]) == ("", "")
    assert int(row["unknown_cost"]) == int(row["trials"]) > 0


def test_csv_is_no_formula_and_no_control_character():
    text = csv_text(Table("t", "T", "", (Column("name", "Name", "text"),), [["=HYPERLINK(1)"], ["@x"], [HOSTILE]]))
    cells = [row[0] for row in csv.reader(io.StringIO(text))][1:]
    assert cells[:2] == ["'=HYPERLINK(1)", "'@x"]
    assert "\x1b" not in text
    text.encode("utf-8")


def test_runs_of_one_model_are_told_apart():
    a, b = {"model": "m", "agent": None, "run": "r1"}, {"model": "m", "agent": None, "run": "r2"}
    assert labels([a]) == ["m"]
    assert labels([a, b]) == ["m (r1)", "m (r2)"]
    assert labels([a, a]) == ["m (r1) #1", "m (r1) #2"]
    assert labels([{"model": None, "agent": "x:y", "run": "r"}]) == ["x:y"]
