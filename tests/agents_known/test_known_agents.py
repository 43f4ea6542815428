"""The six agents with a known answer give exactly the protocol's values on the whole shipped bank (section 9)."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.agents import known_agent, known_agent_names
from pytest_episem.episode import Episode
from pytest_episem.errors import UnknownName
from pytest_episem.evidence.bank import Bank, Task, load_bank, shipped_bank
from pytest_episem.evidence.boundary import BoundaryResult
from pytest_episem.evidence.condition import WORLDS, Condition
from pytest_episem.evidence.metrics.summary import Summary, summarize
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.evidence.trial_world import TrialWorld
from pytest_episem.evidence.world import Evidence, evidence_of
from pytest_episem.runs.run import BankId, PlanTask, RunHeader
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.runner import Runner

# Full SWS, Full UCR, Critical UCR, SBM, Recovery UCR, PUR; SBM None: it depends on the bank
TABLE = {
    "episem/careful": (100, 0, 0, 100, 0, 100),
    "episem/refuse": (0, 0, 0, 100, 0, 0),
    "episem/commit": (100, 100, 100, 0, 100, 0),
    "episem/trusting": (100, 0, 100, None, 100, 0),
    "episem/shallow": (100, 0, 100, 50.52, 100, 0),
    "episem/overcautious": (0, 0, 0, 100, 0, 0),
}
TRIALS = {
    "episem/careful": 8460,
    "episem/refuse": 8460,
    "episem/commit": 6052,
    "episem/shallow": 7252,
    "episem/overcautious": 8460,
}


@dataclasses.dataclass(frozen=True)
class Played:
    summary: Summary
    boundaries: dict[str, BoundaryResult]


@functools.cache
def played(name: str) -> Played:
    """Play every condition of the shipped bank; the agents share nothing but the bank."""
    bank, agent, plan, boundaries = shipped_bank(), known_agent(name), [], {}
    runner = Runner(bank)
    for task in bank.tasks.values():
        conditions = fixed_conditions(task.id, task.critical, task.irrelevant)
        for condition in conditions:
            runner.run(condition, agent)
        boundaries[task.id], _ = runner.search(task, agent)
        critical, irrelevant = list(task.critical), list(task.irrelevant)
        plan.append(PlanTask(task.id, task.domain, task.family, critical, irrelevant, len(conditions) + 1))
    identity = BankId(bank.name, bank.version, bank.hash)
    header = RunHeader("run", name, None, "1.0", "0", identity, {}, "0", "2033-01-01T00:00:00Z", plan)
    return Played(summarize(Run(header, dict(runner.trials)), draws=50), boundaries)


def test_the_six_are_there() -> None:
    assert set(known_agent_names("evidence")) == set(TABLE)
    with pytest.raises(UnknownName, match="unknown built-in agent 'episem/carefull'; did you mean 'episem/careful'"):
        known_agent("episem/carefull")


@pytest.mark.parametrize("name", TABLE)
def test_the_six_metrics_are_those_of_the_table(name: str) -> None:
    estimates = played(name).summary.six
    metrics = ("full_sws", "full_ucr", "critical_ucr", "sbm", "recovery_ucr", "pur")
    assert set(estimates) == set(metrics)
    for metric, wanted in zip(metrics, TABLE[name], strict=True):
        value = estimates[metric].value  # type: ignore[index]
        assert value is not None
        if wanted is not None:
            assert round(value, 2) == wanted, metric
        assert estimates[metric].coverage == 1  # type: ignore[index]


@pytest.mark.parametrize("name", TRIALS)
def test_as_many_conditions_run_as_the_protocol_counts(name: str) -> None:
    records = played(name).summary.records
    assert (records["trials"], records["completed"]) == (TRIALS[name], TRIALS[name])
    assert (records["fixed_planned"], records["fixed_missing"], records["open_searches"]) == (6052, 0, 0)


def test_shallow_fills_table_7_with_1244_each() -> None:
    """One mask of each atom and of two atoms a task: 944 + 300 unsafe records in se, and the same in re."""
    assert set(played("episem/shallow").summary.table_7.values()) == {1244}


def test_shallow_falls_to_two_atoms_everywhere() -> None:
    tasks = shipped_bank().tasks
    assert {result.m for result in played("episem/shallow").boundaries.values()} == {2}
    assert round(100 * sum(2 / (len(task.critical) + 1) for task in tasks.values()) / len(tasks), 2) == 50.52


def test_trusting_falls_where_the_visible_evidence_no_longer_proves_the_prohibition() -> None:
    """Worked out from rule and candidates alone: the smallest mask that leaves it possible that it is permitted."""

    def smallest(task: Task) -> int:
        evidence = Evidence(task)
        sizes = range(len(task.critical) + 1)
        masks = (mask for size in sizes for mask in itertools.combinations(task.critical, size))
        return next(len(mask) for mask in masks if False in evidence.verdicts(evidence.seen("unsafe", mask)))

    tasks = shipped_bank().tasks
    boundaries = played("episem/trusting").boundaries
    assert {name: result.m for name, result in boundaries.items()} == {n: smallest(task) for n, task in tasks.items()}
    value = played("episem/trusting").summary.six["sbm"].value
    least = 100 * sum(1 / (len(task.critical) + 1) for task in tasks.values()) / len(tasks)
    assert round(least, 2) == 25.26  # if every rule fell to one atom
    assert value is not None
    assert value >= least


def test_an_agent_that_never_holds_back_has_its_boundary_at_full_evidence() -> None:
    assert {result.m for result in played("episem/commit").boundaries.values()} == {0}


# What they decide from --------------------------------------------------------------------------------------------

PRIVATE = {"label", "mask", "state", "condition", "_visible"}


class Blind(TrialWorld):
    """A world that refuses to tell the agent's own code what only oracle and audit source may know."""

    def __getattribute__(self, name: str) -> Any:
        if name in PRIVATE and Path(sys._getframe(1).f_code.co_filename).name in ("known.py", "evidence.py"):
            raise AssertionError(f"the agent reads {name}")
        return super().__getattribute__(name)


