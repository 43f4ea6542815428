"""The header, the run directory, and the merging of shards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_episem.errors import EpisemError
from pytest_episem.evidence.trial import Outcome, TrialError
from pytest_episem.runs.owner import own
from pytest_episem.runs.record import trial_from_json
from pytest_episem.runs.run import BankId, PlanTask, RunHeader, SessionEnd, mismatch
from pytest_episem.runs.run_dir import Run, merge_runs, open_run
from pytest_episem.runs.store import TrialWriter, read_trials

TASK = "finance/payment-authorization/pr-58217"
UNSAFE = Outcome(True, True, False, False, "committed", None, False, False, False, False, "unread")


def write_run(directory, header, *trials):
    header.save(directory)
    with TrialWriter(directory, header.run, header.label) as writer:
        for trial in trials:
            writer.write(trial)
    return directory


# The header


def test_a_header_is_read_back(header, tmp_path):
    path = header.save(tmp_path / "new" / "run")
    assert RunHeader.load(path.parent) == header
    document = json.loads(path.read_text())
    assert document["schema"] == "episem.run/1"
    assert document["plan"][0]["critical"] == ["authorization-limit", "payee"]
    assert [p.name for p in path.parent.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema="episem.run/7"), "unknown schema 'episem.run/7'; this version reads"),
        (lambda d: d.update(search_seed=5), "search_seed: Input should be a valid string"),
        (lambda d: d.update(serch_seed="5"), "unknown key 'serch_seed'; did you mean 'search_seed'?"),
        (lambda d: d.pop("bank"), "key 'bank' is missing"),
        (lambda d: d["bank"].update(has="x"), "unknown key 'bank.has'; did you mean 'hash'?"),
        (lambda d: d["plan"][0].update(selected=True), "plan.0.selected: Input should be a valid integer"),
        (lambda d: d["plan"][0].update(selected="1"), "plan.0.selected: Input should be a valid integer"),
        (lambda d: d["plan"][0].update(selected=-1), "has a negative number of selected items"),
        (lambda d: d["plan"][0].update(critical=["a", "a"]), "lists an atom twice"),
        (lambda d: d["plan"][0].update(domain="travel"), "is not of the form domain/family/instance"),
        (lambda d: d["plan"].append(d["plan"][0]), "is listed twice"),
        (lambda d: d["settings"].update(repeats=0), "settings.repeats: expected a whole number of at least 1"),
    ],
)
def test_a_bad_header_is_refused_in_one_line(header, tmp_path, change, message):
    path = header.save(tmp_path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(EpisemError) as fault:
        RunHeader.load(tmp_path)
    assert str(fault.value).startswith(f"{path}: ")
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_key_that_stands_twice_is_refused(header, tmp_path):
    path = header.save(tmp_path)
    path.write_text(path.read_text().replace('"run": ', '"run": "other", "run": ', 1))
    with pytest.raises(EpisemError, match="key 'run' stands twice"):
        RunHeader.load(tmp_path)


def test_a_directory_without_a_run(tmp_path):
    with pytest.raises(EpisemError, match=r"not a run directory, it holds no run\.json"):
        open_run(tmp_path)
    (tmp_path / "run.json").write_text('{"schema": ')
    with pytest.raises(EpisemError, match="not valid JSON"):
        open_run(tmp_path)


# What sets runs apart


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"bank": BankId("evidence", "1", "98cd")}, "bank hash: 12ab34cd56ef in the run, 98cd now"),
        ({"bank": BankId("other", "1", "12ab34cd56ef")}, "bank name: evidence in the run, other now"),
        ({"protocol_version": "2"}, "protocol version: 1 in the run, 2 now"),
        ({"model": "fake/two"}, "model: fake/model in the run, fake/two now"),
        ({"model": None}, "model: fake/model in the run, none now"),
        ({"agent": "app:agent"}, "agent: none in the run, app:agent now"),
        ({"search_seed": "7"}, "search seed: 0 in the run, 7 now"),
    ],
)
def test_each_difference_is_named(header, changes, line):
    assert mismatch(header, replace(header, **changes)) == [line]


def test_settings_are_compared_one_by_one(header):
    other = replace(header, settings={"temperature": 0.7, "turn_limit": 12, "instruction": "Do.", "top_p": 1})
    lines = mismatch(header, other)
    assert [line.split(":")[0] for line in lines] == ["instruction", "repeats", "temperature", "top p"]
    assert lines[2] == "temperature: 0 in the run, 0.7 now"
    assert lines[3] == "top p: none in the run, 1 now"
    assert lines[0].startswith("instruction: sha256 ")
    assert "Do" not in lines[0]


def test_time_plan_and_plugin_version_set_nothing_apart(header):
    assert mismatch(header, replace(header, run="x", started="y", plan=[], plugin_version="9")) == []


# Opening


def test_a_run_without_records_yet_is_empty(header, tmp_path):
    header.save(tmp_path)
    run = open_run(tmp_path)
    assert (run.trials, run.torn, run.plan) == ({}, 0, header.plan)


def test_a_killed_run_opens_and_says_so(header, tmp_path, make_trial):
    write_run(tmp_path, header, make_trial(), make_trial())
    with (tmp_path / "trials.jsonl").open("ab") as file:
        file.write(b'{"schema": "episem.tr')
    run = open_run(tmp_path)
    assert (len(run.trials), run.torn, run.duplicates) == (1, 1, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "finance/payment-authorization/other"}, "is of a task that the plan in run.json does not list"),
        ({"mask": ("nonsense",)}, "masks atoms that the plan in run.json does not list"),
        ({"mask": ("authorization-limit", "label")}, "masks atoms that the plan in run.json does not list"),
        ({"mask": ("label",)}, "has mask_role 'critical', the plan says otherwise"),
    ],
)
def test_a_trial_the_plan_does_not_account_for_is_refused(header, tmp_path, make_trial, changes, message):
    write_run(tmp_path, header, make_trial(**changes))
    with pytest.raises(EpisemError) as fault:
        open_run(tmp_path)
    assert message in str(fault.value)


def test_a_trial_of_another_model_is_refused(header, tmp_path, make_trial):
    write_run(tmp_path, header, make_trial())
    with TrialWriter(tmp_path, "run-1", "fake/two") as writer:
        writer.write(make_trial(repeat=1))
    with pytest.raises(EpisemError, match="holds trials of 'fake/two', the run is of 'fake/model'"):
        open_run(tmp_path)


def test_a_record_of_another_run_is_refused(header, tmp_path, make_trial):
    write_run(tmp_path, header, make_trial())
    with TrialWriter(tmp_path, "run-0", header.label) as writer:
        writer.write(make_trial(repeat=1))
    with pytest.raises(EpisemError) as fault:
        open_run(tmp_path)
    assert str(fault.value) == f"{tmp_path / 'trials.jsonl'} line 2: is of run 'run-0', run.json is of 'run-1'"
    replace(header, merged=["run-0"]).save(tmp_path)
    assert len(open_run(tmp_path).trials) == 2


def test_a_run_of_an_earlier_version_planned_all_settings_and_says_nothing_of_its_session(header, tmp_path):
    path = header.save(tmp_path)
    document = json.loads(path.read_text())
    for key in ("merged", "planned_settings", "session"):
        del document[key]
    path.write_text(json.dumps(document))
    read = RunHeader.load(tmp_path)
    assert (read.merged, read.planned_settings, read.session) == ([], ["full", "se", "re"], None)


# One owner


def test_a_directory_has_one_owner_at_a_time(tmp_path):
    lock = own(tmp_path / "run")
    with pytest.raises(EpisemError) as fault:
        own(tmp_path / "run")
    assert str(fault.value) == (
        f"{tmp_path / 'run'}: another session is writing into it; let it end, or name another directory"
    )
    lock.release()
    own(tmp_path / "run").release()


def test_a_process_that_dies_gives_the_directory_up(tmp_path):
    code = "import os, sys; from pathlib import Path; from pytest_episem.runs.owner import own;"
    code += "lock = own(Path(sys.argv[1])); print('owned', flush=True); os.kill(os.getpid(), 9)"
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert (ended.stdout, ended.returncode) == ("owned\n", -signal.SIGKILL)
    own(tmp_path).release()


def test_where_nothing_can_be_written_nobody_is_owner(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EpisemError, match="file: cannot be written: "):
        own(tmp_path / "file")


def test_a_writer_notices_that_somebody_else_writes(header, tmp_path, make_trial):
    with TrialWriter(tmp_path, header.run, header.label) as writer:
        writer.write(make_trial())
        assert not writer.check()
        with (tmp_path / "trials.jsonl").open("a") as file:
            file.write("{}\n")
        assert writer.check()
    with TrialWriter(tmp_path, header.run, header.label) as writer:
        (tmp_path / "trials.jsonl").rename(tmp_path / "away")
        (tmp_path / "trials.jsonl").write_bytes((tmp_path / "away").read_bytes())
        assert writer.check()


# Merging


def shard(header, number, *tasks):
    return replace(header, run=f"shard-{number}", started=f"2026-01-0{number}", plan=list(tasks))


@pytest.fixture
def tasks():
    return [PlanTask(f"finance/payment-authorization/{i}", "finance", "payment-authorization",
                     ["authorization-limit"], [], i) for i in range(4)]  # fmt: skip


def test_shards_join_to_one_run(header, tmp_path, make_trial, tasks):
    trials = [make_trial(task=task.task) for task in tasks]
    one = write_run(tmp_path / "1", shard(header, 1, *tasks[:2]), *trials[:2])
    two = write_run(tmp_path / "2", shard(header, 2, *tasks[2:]), *trials[2:])
    run = merge_runs([two, one], tmp_path / "all")
    assert run.plan == tasks
    assert set(run.trials) == {t.condition for t in trials}
    assert run.header.started == "2026-01-01"
    again = open_run(tmp_path / "all")
    assert all(again.trials[t.condition] == t for t in trials)
    lines = [json.loads(line) for line in (tmp_path / "all" / "trials.jsonl").read_text().splitlines()]
    assert {line["run"] for line in lines} == {run.header.run}


def test_a_task_in_several_shards_keeps_the_largest_selection(header, tmp_path, tasks):
    one = write_run(tmp_path / "1", shard(header, 1, replace(tasks[0], selected=4)))
    two = write_run(tmp_path / "2", shard(header, 2, replace(tasks[0], selected=9)))
    assert [t.selected for t in merge_runs([one, two], tmp_path / "all").plan] == [9]


def test_records_unite_under_the_key_rule(header, tmp_path, make_trial):
    failed = make_trial(status="error", outcome=None, error=TrialError("timeout", ""))
    one = write_run(tmp_path / "1", header, failed, make_trial(repeat=1, turns=1))
    two = write_run(tmp_path / "2", header, make_trial(turns=2), make_trial(repeat=1, turns=2))
    three = write_run(tmp_path / "3", header, make_trial(repeat=1, turns=3, phase="boundary"))
    run = merge_runs([one, two, three], tmp_path / "all")
    assert {c.repeat: t.turns for c, t in run.trials.items()} == {0: 2, 1: 3}
    assert read_trials(tmp_path / "all" / "trials.jsonl").duplicates == 0


def test_a_run_merged_with_itself_is_itself(header, tmp_path, make_trial):
    source = write_run(tmp_path / "1", header, make_trial(), make_trial(repeat=1))
    run = merge_runs([source, source], tmp_path / "all")
    assert run.header == header
    assert run.header.merged == []
    assert run.trials.keys() == open_run(source).trials.keys()


@pytest.mark.parametrize("turned", [False, True])
def test_shards_that_contradict_each_other_are_refused_in_either_order(header, tmp_path, make_trial, turned):
    held, committed = make_trial(), make_trial(outcome=UNSAFE)
    one = write_run(tmp_path / "1", shard(header, 1, *header.plan), make_trial(repeat=1), held)
    two = write_run(tmp_path / "2", shard(header, 2, *header.plan), committed)
    order = [(two, 1), (one, 2)] if turned else [(one, 2), (two, 1)]
    with pytest.raises(EpisemError) as fault:
        merge_runs([directory for directory, _ in order], tmp_path / "all")
    first, second = (f"{directory / 'trials.jsonl'} line {line}" for directory, line in order)
    assert str(fault.value) == f"{first} and {second} contradict each other: two outcomes of {held.condition.id}"
    assert not (tmp_path / "all").exists()


def test_a_merged_run_knows_what_it_was_made_of(header, tmp_path, make_trial):
    sources = [write_run(tmp_path / str(n), shard(header, n, *header.plan), make_trial(repeat=n)) for n in (1, 2, 3)]
    two = merge_runs(sources[:2], tmp_path / "two").header
    three = merge_runs([tmp_path / "two", sources[2]], tmp_path / "three").header
    assert two.merged == ["shard-1", "shard-2"]
    assert three.merged == sorted([two.run, "shard-1", "shard-2", "shard-3"])


def test_a_shard_that_did_not_end_leaves_the_whole_without_an_end(header, tmp_path):
    ends = [SessionEnd("2026-01-01", ["interrupted"]), SessionEnd("2026-01-02", []), SessionEnd(None, []), None]
    sources = [
        write_run(tmp_path / str(n), replace(shard(header, 1, *header.plan), session=end)) for n, end in enumerate(ends)
    ]
    assert merge_runs(sources[:2], tmp_path / "ended").header.session == SessionEnd("2026-01-02", ["interrupted"])
    assert merge_runs(sources[1:], tmp_path / "open").header.session == SessionEnd(None, [])


def test_what_any_shard_planned_the_whole_planned(header, tmp_path):
    one = write_run(tmp_path / "1", replace(header, planned_settings=["full"]))
    two = write_run(tmp_path / "2", replace(header, planned_settings=["re"]))
    assert merge_runs([two, one], tmp_path / "all").header.planned_settings == ["full", "re"]


def test_runs_that_differ_are_refused_by_name_and_nothing_is_written(header, tmp_path, make_trial):
    one = write_run(tmp_path / "1", header, make_trial())
    two = write_run(tmp_path / "2", replace(header, search_seed="7"), make_trial())
    with pytest.raises(EpisemError) as fault:
        merge_runs([one, two], tmp_path / "all")
    assert str(fault.value) == f"cannot merge: search seed: 0 in {one}, 7 in {two}"
    assert not (tmp_path / "all").exists()


def test_plans_that_differ_in_a_task_are_refused(header, tmp_path, tasks):
    one = write_run(tmp_path / "1", shard(header, 1, tasks[0]))
    two = write_run(tmp_path / "2", shard(header, 2, replace(tasks[0], critical=["payee"])))
    with pytest.raises(EpisemError, match="the plans differ in the atoms of 'finance/payment-authorization/0'"):
        merge_runs([one, two], tmp_path / "all")


def test_merging_never_writes_over_a_run(header, tmp_path, make_trial):
    one = write_run(tmp_path / "1", header, make_trial())
    with pytest.raises(EpisemError, match="already holds a run"):
        merge_runs([one], one)
    with pytest.raises(EpisemError, match="name at least one run directory"):
        merge_runs([], tmp_path / "all")


# Event logs left out, and read again


def test_logs_left_out_are_read_again_for_the_record_that_counts(header, tmp_path, make_trial):
    first, second = [{"event": "goal", "text": "é"}], [{"event": "goal", "text": "two"}]
    error = replace(make_trial(repeat=1), status="error", outcome=None, error=TrialError("server", "500"), events=[])
    better = make_trial(repeat=1, events=second)
    write_run(tmp_path, header, make_trial(events=first), error, better, make_trial(repeat=1, events=first))
    run = open_run(tmp_path, events=False)
    assert [trial.events for trial in run.trials.values()] == [[], []]
    records = [trial_from_json(record) for record in run.records(reversed(run.trials.values()))]
    assert [trial.events for trial in records] == [second, first]
    assert records[::-1] == list(open_run(tmp_path).trials.values())


def test_records_of_a_run_without_a_directory_are_made_from_its_trials(header, make_trial):
    trial = make_trial(events=[{"event": "goal", "text": "é"}])
    record = next(Run(header, {trial.condition: trial}).records([trial]))
    assert trial_from_json(record) == trial
    assert (json.loads(record)["run"], json.loads(record)["model"]) == (header.run, header.label)


def test_a_record_that_changed_since_is_refused(header, tmp_path, make_trial):
    write_run(tmp_path, header, make_trial(turns=3))
    run, file = open_run(tmp_path, events=False), tmp_path / "trials.jsonl"
    record = file.read_text()
    for other in ("{}\n", record.replace('"turns": 3', '"turns": 4'), record[:40]):
        file.write_text(other)
        with pytest.raises(EpisemError, match=r"trials\.jsonl at byte 0: changed since it was read"):
            list(run.records(run.trials.values()))
    file.unlink()
    with pytest.raises(EpisemError, match=r"trials\.jsonl: cannot be read"):
        list(run.records(run.trials.values()))
