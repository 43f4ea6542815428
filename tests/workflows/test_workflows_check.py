"""A record counts only if it is true: it is played again and judged again (workflow protocol, section 2)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workflow_runs import (
    ASK,
    BANK,
    DESK,
    DONE,
    JOINT,
    LANDED,
    MODEL,
    PAY,
    STOP,
    WORK,
    altered,
    header,
    joint,
    record,
    run,
    with_faults,
)

from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.runs.record import trial_from_json, trial_to_json
from pytest_episem.runs.run import BankId
from pytest_episem.workflows.actions import Attempt, Query, Revalidate, Step, Wait
from pytest_episem.workflows.adjudicator import disagreements
from pytest_episem.workflows.bank.load import Workflow, WorkflowBank
from pytest_episem.workflows.cases import case_number
from pytest_episem.workflows.check import judge
from pytest_episem.workflows.study import Result
from pytest_episem.workflows.trial import Trial
from pytest_episem.workflows.verdict import Verdict
from pytest_episem.workflows.world import Fate


def refuted(one: Trial, **plan: Any) -> str:
    (found,) = judge(run([one], header(**plan)), [BANK])
    assert found.replayed
    return "; ".join(found.refuted)


def moved(one: Trial, **changes: Any) -> Trial:
    """The same trial as that of another case."""
    return replace(one, condition=replace(one.condition, **changes))


def with_step(one: Trial, place: int, **changes: Any) -> Trial:
    steps = list(one.judged.trajectory.steps)
    steps[place] = replace(steps[place], **changes)
    return altered(one, steps=tuple(steps))


def with_verdict(one: Trial, **changes: Any) -> Trial:
    return altered(one, verdict=replace(one.judged.trajectory.verdict, **changes))


def test_honest_records_stand():
    for one in [*joint(), record("lost", DESK), record("lost", STOP), record("lost", PAY, ASK, PAY, DONE)]:
        assert refuted(one) == ""
    assert refuted(record("landed", PAY, DONE, shield=False), shield=False) == ""


@pytest.mark.slow
def test_every_record_of_every_controller_stands(bank: WorkflowBank, over_assignments: list[Result]):
    records = [r.trial for r in over_assignments if r.controller == "joint"]
    about = header(planned=[one.condition.path for one in records], bank=BankId(bank.name, bank.version, bank.hash))
    found = judge(run(records, about), [BANK, bank])
    assert len(found) > 50
    assert [one.refuted for one in found] == [()] * len(found)
    assert all(one.replayed for one in found)


def test_a_hand_off_altered_to_look_certified_is_refuted():
    """In ``landed`` the work is done, whether the agent knows it or not: a finish would be true, and the adjudicator
    alone, who judges what is so, agrees with the altered record. That it was not certified shows on playing it again:
    in ``lost`` nothing is paid."""
    one = record("landed", DESK)
    verdict = Verdict("completed", True, True, (), (), 0, 0, 0)
    forged = altered(one, steps=(Step(1, DONE),), verdict=verdict, certifiable=False)
    assert disagreements(WORK, forged.judged.trajectory) == []
    assert refuted(forged) == ("step 1: executed at 1 for 0 with the answer '', replayed refused at 1 as false claim")


def test_giving_up_altered_to_look_like_all_that_could_be_had_is_refuted():
    for end in (DESK, STOP):
        one = record("lost", end)
        assert one.judged.trajectory.given_up
        assert refuted(altered(one, given_up=False)) == "given_up False, replayed True"


LOST = record("lost", ASK, PAY, DONE)


@pytest.mark.parametrize(
    ("forged", "words"),
    [
        (with_verdict(record("lost", DESK), terminal="completed"), "verdict "),
        (with_verdict(record("lost", DESK), goal=True), "verdict "),
        (with_verdict(LOST, fee=0), "verdict "),
        (with_verdict(LOST, actions=1), "verdict "),
        (with_verdict(LOST, time=-1), "verdict "),
        (with_step(LOST, 0, answer="k-pay settled at 0"), "step 1: executed at 1 for 1 with the answer 'k-pay set"),
        (with_step(LOST, 1, fee=0), "answer 'settled at 1', replayed executed at 1 for 2"),
        (with_step(LOST, 1, time=2), "step 2: executed at 2"),
        (with_step(LOST, 1, refused="no", answer="", fee=0), "step 2: refused at 1, replayed executed at 1 for 2"),
        (with_step(LOST, 1, action=Attempt("nothing", "k")), "replayed refused at 1"),
        (with_step(LOST, 1, action=Revalidate("nothing")), "replayed refused at 1"),
        (with_step(LOST, 1, action=Query("nothing")), "replayed refused at 1"),
        (with_step(LOST, 0, action=Wait(10**18)), "replayed refused at 1"),
        (with_step(LOST, 0, fault="unsafe"), "step 1: executed at 1 as unsafe for 1 with the answer"),
        (altered(LOST, ledger=()), "ledger "),
        (altered(LOST, certifiable=True), "certifiable True, replayed False"),
        (altered(LOST, given_up=True), "given_up True, replayed False"),
        (altered(LOST, refused=3), "refused 3, replayed 0"),
        (altered(LOST, steps=LOST.judged.trajectory.steps[:-1]), "it has no end"),
        (altered(LOST, steps=()), "it has no end"),
        (altered(LOST, steps=(*LOST.judged.trajectory.steps, Step(1, DONE))), "step 4 comes after the end"),
        (altered(LOST, world=MODEL.worlds[LANDED]), "its hidden truth is not that of the case"),
        (moved(LOST, case="landed"), "its hidden truth is not that of the case"),
        (moved(LOST, case="world-2"), "'world-2' is no case of this template"),
        (moved(LOST, case="world-²"), "is no case of this template"),
        (with_faults(LOST, "the agent cheated"), "found when it was recorded: the agent cheated"),
        (altered(LOST, shield=False), "recorded with the shield off, the run has it on"),
        (moved(altered(LOST, template="some/other"), task="some/other"), "the bank has no such template"),
    ],
)  # fmt: skip
def test_an_altered_record_is_refuted(forged, words):
    assert words in refuted(forged)


def test_a_world_is_a_case_too():
    names = {refuted(moved(LOST, case=f"world-{n}"), planned=[f"some/work/world-{n}"]) for n in (0, 1)}
    assert names == {"", "its hidden truth is not that of the case"}


def test_the_words_of_a_refusal_may_change():
    one = record("lost", PAY, ASK, PAY, DONE)
    assert one.judged.trajectory.steps[0].refused
    assert refuted(with_step(one, 0, refused="said otherwise in another version")) == ""


def test_without_its_bank_nothing_is_replayed_and_what_is_told_counts():
    for banks in ([], [replace(BANK, hash="other")]):
        (found,) = judge(run([with_verdict(LOST, fee=0)]), banks)
        assert (found.refuted, found.replayed) == ((), False)
    (found,) = judge(run([with_faults(LOST, "odd")]), [])
    assert found.refuted == ("found when it was recorded: odd",)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON document that holds no other."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if not parts:
        return [path]
    return [leaf for key, item in parts for leaf in leaves(item, (*path, key))]


DOCUMENT = json.loads(trial_to_json(record("lost", PAY, ASK, PAY, DONE), "run-1", JOINT))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.integers(), st.text(), st.sampled_from(["pay", "lost", "landed"]),
    st.sampled_from([[], {}, ["pay"], {"kind": "stop"}]),
)  # fmt: skip


@pytest.mark.slow
@given(st.sampled_from(leaves(DOCUMENT["outcome"]["trajectory"])), VALUES)
def test_whatever_is_altered_is_refused_or_refuted(path, value):
    """All but the words of a refusal; and other proposals may make another record that is true."""
    document = json.loads(json.dumps(DOCUMENT))
    place = document["outcome"]["trajectory"]
    for key in path[:-1]:
        place = place[key]
    before = place[path[-1]]
    place[path[-1]] = value
    try:
        one = trial_from_json(json.dumps(document))
    except EpisemError:
        return
    (found,) = judge(run([one]), [BANK])
    words = path[-1] == "refused" and isinstance(before, str)
    if "action" not in path and not words and one != trial_from_json(json.dumps(DOCUMENT)):
        assert found.refuted


def test_an_assignment_that_is_no_compatible_world_has_no_number():
    late = replace(MODEL.worlds[LANDED], fates={"pay1": Fate("effective", 0, 4)})
    workflow = Workflow(WORK, {"late": late, "landed": MODEL.worlds[LANDED]}, 2, {}, "some/work.yaml")
    assert case_number(MODEL, workflow, "landed") == LANDED
    with pytest.raises(EpisemError, match=r"^some/work.yaml: assignment 'late' is none of the compatible worlds"):
        case_number(MODEL, workflow, "late")
    with pytest.raises(UnknownName):
        case_number(MODEL, workflow, "ladned")
