"""The record of an workflow case, its file, and the plan in ``run.json``."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pytest_episem.workflows.records import (
    WORKFLOWS_FILE,
    WorkflowWriter,
    read_workflow_file,
    record_of,
    workflow_from_json,
    workflow_to_json,
)
from pytest_episem.workflows.run_dir import merge_workflows, open_workflow_run
from workflow_runs import ASK, BANK, DESK, DONE, HOSTILE, JOINT, PAY, RULES, header, joint, record, save

from pytest_episem.errors import EpisemError
from pytest_episem.runs.run import BankId, RunHeader, WorkflowPlan, mismatch
from pytest_episem.runs.run_dir import merge_runs, open_evidence, open_run
from pytest_episem.workflows.actions import Attempt
from pytest_episem.workflows.study import Result


def test_a_record_is_one_line_and_is_read_back():
    for one in [*joint(), record("lost", DESK), record("lost", PAY, ASK, DESK)]:
        line = workflow_to_json(one)
        assert line.isascii()
        assert "\n" not in line
        assert json.loads(line)["schema"] == "episem.workflow/1"
        assert workflow_from_json(line) == one


def test_the_record_of_a_result_names_its_case():
    trajectory = record("lost", ASK, PAY, DONE).trajectory
    result = Result("joint", "some/work", "lost", trajectory, ("odd",), (0.5,), 0.75, 1, 2, 3)
    found = record_of(result, "r", "my:agent", "some")
    assert found.id == "some/work/lost"
    assert (found.run, found.agent, found.domain, found.template, found.case) == (
        "r",
        "my:agent",
        "some",
        "work",
        "lost",
    )
    assert (found.faults, found.selection, found.seconds) == (("odd",), (0.5,), 0.75)
    assert (found.cutoffs, found.fallbacks, found.nodes) == (1, 2, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema="episem.outcome/2"), "unknown schema 'episem.outcome/2'; this version reads"),
        (lambda d: d.update(sekonds=1), "unknown key 'sekonds'; did you mean 'seconds'?"),
        (lambda d: d.pop("faults"), "key 'faults' is missing"),
        (lambda d: d.update(cutoffs=-1), "cutoffs: Input should be greater than or equal to 0"),
        (lambda d: d.update(nodes=True), "nodes: Input should be a valid integer"),
        (lambda d: d.update(selection=["0.1"]), "selection.0: Input should be a valid number"),
        (lambda d: d.update(selection=[-0.5]), "selection.0: Input should be greater than or equal to 0"),
        (lambda d: d.update(case="a/b"), "domain, template and case must be names without '/'"),
        (lambda d: d.update(case=""), "domain, template and case must be names without '/'"),
        (lambda d: d.update(template="other"), "trajectory.template is not domain/template"),
        (lambda d: d["trajectory"].update(note="x"), "unknown key 'trajectory.note'"),
        (
            lambda d: d["trajectory"]["verdict"].update(fee="3"),
            "trajectory.verdict.fee: Input should be a valid integer",
        ),
        (
            lambda d: d["trajectory"]["verdict"].update(goal=1),
            "trajectory.verdict.goal: Input should be a valid boolean",
        ),
        (lambda d: d["trajectory"]["verdict"].update(terminal="won"), "trajectory.verdict.terminal: Input should be"),
        (lambda d: d["trajectory"]["steps"][0]["action"].update(kind="pray"), "trajectory.steps.0.action"),
    ],
)
def test_what_is_not_exactly_a_record_is_refused_in_one_line(change, message):
    document = json.loads(workflow_to_json(joint()[0]))
    change(document)
    with pytest.raises(EpisemError) as fault:
        workflow_from_json(json.dumps(document), "here")
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
        (workflow_to_json(joint()[0]).replace("0.05", "NaN"), "NaN is not a number a record may hold"),
        (workflow_to_json(joint()[0]).replace("0.05", "1e999"), "is not a number a record may hold"),
    ],
)
def test_broken_text_is_refused_in_one_line(text, message):
    with pytest.raises(EpisemError, match=message):
        workflow_from_json(text)


def test_a_key_may_hold_anything_and_stays_on_its_line():
    """Half a surrogate pair, which no file can hold, becomes the escape that names it; all else comes back."""
    one = record("lost", ASK, Attempt("pay", HOSTILE), DONE)
    line = workflow_to_json(one)
    assert line.isascii()
    assert "\n" not in line
    found = workflow_from_json(line)
    assert found.trajectory.steps[1].action == Attempt("pay", HOSTILE.replace("\ud800", "\\ud800"))


# The file


def test_the_file_holds_what_was_written(tmp_path):
    save(tmp_path, joint())
    assert (tmp_path / "workflows.jsonl").read_bytes().count(b"\n") == 2
    assert read_workflow_file(tmp_path) == (joint(), False)
    assert read_workflow_file(tmp_path / "nowhere") == ([], False)


def test_a_torn_last_line_is_skipped_and_told_and_cut_off_by_the_next_writer(tmp_path):
    path = save(tmp_path, joint()) / WORKFLOWS_FILE
    path.write_bytes(path.read_bytes()[:-20])
    assert read_workflow_file(tmp_path) == (joint()[:1], True)
    with WorkflowWriter(tmp_path) as writer:
        writer.write(joint()[1])
    assert read_workflow_file(tmp_path) == (joint(), False)


def test_a_last_line_that_only_lost_its_end_is_kept(tmp_path):
    path = save(tmp_path, joint()) / WORKFLOWS_FILE
    path.write_bytes(path.read_bytes()[:-1])
    assert read_workflow_file(tmp_path) == (joint(), False)


def test_other_damage_is_one_error_that_names_the_line(tmp_path):
    path = save(tmp_path, joint()) / WORKFLOWS_FILE
    first, second = path.read_text().splitlines()
    path.write_text(f"{first[:-20]}\n{second}\n")
    with pytest.raises(EpisemError, match=r"workflows\.jsonl line 1: not valid JSON"):
        read_workflow_file(tmp_path)


def test_of_equal_records_of_one_agent_and_case_the_first_stays(tmp_path):
    first, again, other = record("lost", DESK), record("lost", DESK, seconds=9.0), record("lost", DESK, agent=RULES)
    save(tmp_path, [first, joint()[0], other, again])
    assert read_workflow_file(tmp_path)[0] == [first, joint()[0], other]


@pytest.mark.parametrize("turned", [False, True])
def test_records_of_one_case_that_contradict_each_other_are_refused(tmp_path, turned):
    both = [record("lost", DESK), record("lost", ASK, PAY, DONE)]
    path = save(tmp_path, [joint()[0], *(reversed(both) if turned else both)]) / WORKFLOWS_FILE
    with pytest.raises(EpisemError) as fault:
        read_workflow_file(tmp_path)
    assert str(fault.value) == f"{path} line 2 and line 3 contradict each other: two outcomes of some/work/lost"


def test_a_record_of_another_run_is_refused(tmp_path):
    save(tmp_path, [record("lost", DESK, run="run-0")])
    with pytest.raises(EpisemError, match=r"some/work/lost is of run 'run-0', run\.json is of 'run-1'"):
        open_workflow_run(tmp_path)
    replace(header(), merged=["run-0"]).save(tmp_path)
    assert len(open_workflow_run(tmp_path).records) == 1


def test_a_writer_must_be_open(tmp_path):
    with pytest.raises(ValueError, match="not open"):
        WorkflowWriter(tmp_path).write(joint()[0])


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
        BankId("small", "3", BANK.hash), JOINT, True, "assignments", ["some/work/landed", "some/work/lost"]
    )
    assert not found.has_evidence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: o.update(shield=1), "workflows.shield: Input should be a valid boolean"),
        (lambda o: o.update(cases="all"), "workflows.cases: Input should be 'assignments' or 'worlds'"),
        (lambda o: o.update(agnet="x"), "unknown key 'workflows.agnet'; did you mean 'agent'?"),
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
    assert mismatch(without, header()) == ["workflow suite: none in the run, episem/joint now"]
    assert mismatch(without, without) == []


# The run directory


def test_a_run_is_opened_with_its_records(tmp_path):
    save(tmp_path, joint())
    found = open_workflow_run(tmp_path)
    assert found is not None
    assert (found.records, found.torn, found.directory) == (tuple(joint()), False, tmp_path)
    assert open_run(tmp_path).trials == {}


def test_a_run_of_the_other_suite_has_no_outcomes(tmp_path):
    save(tmp_path, [], replace(header(), workflows=None))
    assert open_workflow_run(tmp_path) is None


@pytest.mark.parametrize(
    ("records", "about", "message"),
    [
        ([record("lost", DESK, agent="other")], header(), "some/work/lost is of 'other', the run is of 'episem/joint'"),
        (
            joint(),
            header(planned=["some/work/lost"]),
            "some/work/landed is a case that the plan in run.json does not list",
        ),
        (joint(), replace(header(), workflows=None), "holds workflow records, but run.json plans none"),
    ],
)
def test_records_that_the_plan_does_not_account_for_are_refused(tmp_path, records, about, message):
    save(tmp_path, records, about)
    with pytest.raises(EpisemError, match=message):
        open_workflow_run(tmp_path)


def merged(tmp_path, *shards):
    homes = [save(tmp_path / str(number), *shard) for number, shard in enumerate(shards)]
    halves = [open_workflow_run(home) for home in homes]
    merge_runs(homes, tmp_path / "whole")
    return merge_workflows(halves, tmp_path / "whole")


def test_shards_are_joined(tmp_path):
    one, two = header(planned=["some/work/landed"]), header(planned=["some/work/lost"])
    found = merged(tmp_path, (joint()[:1], one), (joint()[1:], two))
    assert found.plan.planned == ["some/work/landed", "some/work/lost"]
    assert [(r.id, r.run) for r in found.records] == [
        ("some/work/landed", "run-1"),
        ("some/work/lost", "run-1"),
    ]


def test_where_two_shards_hold_a_case_the_first_named_stays(tmp_path):
    found = merged(tmp_path, (joint(), None), ([record("lost", ASK, PAY, DONE, seconds=9.0)], None))
    assert [r.seconds for r in found.records] == [0.050, 0.050]


def test_shards_that_contradict_each_other_are_refused(tmp_path):
    with pytest.raises(EpisemError) as fault:
        merged(tmp_path, (joint(), None), ([record("lost", DESK)], None))
    one, two = tmp_path / "0", tmp_path / "1"
    assert str(fault.value) == f"{one} and {two} contradict each other: two outcomes of some/work/lost"


def test_shards_of_two_agents_are_not_joined(tmp_path):
    with pytest.raises(EpisemError, match=r"cannot merge: model: .*; workflow agent: episem/joint in"):
        merged(tmp_path, (joint(), None), ([], header(RULES)))


def test_what_only_the_other_suite_has_is_one_clear_line(tmp_path):
    save(tmp_path, joint())
    with pytest.raises(EpisemError, match="holds the workflow suite alone; gates are for the evidence suite"):
        open_evidence(tmp_path, "gates are")
