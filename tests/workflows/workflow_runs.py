"""Records and runs of one small template, worked by hand, for the tests of records, numbers and reports.

``some/work`` has one obligation, ``pay`` (fee 2, a question costs 1), whose only request timed out at 0. It arrives at
once or never and settles at once, so there are two worlds: ``landed`` and ``lost``. Whoever asks and then pays where
nothing landed ends certified: fee 1 and one action in ``landed``, fee 3 and two actions in ``lost``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_episem.workflows.records import WorkflowRecord, WorkflowWriter
from pytest_episem.workflows.run_dir import WorkflowRun
from workflow_builders import contract, past, play, template, world_with

from pytest_episem.runs.run import BankId, RunHeader, WorkflowPlan
from pytest_episem.workflows.actions import Action, Attempt, Finish, HandOff, Query, Stop
from pytest_episem.workflows.bank.load import Workflow, WorkflowBank
from pytest_episem.workflows.model import QueryTerms
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.world import Fate

HOSTILE = (
    "</script><script>window.pwned=1</script> <img src=x onerror=window.pwned=2> [x](javascript:window.pwned=3) "
    "| `code` @octocat #1 \x1b[31mred\x1b[0m \u202etxet\u202c \ud800 {{ 7*7 }} http://evil.example/?q="
)
QUERY = QueryTerms(scope="history", authority="authoritative", lag=0, fee=1)
WORK = template({"pay": contract(fee=2, query=QUERY)}, [past("pay")])
MODEL = Model(WORK)
LANDED, LOST = world_with(MODEL, pay1=Fate("effective", 0, 0)), world_with(MODEL, pay1=Fate("never_arrived"))
TRUTHS = {"landed": LANDED, "lost": LOST}
BANK = WorkflowBank(
    "b" * 64, {"some/work": Workflow(WORK, {n: MODEL.worlds[w] for n, w in TRUTHS.items()}, 2, {}, "some/work.yaml")}
)

ASK, PAY, DONE, DESK, STOP = Query("pay"), Attempt("pay", "pay-r1"), Finish("completed"), HandOff(("pay",)), Stop()
JOINT, RULES = "episem/joint", "episem/capability"


def record(case: str, *actions: Action, shield: bool = True, **changes: Any) -> WorkflowRecord:
    """The record of actions in a case, by default of joint planning, with two decisions of 10 and 30 ms."""
    values: dict[str, Any] = {
        "run": "run-1",
        "agent": JOINT,
        "domain": "some",
        "template": "work",
        "case": case,
        "trajectory": play(MODEL, TRUTHS[case], *actions, shield=shield),
        "selection": (0.010, 0.030),
        "seconds": 0.050,
        "nodes": 7,
    }
    return WorkflowRecord(**values | changes)


def joint() -> list[WorkflowRecord]:
    """Both cases, certified."""
    return [record("landed", ASK, DONE), record("lost", ASK, PAY, DONE)]


def header(
    agent: str = JOINT, planned: Iterable[str] = ("some/work/landed", "some/work/lost"), **plan: Any
) -> RunHeader:
    """The header of a run of the workflow suite alone."""
    bank = BankId("small", "3", BANK.hash)
    values: dict[str, Any] = {"bank": bank, "agent": agent, "shield": True, "cases": "assignments"}
    workflows = WorkflowPlan(**values | plan, planned=list(planned))
    return RunHeader("run-1", agent, None, "1.0", "0.1.0", bank, {"repeats": 1}, "0", "2033-01-01", [], workflows)


def run(records: Iterable[WorkflowRecord], about: RunHeader | None = None, torn: bool = False) -> WorkflowRun:
    """A run in memory."""
    found = about or header()
    assert found.workflows is not None
    return WorkflowRun(found, found.workflows, tuple(records), torn)


def save(directory: Path, records: Iterable[WorkflowRecord], about: RunHeader | None = None) -> Path:
    """Write a run to a directory, as a session leaves it; return the directory."""
    (about or header()).save(directory)
    with WorkflowWriter(directory) as writer:
        for one in records:
            writer.write(one)
    return directory
