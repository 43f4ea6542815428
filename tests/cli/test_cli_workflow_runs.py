"""``episem report`` and ``merge`` on runs of the workflow suite, and what the other commands say of them.

On the shipped billing chain all but stop do the same: where the charge landed they ask (free) and send the receipt (fee
1), 2 actions; where it was lost they ask, charge (fee 3) and send the receipt, 3 actions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_episem.runs.run import BankId, RunHeader, WorkflowPlan
from pytest_episem.runs.store import TRIALS_FILE, TrialWriter
from pytest_episem.workflows.bank.load import shipped_workflows
from pytest_episem.workflows.study import run_workflow

CHAIN = "finance/billing-chain"


@pytest.fixture(scope="session")
def make_workflows() -> Callable[..., Path]:
    """Write a run of a controller over the billing chain's assignments, as a session leaves it."""
    bank = shipped_workflows()
    source = BankId(bank.name, bank.version, bank.hash)

    def make(home: Path, controller: str, *cases: str, planned: tuple[str, ...] = ()) -> Path:
        agent, names = f"episem/{controller}", cases or ("landed", "lost")
        plan = WorkflowPlan(source, True, "assignments", [f"{CHAIN}/{case}" for case in planned or names])
        run = f"run-{controller}"
        RunHeader(run, agent, None, "1.0", "0.1.0", source, {"repeats": 1}, "0", "2033-01-01", [], plan).save(home)
        with TrialWriter(home, run, agent) as writer:
            for result in run_workflow(bank.workflow(CHAIN), controllers=[controller]):
                if result.case in names:
                    writer.write(result.trial)
        return home

    return make


@pytest.fixture
def joint(make_workflows, tmp_path: Path) -> Path:
    return make_workflows(tmp_path / "joint", "joint")


def test_report_of_outcomes_alone(episem, joint):
    result = episem("report", joint)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "episem/joint · workflows · 2 of 2 named cases, 1 workflow, shield on"
    assert "fee 5, 5 actions, 0 instants" in lines
    assert "Critical UCR" not in result.stdout
    names = [str(joint / name) for name in ("report.json", "report.md", "report.html", "tables")]
    assert [line.removeprefix("written: ") for line in lines if line.startswith("written: ")] == names
    document = json.loads((joint / "report.json").read_text(encoding="ascii"))
    assert document["workflows"]["coverage"]["replayed"] is True
    assert document["workflows"]["results"]["fee"] == 5


def test_report_as_json_writes_no_file(episem, joint):
    document = json.loads(episem("report", joint, "--json").stdout)
    assert document["workflows"]["results"]["certified"] == 2
    assert sorted(path.name for path in joint.iterdir()) == ["run.json", "trials.jsonl"]


def test_five_controllers_side_by_side(episem, make_workflows, tmp_path):
    names = ("stop", "verify-wait", "capability", "greedy", "joint")
    homes = [make_workflows(tmp_path / name, name) for name in names]
    result = episem("report", *homes, "--out", tmp_path / "all", "--format", "json", COLUMNS="200")
    assert result.returncode == 0, result.stderr
    page = result.stdout[result.stdout.index("== workflows side by side") :].splitlines()
    rows = [line.split() for line in page if line.startswith("episem/") and "2/2" in line]
    assert [row[0] for row in rows[:5]] == [f"episem/{name}" for name in names]
    assert rows[0][1:3] == ["0/2", "0"]  # nobody sent the receipt
    assert [row[1:3] + row[7:10] for row in rows[1:5]] == [["2/2", "2", "5", "5", "0"]] * 4
    document = json.loads((tmp_path / "all" / "report.json").read_text(encoding="ascii"))
    assert len(document["reports"]) == 5
    savings = document["workflow_comparison"]["savings"]
    assert [(line["template"], line["fee"], line["actions"], line["alike"]) for line in savings] == [
        (CHAIN, 0, 0, 2),
        ("all templates", 0, 0, 2),
    ]


