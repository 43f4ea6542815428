"""The shipped workflow bank, and one bad bank for every code (workflow protocol, section 4)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_episem.banks.problem import BankError
from pytest_episem.workflows.bank.capabilities import CAPABILITIES, measurable, without, worths
from pytest_episem.workflows.bank.codes import CODES
from pytest_episem.workflows.bank.load import WorkflowBank, load_workflows, read_workflow
from pytest_episem.workflows.bank.validate import shown_bytes, start_bytes, validate_workflows
from pytest_episem.workflows.support import MAX_WORLDS, Model

NAMED = {
    "billing-chain",
    "stock-diamond",
    "file-fork",
    "approval-independent",
    "batch-items",
    "valid-key-recovery",
    "expired-key-recovery",
    "retirement-already-inflight",
}

GOOD = """\
id: small-transfer
title: A transfer timed out
clock: {start: 1, deadline: 4}
contracts:
  transfers.send:
    attempts: may_fail
    response: final
    arrival: 0
    commit_bound: 0
    fee: 1
    query: {scope: state, authority: authoritative, lag: 0}
obligations:
  transfer: {op: transfers.send, args: {reference: TR-1}}
handoff: payments-desk
history:
  - {id: t1, does: transfer, key: trf-1, sent: 0, answer: timeout}
assignments:
  landed: {t1: {effect: 0}}
  lost: {t1: never_arrived}
expect:
  support: 8
  joint: {landed: certified, lost: certified}
