"""Records and runs of one small template, worked by hand, for the tests of records, numbers and reports.

``some/work`` has one obligation, ``pay`` (fee 2, a question costs 1), whose only request timed out at 0. It arrives at
once or never and settles at once, so there are two worlds: ``landed`` and ``lost``. Whoever asks and then pays where
nothing landed ends certified: fee 1 and one action in ``landed``, fee 3 and two actions in ``lost``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflow_builders import contract, past, template, world_with

from pytest_episem.runs.run import BankId, RunHeader, WorkflowPlan
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.store import TrialWriter
from pytest_episem.workflows.actions import Action, Attempt, Finish, HandOff, Query, Stop
from pytest_episem.workflows.adjudicator import disagreements
from pytest_episem.workflows.bank.load import Workflow, WorkflowBank
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.giving_up import given_up
from pytest_episem.workflows.model import QueryTerms
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.trial import Case, Judgement, Search, Trial
from pytest_episem.workflows.verdict import Trajectory
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


def played(case: str, *actions: Action, shield: bool = True) -> Trajectory:
    """What a run keeps of these actions, the last of which ends the case."""
    episode = Episode(MODEL, TRUTHS[case], shield=shield)
    for action in actions:
        episode.propose(action)
    trajectory = replace(episode.trajectory(), given_up=given_up(episode))
    assert disagreements(WORK, trajectory) == []
    return trajectory


def record(
    case: str,
    *actions: Action,
    shield: bool = True,
    seconds: float = 0.050,
    faults: tuple[str, ...] = (),
    **search: Any,
) -> Trial:
    """The trial of actions in a case, by default with two decisions of 10 and 30 ms; ``faults`` as the adjudicator
    found them."""
    values: dict[str, Any] = {"selection": (0.010, 0.030), "nodes": 7}
    judged = Judgement(played(case, *actions, shield=shield), faults, search=Search(**values | search))
    return Trial(Case("some/work", case, shield), outcome=judged, turns=len(actions), seconds=seconds)


def altered(one: Trial, **changes: Any) -> Trial:
    """The same trial with another trajectory."""
    return replace(one, outcome=replace(one.judged, trajectory=replace(one.judged.trajectory, **changes)))


def with_faults(one: Trial, *faults: str) -> Trial:
    """The same trial, of which the adjudicator found these faults when it was recorded."""
    return replace(one, outcome=replace(one.judged, faults=faults))


def joint() -> list[Trial]:
    """Both cases, certified."""
    return [record("landed", ASK, DONE), record("lost", ASK, PAY, DONE)]


def header(
    agent: str = JOINT, planned: Iterable[str] = ("some/work/landed", "some/work/lost"), **plan: Any
) -> RunHeader:
    """The header of a run of the workflow suite alone."""
    bank = BankId("small", "3", BANK.hash)
    values: dict[str, Any] = {"bank": bank, "shield": True, "cases": "assignments"}
    workflows = WorkflowPlan(**values | plan, planned=list(planned))
    settings = {"repeats": 1}
    return RunHeader("run-1", None, agent, "1.0", "0.1.0", bank, settings, "0", "2033-01-01", [], workflows)


def run(trials: Iterable[Trial], about: RunHeader | None = None, torn: bool = False) -> Run:
    """A run in memory."""
    return Run(about or header(), {trial.condition: trial for trial in trials}, torn=int(torn))


def save(directory: Path, trials: Iterable[Trial], about: RunHeader | None = None, name: str = "run-1") -> Path:
    """Write a run to a directory, as a session leaves it; return the directory. ``name`` is the run that its records
    name."""
    found = about or header()
    found.save(directory)
    with TrialWriter(directory, name, found.label) as writer:
        for one in trials:
            writer.write(one)
    return directory