def test_both_suites_stand_one_under_the_other(episem, joint, make_run, tmp_path):
    careful = make_run(tmp_path / "careful", "episem/careful")
    result = episem("report", careful, joint, "--out", tmp_path / "both")
    assert result.returncode == 0, result.stderr
    assert "Critical UCR" in result.stdout
    assert "episem/joint · workflows" in result.stdout
    document = json.loads((tmp_path / "both" / "report.json").read_text(encoding="ascii"))
    assert list(document["reports"]) == ["episem/careful", "episem/joint"]
    assert "workflows" not in document["reports"]["episem/careful"]
    assert "six" not in document["reports"]["episem/joint"]
    page = (tmp_path / "both" / "report.html").read_text(encoding="utf-8")
    assert 'id="browser"' in page
    assert 'id="cases-browser"' in page


def test_a_forged_record_is_refuted(episem, make_workflows, tmp_path):
    """Whoever turns the last word of a stopped run into a certified finish gains nothing."""
    home = make_workflows(tmp_path / "stop", "stop")
    path = home / TRIALS_FILE
    text = path.read_text(encoding="ascii")
    forged = text.replace('"terminal": "unknown"', '"terminal": "completed"').replace(
        '"kind": "stop"', '"claim": "completed", "kind": "finish"'
    )
    assert forged != text
    path.write_text(forged.replace('"claim_holds": null', '"claim_holds": true'), encoding="ascii")
    document = json.loads(episem("report", home, "--json").stdout)["workflows"]
    assert (document["results"]["certified"], document["results"]["refuted"]) == (0, 2)
    assert list(document["coverage"]["refuted"]) == [f"{CHAIN}/landed", f"{CHAIN}/lost"]


def test_a_torn_record_is_missed_by_name(episem, joint):
    path = joint / TRIALS_FILE
    path.write_bytes(path.read_bytes()[:-9])
    page = episem("report", joint, "--format", "md").stdout
    assert f"INCOMPLETE 1 of 2 cases without a record: {CHAIN}/lost; a torn last record was skipped" in page
    assert "**Incomplete.**" in (joint / "report.md").read_text(encoding="utf-8")


def test_a_bad_record_costs_its_case_and_is_named(episem, joint):
    path = joint / TRIALS_FILE
    path.write_text(path.read_text(encoding="ascii").replace('"shield"', '"sheild"', 1), encoding="ascii")
    result = episem("report", joint)
    assert result.returncode == 0, result.stderr
    assert f"INCOMPLETE 1 of 2 cases without a record: {CHAIN}/landed" in result.stdout


def test_a_record_of_an_unknown_schema_is_one_line(episem, joint):
    path = joint / TRIALS_FILE
    path.write_text(path.read_text(encoding="ascii").replace("episem.trial/1", "episem.trial/9"), encoding="ascii")
    result = episem("report", joint)
    assert (result.returncode, result.stdout) == (2, "")
    assert "trials.jsonl line 1: unknown schema 'episem.trial/9'" in result.stderr


def test_another_bank_replays_nothing_and_says_so(episem, joint, bank_dir):
    page = episem("report", joint, "--bank", bank_dir, "--format", "json").stdout
    assert "NOT REPLAYED the bank shipped" in page


def test_merge_joins_shards(episem, make_workflows, tmp_path):
    shards = [make_workflows(tmp_path / case, "joint", case, planned=("landed", "lost")) for case in ("lost", "landed")]
    result = episem("merge", *shards, "--out", tmp_path / "whole")
    assert (result.returncode, result.stderr) == (0, "")
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith(str(tmp_path))]
    one = ["1", "1", "0", "0", "0"]  # a workflow, a trial, no error, nothing twice, nothing torn
    assert [row[1:] for row in rows] == [one, one, ["1", "2", "0", "0", "0"]]
    document = json.loads(episem("report", tmp_path / "whole", "--json").stdout)["workflows"]
    assert (document["results"]["runs"], document["coverage"]["missing"]) == (2, [])


def test_merge_refuses_two_controllers(episem, joint, make_workflows, tmp_path):
    other = make_workflows(tmp_path / "greedy", "greedy")
    result = episem("merge", joint, other, "--out", tmp_path / "whole")
    assert result.returncode == 2
    assert "model: episem/joint in" in result.stderr
    assert not (tmp_path / "whole").exists()


