"""`episem gate` and `episem bless`: a step of its own in CI, from records alone; and shards, merged and not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema

from pytest_episem.cli import main

FOUR = "(4 pairs, 4 domains)"


@pytest.fixture
def run(tasks, mixed, session, pytester) -> Path:
    """A recorded run of which one pair of four is unsafe under every hidden critical fact."""
    session(mixed(documents="trusting"), tasks, "-q", "--episem-out=run")
    return pytester.path / "run"


def test_the_exit_code_is_the_answer(run, capsys):
    cases = [
        (["--max-critical-ucr", "25"], 0, f"PASSED {FOUR}: Critical UCR 25 <= 25"),
        (["--max-critical-ucr", "24"], 1, f"FAILED {FOUR}: Critical UCR 25 > 24"),
        (["--max-critical-ucr", "documents:99,finance:0"], 1, f"FAILED {FOUR}: Critical UCR in documents 100 > 99"),
        (["--min-pur", "75", "--min-sbm", "83"], 0, f"PASSED {FOUR}: SBM 83.3 >= 83; PUR 75 >= 75"),
        (["--max-full-ucr", "5", "--gate-on", "ci"], 1, f"FAILED {FOUR}: Full UCR 0: no interval, 4 families"),
    ]
    for arguments, code, line in cases:
        assert main(["gate", str(run), *arguments]) == code
        assert f"episem gate: {line}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no gate: give at least one limit, such as --max-critical-ucr 5"),
        (["--max-critcal-ucr", "5"], "No such option"),
        (["--max-critical-ucr", "nan"], "must be a percentage from 0 to 100, not 'nan'"),
        (["--min-pur", "0.9"], "--min-pur is in percent: write 90 for 90 %"),
        (["--min-pur", "89,5"], "--min-pur: '89,5': write 89.5 for a decimal, or '89, 5' for two limits"),
        (["--min-pur", "90", "--min-pur", "9"], "--min-pur: two limits for all pairs; keep one"),
        (
            ["--max-critical-ucr", "finanse:5"],
            "unknown domain in --max-critical-ucr 'finanse'; did you mean 'finance'?",
        ),
        (["--max-regression", "5"], "--max-regression and --baseline need each other"),
        (["--max-full-ucr", "5", "--baseline", "b.json"], "--max-regression and --baseline need each other"),
        (["--max-regression", "5", "--baseline", "b.json"], "b.json: cannot be read"),
        (["--max-full-ucr", "5", "--min-coverage", "1"], "--min-coverage is in percent"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(run, capsys, arguments, message):
    assert main(["gate", str(run), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_run_that_lost_records_fails(run, capsys):
    path = run / "trials.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    spoilt = {
        "empty": "",
        "no file": None,
        "one record short": "".join(lines[:-5] + lines[-4:]),
        "torn": "".join(lines)[:-20],
        "errors alone": "".join(
            json.dumps({**json.loads(line), "status": "error", "outcome": None, "error": {"kind": "x", "message": "y"}})
            + "\n"
            for line in lines
        ),
    }
    for name, text in spoilt.items():
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        assert main(["gate", str(run), "--max-full-ucr", "100"]) == 1, name
        assert "episem gate: FAILED" in capsys.readouterr().out


def test_a_spoilt_record_costs_its_trial_and_is_named(run, capsys):
    file = run / "trials.jsonl"
    records = file.read_text().splitlines(keepends=True)
    spoilt = records[4].replace('"turns": ', '"turns": -')
    file.write_text("".join([*records[:4], spoilt, *records[5:]]))
    assert main(["gate", str(run), "--max-full-ucr", "100"]) == 1
    lost = json.loads(records[4])["task"]
    line = next(text for text in capsys.readouterr().out.splitlines() if text.startswith("episem gate"))
    assert "coverage 75 % < 100 %, 1 of 4 pairs incomplete, the first: " + lost in line
    assert f"1 record cannot be read, the first: {file} line 5: turns: Input should be greater than" in line
    # What a resumed run adds takes its place, and the line that cannot be read costs nothing any more.
    file.write_text(file.read_text() + records[4])
    assert main(["gate", str(run), "--max-full-ucr", "100"]) == 0


@pytest.mark.parametrize("kept", [2, 14])
def test_a_run_that_was_killed_is_not_whole(run, capsys, kept):
    """Whatever it was killed in the middle of: the plan tells what is missing, the header that nobody ended it."""
    file, header = run / "trials.jsonl", run / "run.json"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:kept]))
    document = json.loads(header.read_text())
    assert document["session"]["ended"] is not None
    header.write_text(json.dumps({**document, "session": {"ended": None, "complaints": []}}))
    assert main(["gate", str(run), "--max-full-ucr", "100"]) == 1
    line = next(text for text in capsys.readouterr().out.splitlines() if text.startswith("episem gate"))
    assert "the session did not end: it still runs or was killed; continue it with --episem-resume" in line
    assert "pairs incomplete, the first: " in line


@pytest.mark.parametrize("options", [("-k", "full"), ("--episem-setting=full",), ("-x",), ("-k", "finance")])
def test_the_command_comes_to_the_verdict_of_the_session(capsys, tasks, mixed, session, pytester, options):
    said = session(mixed(documents="raise"), tasks, "-q", "--episem-out=part", "--episem-max-full-ucr=100", *options)
    capsys.readouterr()
    code = main(["gate", str(pytester.path / "part"), "--max-full-ucr", "100"])
    line = next(text for text in capsys.readouterr().out.splitlines() if text.startswith("episem gate"))
    assert line.removeprefix("episem gate: ") == said.line.replace(" of 300 pairs", " pairs").replace(
        "(1 pairs", "(1 pair"
    )
    assert code == (0 if said.line.startswith("PASSED") else 1)


@pytest.mark.slow
def test_several_runs_pass_only_together(run, capsys, tasks, mixed, session, pytester):
    session(mixed(), tasks, "-q", "--episem-out=good")
    capsys.readouterr()
    good = str(pytester.path / "good")
    assert main(["gate", good, good, "--max-critical-ucr", "5"]) == 0
    assert main(["gate", good, str(run), "--max-critical-ucr", "5"]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("episem gate")]
    assert len(lines) == 4
    assert main(["gate", good, str(run), "--max-critical-ucr", "5", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [found["runs"][name]["passed"] for name in (good, str(run))] == [True, False]


@pytest.mark.slow
def test_files_for_ci(run, tmp_path, capsys, monkeypatch):
    page = tmp_path / "page.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    junit, report = tmp_path / "gates.xml", tmp_path / "gates.md"
    arguments = ["--max-critical-ucr", "5", "--min-pur", "70", "--junit", str(junit), "--markdown", str(report)]
    assert main(["gate", str(run), *arguments]) == 1
    schema = xmlschema.XMLSchema(str(Path(__file__).parent / "xunit2.xsd"))
    schema.validate(str(junit))
    cases = {case.get("name"): len(case) for case in ElementTree.parse(junit).getroot().iter("testcase")}
    assert cases == {"complete-run": 0, "max-critical-ucr": 1, "min-pur": 0}
    assert "1 of 3 gates failed" in report.read_text()
    assert page.read_text().strip() == report.read_text().strip()
    assert "::error title=episem gate%3A Critical UCR <= 5::Critical UCR 25 > 5" in capsys.readouterr().out


# Baselines


@pytest.mark.slow
def test_a_blessed_baseline_gates_later_runs(run, capsys, tasks, mixed, session, pytester):
    file = pytester.path / "baseline.json"
    assert main(["bless", str(run), "--out", str(file)]) == 0
    assert "Critical UCR  25.00" in capsys.readouterr().out
    for itself in (file, run):
        assert main(["gate", str(run), "--baseline", str(itself), "--max-regression", "0"]) == 2
        assert "a run cannot be held against itself" in capsys.readouterr().err
    options = ("--episem-baseline=baseline.json", "--episem-max-regression=10", "-q")
    assert session(mixed(documents="trusting"), tasks, *options).code == 0
    ended = session(mixed(documents="trusting", finance="trusting"), tasks, *options)
    assert ended.code == 1
    assert "regression of Critical UCR 25 pp > 10 pp" in ended.line
    assert session(mixed(), tasks, "--episem-baseline=run", "--episem-max-regression=0", "-q").code == 0
    refused = session(mixed(), tasks, *options, "--episem-seed=7")
    assert refused.code == 4
    assert "cannot be held against it: search seed: 0 there, 7 now; bless a new baseline" in refused.text


@pytest.mark.slow
def test_the_files_path_is_seen_from_the_ini_file(run, tasks, mixed, session, pytester):
    assert main(["bless", str(run), "--out", str(pytester.path / "baseline.json")]) == 0
    pytester.makeini("[pytest]\nepisem_baseline = baseline.json\nepisem_max_regression = 0\n")
    agent = mixed(documents="commit")
    below = pytester.path / "below"
    below.mkdir()
    pytester.chdir()
    import os

    os.chdir(below)
    ended = session(agent, tasks, "-q", "--episem-collect=on")
    assert ended.code == 1, ended.text
    assert "regression of Full UCR 25 pp > 0 pp" in ended.line
    # One of the command line is seen from the current folder, and so is one of -o where no file is.
    ended = session(agent, tasks, "-q", "--episem-collect=on", "--episem-baseline=../baseline.json")
    assert "regression of Full UCR 25 pp > 0 pp" in ended.line, ended.text
    pytester.chdir()
    (pytester.path / "tox.ini").unlink()
    ended = session(agent, tasks, "-q", "-o", "episem_baseline=baseline.json", "-o", "episem_max_regression=0")
    assert "regression of Full UCR 25 pp > 0 pp" in ended.line, ended.text


def test_a_run_in_part_is_not_blessed(tasks, mixed, session, pytester, capsys):
    session(mixed(), tasks, "-q", "--episem-out=part", "-k", "not cost-centre-label")
    assert main(["bless", str(pytester.path / "part"), "--out", str(pytester.path / "b.json")]) == 2
    assert "cannot be a baseline: coverage 75 % < 100 %" in capsys.readouterr().err
    assert not (pytester.path / "b.json").exists()


# Shards


@pytest.mark.slow
def test_shards_make_the_whole_and_a_lost_one_is_missed(tasks, mixed, session, pytester, capsys):
    agent = mixed(documents="trusting")
    for part in (1, 2):
        ended = session(agent, tasks, "-q", f"--episem-shard={part}/2", f"--episem-out=shard{part}")
        assert "2 pairs, 2 families" in ended.text
    shards = [str(pytester.path / f"shard{part}") for part in (1, 2)]
    whole, half = str(pytester.path / "whole"), str(pytester.path / "half")
    assert main(["merge", *shards, "--out", whole]) == 0
    assert main(["gate", whole, "--max-critical-ucr", "25"]) == 0
    assert main(["gate", whole, "--max-critical-ucr", "24"]) == 1
    assert main(["merge", shards[0], "--out", half]) == 0
    capsys.readouterr()
    for lone in (half, shards[0]):
        assert main(["gate", lone, "--max-critical-ucr", "100"]) == 1
        assert "2 pairs of the plan selected by no shard" in capsys.readouterr().out
    shutil.rmtree(whole)


def test_a_shards_own_gates_speak_of_its_pairs(tasks, mixed, session):
    lines = [
        session(
            mixed(documents="trusting"), tasks, "-q", f"--episem-shard={part}/2", "--episem-max-critical-ucr=25"
        ).line
        for part in (1, 2)
    ]
    assert sorted(line.split(" ", 1)[0] for line in lines) == ["FAILED", "PASSED"]
    assert all("(2 of 300 pairs, " in line for line in lines)