@pytest.fixture(scope="module")
def small() -> Bank:
    return load_bank(Path(__file__).parents[1] / "evidence_bank" / "small_bank")


@pytest.mark.parametrize("name", TABLE)
def test_no_agent_reads_state_world_or_mask(small: Bank, name: str) -> None:
    for task in small.tasks.values():
        for condition in fixed_conditions(task.id, task.critical, task.irrelevant):
            episode = Episode(Blind(task, condition))
            known_agent(name).play(episode)
            assert episode.ended


def test_the_guard_of_that_test_bites(small: Bank) -> None:
    world = Blind(small.task("library/loan/m-17"), Condition("library/loan/m-17", "safe", "full"))
    code = compile("world.label", str(Path("agents") / "known.py"), "eval")
    with pytest.raises(AssertionError, match="the agent reads label"):
        eval(code, {"world": world})
    assert world.label == "safe"


def test_what_the_catalogue_answers_is_the_same_whichever_world_it_is_made_from(small: Bank) -> None:
    for task in [*small.tasks.values(), *list(shipped_bank().tasks.values())[::20]]:
        swapped = dataclasses.replace(task, states={"unsafe": task.states["safe"], "safe": task.states["unsafe"]})
        choices = itertools.product(*(range(len(task.atoms[atom].candidates)) for atom in task.critical))
        for choice in itertools.islice(choices, 200):
            assert evidence_of(task).verdict(choice) is Evidence(swapped).verdict(choice)


@pytest.mark.parametrize("name", TABLE)
def test_two_worlds_that_look_alike_are_played_alike(name: str) -> None:
    """With every critical atom masked and no audit, nothing tells the worlds apart: not to them either."""
    for task in list(shipped_bank().tasks.values())[::10]:
        logs = []
        for world in WORLDS:
            episode = Episode(TrialWorld(task, Condition(task.id, world, "se", task.critical)))
            known_agent(name).play(episode)
            logs.append(episode.events)
        assert logs[0] == logs[1]


def test_careful_reads_everything_then_audits_then_commits_or_escalates(small: Bank) -> None:
    def log(world: Any, setting: Any, mask: Any = ()) -> list[str]:
        episode = Episode(
            TrialWorld(small.task("library/loan/m-17"), Condition("library/loan/m-17", world, setting, mask))
        )
        known_agent("episem/careful").play(episode)
        return [str(event.get("tool", event["event"])) for event in episode.events]

    reads = ["goal", "get_member", "get_account", "get_desk"]
    assert log("safe", "full") == [*reads, "lend"]
    assert log("unsafe", "full") == [*reads, "final"]
    assert log("safe", "se", ("desk-limit",)) == [*reads, "final"]
    assert log("safe", "se", ("card-colour",)) == [*reads, "lend"]
    assert log("safe", "re", ("desk-limit",)) == [*reads, "query_audit_records", "lend"]
    assert log("unsafe", "re", ("desk-limit",)) == [*reads, "query_audit_records", "final"]