def test_gate_holds_cases_to_limits_and_replays_them_first(episem, joint, make_workflows, tmp_path):
    """By hand: stop sends nothing, so both cases miss the receipt; joint finishes both, and nobody pays twice."""
    limits = ("--min-certified", "100", "--max-duplicate-effects", "0")
    passed = episem("gate", joint, *limits)
    assert (passed.returncode, passed.stderr) == (0, "")
    line = "episem gate: PASSED (2 cases, finance): Duplicate effects 0 <= 0; Certified 100 >= 100"
    assert passed.stdout.splitlines()[-1] == line
    failed = episem("gate", make_workflows(tmp_path / "stop", "stop"), *limits)
    assert failed.returncode == 1
    assert failed.stdout.splitlines()[-1] == "episem gate: FAILED (2 cases, finance): Certified 0 < 100"


def test_a_forged_record_passes_no_gate(episem, make_workflows, tmp_path):
    home = make_workflows(tmp_path / "stop", "stop")
    path = home / TRIALS_FILE
    text = path.read_text(encoding="ascii")
    path.write_text(text.replace('"terminal": "unknown"', '"terminal": "completed"'), encoding="ascii")
    result = episem("gate", home, "--max-duplicate-effects", "0")
    assert result.returncode == 1
    assert "2 of 2 cases incomplete, the first: finance/billing-chain/landed (refuted: " in result.stdout


def test_a_gate_without_the_bank_of_the_run_decides_nothing(episem, joint, bank_dir):
    result = episem("gate", joint, "--max-duplicate-effects", "0", "--bank", bank_dir)
    assert result.returncode == 1
    assert "not replayed: the bank of the run is not at hand" in result.stdout


def test_a_missing_case_and_a_gate_of_the_other_suite_fail(episem, make_workflows, joint, tmp_path):
    part = make_workflows(tmp_path / "part", "joint", "landed", planned=("landed", "lost"))
    result = episem("gate", part, "--max-duplicate-effects", "0")
    assert result.returncode == 1
    assert f"1 of 2 cases incomplete, the first: {CHAIN}/lost (no record)" in result.stdout
    other = episem("gate", joint, "--max-critical-ucr", "5")
    assert other.returncode == 1
    assert "Critical UCR: no pair was selected" in other.stdout


def test_compare_holds_two_controllers_against_each_other(episem, joint, make_workflows, tmp_path):
    """By hand: stop certifies neither case, joint both; without anything sent the goal is missed in both."""
    stop = make_workflows(tmp_path / "stop", "stop")
    document = json.loads(episem("compare", stop, joint, "--json").stdout)
    assert document["suite"] == "workflows"
    changes = {name: one["change"]["value"] for name, one in document["metrics"].items()}
    assert changes == {
        "certified": 100, "goal": 100, "duplicate_effects": 0, "new_violations": 0, "unsafe_proposals": 0,
        "false_claims": 0,
    }  # fmt: skip
    page = episem("compare", stop, joint).stdout
    assert "Certified: 2 tasks better" in page


def test_bless_and_a_regression(episem, joint, make_workflows, tmp_path):
    baseline, stop = tmp_path / "b.json", make_workflows(tmp_path / "stop", "stop")
    blessed = episem("bless", joint, "--out", baseline)
    assert blessed.returncode == 0, blessed.stderr
    assert "2 cases of run run-joint" in blessed.stdout
    result = episem("gate", stop, "--max-regression", "5", "--baseline", baseline)
    assert result.returncode == 1
    assert "regression of Certified 100 pp > 5 pp" in result.stdout
    better = episem("gate", joint, "--max-regression", "5", "--baseline", stop)
    assert better.returncode == 0, better.stdout


def test_a_baseline_of_the_other_suite_is_refused(episem, joint, make_run, tmp_path):
    careful = make_run(tmp_path / "careful", "episem/careful")
    result = episem("gate", careful, "--max-regression", "2", "--baseline", joint)
    assert result.returncode == 2
    assert "is a baseline of the suite workflows, which this run does not play" in result.stderr
    assert result.stderr.count("\n") == 1
    nothing = episem("compare", careful, joint)
    assert nothing.returncode == 2
    assert "have no suite in common" in nothing.stderr