"""


def write(directory: Path, text: str, name: str = "small-transfer", domain: str = "finance") -> Path:
    file = directory / domain / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_good_bank_has_no_fault(tmp_path):
    write(tmp_path, GOOD)
    report = validate_workflows(tmp_path, capabilities=False)
    assert report.problems == ()
    assert (report.templates, report.assignments, report.worlds) == (1, 2, {"finance/small-transfer": 8})


@pytest.mark.slow
def test_shipped_bank_is_valid_and_large_enough(bank: WorkflowBank):
    report = validate_workflows(Path(bank.workflow("finance/billing-chain").file).parents[1], capabilities=False)
    assert [str(problem) for problem in report.problems] == []
    assert report.templates >= 19
    assert report.assignments >= 37
    assert max(report.worlds.values()) <= MAX_WORLDS
    assert {name.split("/")[1] for name in bank.workflows} >= NAMED
    assert len({name.split("/")[0] for name in bank.workflows}) == 8


def test_every_start_is_the_same_bytes_from_every_truth_and_every_world(bank: WorkflowBank):
    for workflow in bank.workflows.values():
        model = Model(workflow.template)
        shown = shown_bytes(workflow.template)
        for world in workflow.assignments.values():
            assert start_bytes(model, world, model.start(world)) == shown
        for world, run in zip(model.worlds, model.initial, strict=True):
            assert start_bytes(model, world, run) == shown


def test_every_truth_lies_in_its_support_and_is_not_given_away(bank: WorkflowBank):
    for workflow in bank.workflows.values():
        model = Model(workflow.template)
        assert all(model.index_of(world) is not None for world in workflow.assignments.values())


@pytest.mark.slow
def test_every_capability_is_there_is_missing_and_decides_an_ending(bank: WorkflowBank):
    contracts = [c for workflow in bank.workflows.values() for c in workflow.template.contracts.values()]
    for capability in CAPABILITIES:
        assert 0 < sum(capability.declared(contract) for contract in contracts) < len(contracts)
    witnesses = {
        "cloud/rollback-repeated": "deduplication",
        "logistics/bounded-replica": "query",
        "identity/directory-lag": "arrival",
        "logistics/manifest-underway": "commit_bound",
        "identity/lockout-lifted": "final response",
        "finance/double-capture": "compensation",
        "people/clearance-at-acceptance": "authorization",
    }
    assert set(witnesses.values()) == {capability.name for capability in CAPABILITIES}
    for template, capability in witnesses.items():
        found = [w for w in worths(bank.workflow(template)) if w.capability == capability]
        assert "ending" in {worth.change for worth in found}, (template, found)


@pytest.mark.slow
def test_removing_a_capability_may_change_the_cost_only_or_nothing(bank: WorkflowBank):
    lifting = [worth for worth in worths(bank.workflow("identity/lockout-lifted")) if worth.op == "lockouts.lift"]
    keyed = {worth.capability: worth.change for worth in lifting}
    assert keyed["deduplication"] == "cost"
    dead = {w.capability: w.change for w in worths(bank.workflow("finance/expired-key-recovery"))}
    assert dead["deduplication"] == "nothing"


@pytest.mark.slow
def test_the_datasheet_says_how_large_the_bank_is_and_what_is_not_measured(bank: WorkflowBank):
    text = (Path(__file__).parents[2] / "task_bank" / "README.md").read_text(encoding="utf-8")
    section = " ".join(text.split("## The workflow suite")[1].split())
    worlds = [workflow.support for workflow in bank.workflows.values()]
    sizes = f"{len(worlds)} workflows in {len({name.split('/')[0] for name in bank.workflows})} domains"
    assert f"{sizes}, {len(bank.assignments)} named truths, {sum(worlds)} compatible worlds" in section
    assert f"A workflow has at most {max(worlds)} compatible worlds" in section
    told = re.findall(r"`([a-z.]+)` in ([a-z]+/[a-z-]+)", section)
    found = [
        (op, name)
        for name, workflow in bank.workflows.items()
        for op, contract in workflow.template.contracts.items()
        for capability in CAPABILITIES
        if capability.declared(contract)
        for variant in [without(workflow.template, op, capability)]
        if variant is None or measurable(variant) is None
    ]
    assert sorted(told) == sorted(found)


BAD = {
    "an unknown key": ("schema", "handoff: payments-desk", "handof: payments-desk", "did you mean 'handoff'"),
    "a second kind of entry": ("schema", "does: transfer,", "does: transfer, asks: transfer,", "exactly one of"),
    "a settled answer without an instant": ("schema", "answer: timeout", "answer: settled", "'at' goes with"),
    "a file named otherwise": ("schema", "id: small-transfer", "id: other-transfer", "must be 'small-transfer'"),
    "a clock that runs backwards": ("schema", "deadline: 4", "deadline: 1", "must lie after the start"),
    "an authoritative query without lag": ("schema", ", lag: 0}", "}", "declares its lag"),
    "yaml that is not strict": ("schema", "title: A", "title: &t A", "anchors and aliases are not allowed"),
    "an operation without contract": ("reference", "op: transfers.send", "op: transfers.sned", "did you mean"),
    "an unknown obligation": ("reference", "does: transfer,", "does: transfr,", "did you mean 'transfer'"),
    "history after the start": ("reference", "sent: 0", "sent: 2", "no later than the start"),
    "a dependency that is not above": ("reference", "args: {reference", "after: [later], args: {reference", "'later'"),
    "a fate outside the contract": ("truth", "{effect: 0}", "{effect: 1}", "the contract allows no such fate"),
    "a fate misspelt": ("truth", "{effect: 0}", "{efect: 0}", "did you mean 'effect'"),
    "a promise misspelt": ("schema", "commit_bound: 0", "comit_bound: 0", "did you mean 'commit_bound'"),
    "a fate left open": ("truth", "landed: {t1: {effect: 0}}", "landed: {}", "its fate must be given"),
    "an unknown request in a truth": ("truth", "lost: {t1", "lost: {t2", "no past request 't2'"),
    "a service that does not exist": (
        "truth",
        "lost: {t1: never_arrived}",
        "lost: {t1: never_arrived, service: {transfers.send: lost}}",
        "must be one of lands, refused",
    ),
    "a choice of services that is no mapping": (
        "truth",
        "lost: {t1: never_arrived}",
        "lost: {t1: never_arrived, service: rejected}",
        "must be a mapping",
    ),
    "a choice for an operation that does not exist": (
        "truth",
        "lost: {t1: never_arrived}",
        "lost: {t1: never_arrived, service: {transfers.sned: lands}}",
        "nothing to choose for 'transfers.sned'; did you mean 'transfers.send'",
    ),
    "a choice for an approval where there is none": (
        "truth",
        "lost: {t1: never_arrived}",
        "lost: {t1: never_arrived, renewal: {mandate: granted}}",
        "nothing to choose for 'mandate'",
    ),
    "a choice that is a list": (
        "schema",
        "lost: {t1: never_arrived}",
        "lost: {t1: never_arrived, service: {transfers.send: [lands]}}",
        "lost: service: must be",
    ),
    "a fate that is a list": (
        "schema",
        "lost: {t1: never_arrived}",
        "lost: {t1: [never_arrived]}",
        "lost: t1: must be",
    ),
    "an unknown approval": (
        "reference",
        "{op: transfers.send, args",
        "{op: transfers.send, approval: mandate, args",
        "no approval 'mandate'",
    ),
    "an operation that nothing uses": (
        "reference",
        "obligations:\n",
        "  transfers.copy: {attempts: settle, response: final, arrival: 0, commit_bound: 0}\nobligations:\n",
        "no obligation uses this operation",
    ),
    "an id that has another meaning": ("reference", "id: t1", "id: lag", "the id is used already"),
    "an id used twice": (
        "reference",
        "answer: timeout}",
        "answer: timeout}\n  - {id: t1, does: transfer, key: trf-2, sent: 0, answer: timeout}",
        "the id is used already",
    ),
    "an answer before the sending": (
        "reference",
        "sent: 0, answer: timeout",
        "sent: 1, answer: settled, at: 0",
        "answered at or after sending",
    ),
    "an undoing that is not offered": ("reference", "does: transfer", "undoes: transfer", "declares no compensation"),
    "a question that is not offered": (
        "reference",
        ", lag: 0}\nobligations:\n",
        ", lag: 0}\n  transfers.copy: {attempts: settle, response: final, arrival: 0, commit_bound: 0}\n"
        "obligations:\n  copy: {op: transfers.copy}\n",
        "declares no query",
    ),
    "a batch of two operations": (
        "reference",
        ", lag: 0}\nobligations:\n",
        ", lag: 0}\n  transfers.copy: {attempts: settle, response: final, arrival: 0, commit_bound: 0}\n"
        "obligations:\n  copy: {op: transfers.copy}\n",
        "a batch holds one operation only",
    ),
    "an answer that is none": ("schema", "answer: timeout", "answer: later", "is settled, rejected, accepted or"),
    "a question with a key": ("schema", "does: transfer,", "asks: transfer,", "a question has none"),
    "a receipt that settles": (
        "schema",
        "response: final",
        "response: receipt\n    settles: [settled]",
        "exactly when the response is final",
    ),
    "an ending of an unknown truth": (
        "reference",
        "lost: certified}",
        "lots: certified}",
        "expect.joint.lots: no such assignment",
    ),
    "an impossible history": ("support-empty", "attempts: may_fail", "attempts: settle", "reproduces the history"),
    "a wrong count": ("support-size", "support: 8", "support: 9", "says 9, the contracts give 8"),
    "the same truth twice": ("same-truth", "lost: {t1: never_arrived}", "lost: {t1: {effect: 0}}", "as 'landed'"),
    "a wrong ending": ("expect", "lost: certified", "lost: handed_off", "says handed_off, the run ends completed"),
    "a label word": ("label-word", "A transfer timed out", "A safe transfer timed out", "'safe'"),
}


MORE = {
    "a question that is not offered": "{id: q1, asks: copy, sent: 0, answer: count 0}\n  - {id: t1, does: transfer,",
    "a batch of two operations": "{id: t1, does: [transfer, copy],",
}
"""What goes where the history begins, for a fault that needs a second change."""


@pytest.mark.parametrize("case", BAD)
def test_known_bad_bank(tmp_path, case):
    code, old, new, words = BAD[case]
    assert old in GOOD
    text = GOOD.replace(old, new)
    text = text.replace("{id: t1, does: transfer,", MORE.get(case, "{id: t1, does: transfer,"))
    if code == "support-empty":
        text = text.replace("answer: timeout", "answer: rejected")
    write(tmp_path, text)
    problems = validate_workflows(tmp_path, capabilities=False).problems
    assert {problem.code for problem in problems} == {code}
    assert any(words in str(problem) for problem in problems)
    assert all("\n" not in str(problem) and "small-transfer.yaml" in str(problem) for problem in problems)


def test_more_worlds_than_can_be_enumerated(tmp_path, monkeypatch):
    """Eight worlds where seven are the most: named, not counted as wrong."""
    monkeypatch.setattr("pytest_episem.workflows.bank.validate.MAX_WORLDS", 7)
    write(tmp_path, GOOD)
    problems = validate_workflows(tmp_path, capabilities=False).problems
    assert [(p.code, p.field, p.message) for p in problems] == [("support-size", "contracts", "8 worlds; at most 7")]


def test_a_support_too_large_to_build(tmp_path):
    """Eleven requests, each of which may never arrive or land at any of four instants."""
    lines = "".join(f"  - {{id: t{n}, does: transfer, key: trf-{n}, sent: 0, answer: timeout}}\n" for n in range(2, 12))
    text = GOOD.replace("commit_bound: 0", "commit_bound: 3").replace("assignments:", f"{lines}assignments:")
    fates = ", ".join(f"t{n}: never_arrived" for n in range(2, 12))
    text = text.replace("{t1: {effect: 0}}", f"{{t1: {{effect: 0}}, {fates}}}")
    text = text.replace("{t1: never_arrived}", f"{{t1: never_arrived, {fates}}}")
    write(tmp_path, text)
    report = validate_workflows(tmp_path, capabilities=False)
    assert [problem.code for problem in report.problems] == ["support-size"]
    assert report.worlds == {}


def test_the_report_as_plain_values(tmp_path):
    write(tmp_path, GOOD)
    report = validate_workflows(tmp_path, capabilities=False)
    assert report.ok
    assert report.to_dict() == {
        "hash": report.hash,
        "templates": 1,
        "assignments": 2,
        "worlds": {"finance/small-transfer": 8},
    }
    write(tmp_path, GOOD.replace("support: 8", "support: 9"))
    assert not validate_workflows(tmp_path, capabilities=False).ok


def test_a_truth_that_would_have_answered_otherwise(tmp_path):
    text = GOOD.replace("answer: timeout", "answer: settled, at: 0").replace("support: 8", "support: 2")
    write(tmp_path, text)
    problems = validate_workflows(tmp_path, capabilities=False).problems
    assert [(problem.code, problem.instance) for problem in problems] == [("start", "lost")]


def test_second_trouble_that_no_named_case_plays(tmp_path):
    """Eight worlds, each with five modes: none, the first or the second request, lost or landed without an answer."""
    text = GOOD.replace("    fee: 1\n", "    fee: 1\n    again: {arrival: 0, commit_bound: 0}\n")
    text = text.replace("support: 8", "support: 40")
    write(tmp_path, text)
    problems = validate_workflows(tmp_path, capabilities=False).problems
    assert [(p.code, p.field, p.message) for p in problems] == [
        ("again", "contracts.transfers.send.again", f"no assignment plays a second request that is {kind}")
        for kind in ("lost", "landed")
    ]
    lost = "  lost-again: {t1: never_arrived, again: {transfers.send: first lost}}\n"
    landed = "  landed-again: {t1: never_arrived, again: {transfers.send: second landed+0}}\n"
    write(tmp_path, text.replace("expect:\n", f"{lost}expect:\n"))
    problems = validate_workflows(tmp_path, capabilities=False).problems
    assert [p.message for p in problems] == ["no assignment plays a second request that is landed"]
    write(tmp_path, text.replace("expect:\n", f"{lost}{landed}expect:\n"))
    assert validate_workflows(tmp_path, capabilities=False).ok


def test_ids_that_select_another_domain(tmp_path):
    write(tmp_path, GOOD)
    write(tmp_path, GOOD.replace("id: small-transfer", "id: finance-desk"), "finance-desk", "people")
    problems = validate_workflows(tmp_path, capabilities=False).problems
    assert {problem.code for problem in problems} == {"selection"}


def test_a_capability_that_is_nowhere_or_decides_nothing(tmp_path):
    write(tmp_path, GOOD)
    messages = [p.message for p in validate_workflows(tmp_path).problems if p.code == "capability"]
    assert "deduplication is declared nowhere" in messages
    assert "query is declared everywhere" in messages


def test_codes_of_the_known_bad_banks_are_all_there_are():
    """``refuted`` has no bad bank: it speaks of a fault in the suite, not in a bank."""
    seen = {case[0] for case in BAD.values()} | {"start", "selection", "capability", "again"}
    assert seen | {"refuted"} == set(CODES)


def test_loading_reports_every_fault_at_once(tmp_path):
    write(tmp_path, GOOD.replace("fee: 1", "fee: -1").replace("sent: 0", "sent: soon"))
    with pytest.raises(BankError) as caught:
        load_workflows(tmp_path)
    assert len(caught.value.problems) == 2
    with pytest.raises(BankError, match="no template file"):
        load_workflows(tmp_path / "nothing")


def test_what_an_assignment_leaves_out_is_the_ordinary_choice(tmp_path):
    workflow = read_workflow(write(tmp_path, GOOD))
    assert {str(service) for service in workflow.assignments["lost"].services.values()} == {"lands"}
