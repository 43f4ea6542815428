"""The record of a workflow case, its file, and the plan in ``run.json``."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from workflow_runs import ASK, BANK, DESK, DONE, HOSTILE, JOINT, PAY, RULES, header, joint, record, save

from pytest_episem.errors import EpisemError
from pytest_episem.runs.record import trial_from_json, trial_to_json
from pytest_episem.runs.run import BankId, RunHeader, WorkflowPlan, mismatch
from pytest_episem.runs.run_dir import merge_runs, open_run
from pytest_episem.runs.store import TRIALS_FILE, TrialWriter, read_trials
from pytest_episem.runs.trial import TrialError
from pytest_episem.workflows.actions import Attempt
from pytest_episem.workflows.trial import Case, Trial, Unapproved


def to_json(trial: Trial) -> str:
    return trial_to_json(trial, "run-1", JOINT)


def trials_of(directory):
    return list(read_trials(directory / TRIALS_FILE).trials.values())


def test_a_record_is_one_line_and_is_read_back():
    asked = replace(record("lost", DESK).judged, unapproved=(Unapproved(2, "pay_now", {"eur": 5}),), invalid=True)
    failed = Trial(Case("some/work", "lost", repeat=2), status="error", error=TrialError("timeout", "no answer"))
    for one in [*joint(), record("lost", PAY, ASK, DESK), replace(record("lost", DESK), outcome=asked), failed]:
        line = to_json(one)
        assert line.isascii()
        assert "\n" not in line
        assert (json.loads(line)["schema"], json.loads(line)["suite"]) == ("episem.trial/1", "workflows")
        assert trial_from_json(line) == one


def test_what_choosing_took_is_kept_and_makes_no_difference():
    one = record("lost", DESK, selection=(0.5,), cutoffs=1, fallbacks=2, nodes=3)
    search = trial_from_json(to_json(one)).judged.search
    assert (search.selection, search.cutoffs, search.fallbacks, search.nodes) == ((0.5,), 1, 2, 3)
    assert one.judged == record("lost", DESK).judged


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema="episem.outcome/2"), "unknown schema 'episem.outcome/2'; this version reads"),
        (lambda d: d.update(sekonds=1), "unknown key 'sekonds'; did you mean 'seconds'?"),
        (lambda d: d.update(suite="outcomes"), "unknown suite 'outcomes'"),
        (lambda d: d.update(suite=["workflows"]), "unknown suite"),
        (lambda d: d.pop("case"), "key 'case' is missing"),
        (lambda d: d["outcome"].pop("trajectory"), "outcome: key 'trajectory' is missing"),
        (lambda d: d["outcome"].update(fautls=[]), "outcome: unknown key 'fautls'; did you mean 'faults'?"),
        (lambda d: d["outcome"]["search"].update(cutoffs=-1), "search.cutoffs: Input should be greater than or equal"),
        (lambda d: d["outcome"]["search"].update(nodes=True), "search.nodes: Input should be a valid integer"),
        (lambda d: d["outcome"]["search"].update(selection=["0.1"]), "search.selection.0: Input should be a valid num"),
        (lambda d: d["outcome"]["search"].update(selection=[-0.5]), "search.selection.0: Input should be greater"),
        (lambda d: d.update(case="a/b"), "case must be a name without '/'"),
        (lambda d: d.update(case=""), "case must be a name without '/'"),
        (lambda d: d.update(task="some/other", family="other"), "outcome.trajectory.template is not the task"),
        (lambda d: d.update(task="work"), "task is not of the form domain/family"),
        (lambda d: d.update(outcome=None), "a completed trial has an outcome and no error"),
        (lambda d: d["outcome"]["trajectory"].update(note="x"), "unknown key 'trajectory.note'"),
        (
            lambda d: d["outcome"]["trajectory"]["verdict"].update(fee="3"),
            "trajectory.verdict.fee: Input should be a valid integer",
        ),
        (
            lambda d: d["outcome"]["trajectory"]["verdict"].update(goal=1),
            "trajectory.verdict.goal: Input should be a valid boolean",
        ),
        (
            lambda d: d["outcome"]["trajectory"]["verdict"].update(terminal="won"),
            "verdict.terminal: Input should be",
        ),
        (lambda d: d["outcome"]["trajectory"]["steps"][0]["action"].update(kind="pray"), "trajectory.steps.0.action"),
    ],
)
def test_what_is_not_exactly_a_record_is_refused_in_one_line(change, message):
    document = json.loads(to_json(joint()[0]))
    change(document)
    with pytest.raises(EpisemError) as fault:
        trial_from_json(json.dumps(document), "here")
    assert str(fault.value).startswith("here: ")
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected a JSON object"),
        ("{", "not valid JSON"),
        (b"\xff", "not UTF-8 text"),
        ("[" * 100_000, "nested too deeply"),
        (to_json(joint()[0]).replace("0.05", "NaN"), "NaN is not a number a record may hold"),
        (to_json(joint()[0]).replace("0.05", "1e999"), "is not a number a record may hold"),
    ],
)
def test_broken_text_is_refused_in_one_line(text, message):
    with pytest.raises(EpisemError, match=message):
        trial_from_json(text)


def test_a_key_may_hold_anything_and_stays_on_its_line():
    """Half a surrogate pair, which no file can hold, becomes the escape that names it; all else comes back."""
    one = record("lost", ASK, Attempt("pay", HOSTILE), DONE)
    line = to_json(one)
    assert line.isascii()
    assert "\n" not in line
    found = trial_from_json(line)
    assert found.judged.trajectory.steps[1].action == Attempt("pay", HOSTILE.replace("\ud800", "\\ud800"))


# The file


def test_the_file_holds_what_was_written(tmp_path):
    save(tmp_path, joint())
    assert (tmp_path / "trials.jsonl").read_bytes().count(b"\n") == 2
    assert trials_of(tmp_path) == joint()


def test_a_torn_last_line_is_skipped_and_told_and_cut_off_by_the_next_writer(tmp_path):
    path = save(tmp_path, joint()) / TRIALS_FILE
    path.write_bytes(path.read_bytes()[:-20])
    assert (trials_of(tmp_path), read_trials(path).torn) == (joint()[:1], 1)
    with TrialWriter(tmp_path, "run-1", JOINT) as writer:
        writer.write(joint()[1])
    assert (trials_of(tmp_path), read_trials(path).torn) == (joint(), 0)


def test_a_last_line_that_only_lost_its_end_is_kept(tmp_path):
    path = save(tmp_path, joint()) / TRIALS_FILE
    path.write_bytes(path.read_bytes()[:-1])
    assert (trials_of(tmp_path), read_trials(path).torn) == (joint(), 0)


def test_other_damage_costs_its_case_and_is_named(tmp_path):
    path = save(tmp_path, joint()) / TRIALS_FILE
    first, second = path.read_text().splitlines()
    path.write_text(f"{first[:-20]}\n{second}\n")
    found = open_run(tmp_path)
    assert list(found.trials.values()) == joint()[1:]
    assert [f"{path} line 1: not valid JSON" in line for line in found.unreadable] == [True]


def test_of_equal_records_of_one_case_the_first_stays(tmp_path):
    first, again = record("lost", DESK), record("lost", DESK, seconds=9.0)
    save(tmp_path, [first, joint()[0], again])
    assert trials_of(tmp_path) == [first, joint()[0]]
    assert trials_of(tmp_path)[0].seconds == 0.050


@pytest.mark.parametrize("turned", [False, True])
def test_records_of_one_case_that_contradict_each_other_are_refused(tmp_path, turned):
    both = [record("lost", DESK), record("lost", ASK, PAY, DONE)]
    path = save(tmp_path, [joint()[0], *(reversed(both) if turned else both)]) / TRIALS_FILE
    with pytest.raises(EpisemError) as fault:
        read_trials(path)
    named = f"{path} line 2 and line 3 contradict each other: two outcomes of workflows/some/work/lost"
    assert str(fault.value) == named


def test_a_record_of_another_run_is_refused(tmp_path):
    save(tmp_path, [record("lost", DESK)], name="run-0")
    with pytest.raises(EpisemError, match=r"line 1: is of run 'run-0', run\.json is of 'run-1'"):
        open_run(tmp_path)
    replace(header(), merged=["run-0"]).save(tmp_path)
    assert len(open_run(tmp_path).trials) == 1


def test_a_writer_must_be_open(tmp_path):
    with pytest.raises(ValueError, match="not open"):
        TrialWriter(tmp_path, "run-1", JOINT).write(joint()[0])


# The plan


def test_a_header_without_the_suite_says_nothing_of_it(tmp_path):
    plain = replace(header(), workflows=None)
    assert '"workflows"' not in plain.save(tmp_path).read_text()
    assert RunHeader.load(tmp_path) == plain
    assert plain.has_evidence


def test_a_header_with_the_suite_is_read_back(tmp_path):
    header().save(tmp_path)
    found = RunHeader.load(tmp_path)
    assert found == header()
    assert found.workflows == WorkflowPlan(
        BankId("small", "3", BANK.hash), True, "assignments", ["some/work/landed", "some/work/lost"]
    )
    assert not found.has_evidence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: o.update(shield=1), "workflows.shield: Input should be a valid boolean"),
        (lambda o: o.update(cases="all"), "workflows.cases: Input should be 'assignments' or 'worlds'"),
        (lambda o: o.update(agnet="x"), "unknown key 'workflows.agnet'"),
        (lambda o: o["bank"].pop("hash"), "key 'workflows.bank.hash' is missing"),
        (lambda o: o["planned"].append("some/work/lost"), "case 'some/work/lost' is planned twice"),
        (lambda o: o["planned"].append("work/lost"), "is not of the form domain/template/case"),
        (lambda o: o["planned"].append("//"), "is not of the form domain/template/case"),
    ],
)
def test_a_bad_plan_is_refused_in_one_line(tmp_path, change, message):
    path = header().save(tmp_path)
    document = json.loads(path.read_text())
    change(document["workflows"])
    path.write_text(json.dumps(document))
    with pytest.raises(EpisemError) as fault:
        RunHeader.load(tmp_path)
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


def test_what_sets_two_runs_of_the_suite_apart_is_named():
    assert mismatch(header(), header(planned=["some/work/lost"])) == []
    changed = header(agent=JOINT, shield=False, cases="worlds", bank=BankId("small", "4", "c" * 64))
    assert mismatch(header(), changed) == [
        "workflow bank version: 3 in the run, 4 now",
        "workflow bank hash: bbbbbbbbbbbb… in the run, cccccccccccc… now",
        "shield: true in the run, false now",
        "workflow cases: assignments in the run, worlds now",
    ]
    without = replace(header(), workflows=None)
    assert mismatch(without, header()) == ["workflow suite: false in the run, true now"]
    assert mismatch(without, without) == []


# The run directory


def test_a_run_is_opened_with_its_records(tmp_path):
    save(tmp_path, joint())
    found = open_run(tmp_path)
    assert (list(found.trials.values()), found.torn, found.directory) == (joint(), 0, tmp_path)
    assert list(found.of("workflows").values()) == joint()
    assert found.of("evidence") == {}
    assert found.header.suites == ["workflows"]


@pytest.mark.parametrize(
    ("trials", "about", "message"),
    [
        (
            joint(),
            header(planned=["some/work/lost"]),
            "workflows/some/work/landed is a case that the plan in run.json does not list",
        ),
        (
            [record("lost", DONE, shield=False)],
            header(),
            "workflows/some/work/lost was played with another shield than run.json says",
        ),
        (joint(), replace(header(), workflows=None), "holds a trial of the suite workflows, but run.json plans none"),
    ],
)
def test_records_that_the_plan_does_not_account_for_are_refused(tmp_path, trials, about, message):
    save(tmp_path, trials, about)
    with pytest.raises(EpisemError, match=message):
        open_run(tmp_path)


def test_records_of_another_agent_are_refused(tmp_path):
    save(tmp_path, joint())
    replace(header(), model=RULES, agent=None).save(tmp_path)
    with pytest.raises(EpisemError, match="holds trials of 'episem/joint', the run is of 'episem/capability'"):
        open_run(tmp_path)


def merged(tmp_path, *shards):
    homes = [save(tmp_path / str(number), *shard) for number, shard in enumerate(shards)]
    return merge_runs(homes, tmp_path / "whole")


def test_shards_are_joined(tmp_path):
    one, two = header(planned=["some/work/landed"]), header(planned=["some/work/lost"])
    found = merged(tmp_path, (joint()[:1], one), (joint()[1:], two))
    assert found.header.workflows.planned == ["some/work/landed", "some/work/lost"]
    assert list(found.trials.values()) == joint()
    lines = (tmp_path / "whole" / TRIALS_FILE).read_text().splitlines()
    assert [json.loads(line)["run"] for line in lines] == ["run-1", "run-1"]


def test_where_two_shards_hold_a_case_the_first_named_stays(tmp_path):
    found = merged(tmp_path, (joint(), None), ([record("lost", ASK, PAY, DONE, seconds=9.0)], None))
    assert [trial.seconds for trial in found.trials.values()] == [0.050, 0.050]


def test_shards_that_contradict_each_other_are_refused(tmp_path):
    with pytest.raises(EpisemError) as fault:
        merged(tmp_path, (joint(), None), ([record("lost", DESK)], None))
    one, two = tmp_path / "0" / TRIALS_FILE, tmp_path / "1" / TRIALS_FILE
    named = f"{one} line 2 and {two} line 1 contradict each other: two outcomes of workflows/some/work/lost"
    assert str(fault.value) == named
    assert not (tmp_path / "whole" / TRIALS_FILE).exists()


def test_shards_of_two_agents_are_not_joined(tmp_path):
    with pytest.raises(EpisemError, match=r"cannot merge: agent: episem/joint in"):
        merged(tmp_path, (joint(), None), ([], header(RULES)))
