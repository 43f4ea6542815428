"""Controllers as agents: what comes out is what comes out when they are asked directly, and they see what is public."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.agents import InfrastructureError, known_agent, known_agent_names
from pytest_episem.episode import Episode
from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.evidence.world import World as EvidenceWorld
from pytest_episem.workflows.actions import Query
from pytest_episem.workflows.bank.load import Workflow, WorkflowBank
from pytest_episem.workflows.controllers import Controller
from pytest_episem.workflows.players import play
from pytest_episem.workflows.recovery import Recovery
from pytest_episem.workflows.study import Result, cases
from pytest_episem.workflows.support import Model

CHAIN = "finance/billing-chain"
NAMES = ["episem/stop", "episem/verify-wait", "episem/capability", "episem/greedy", "episem/joint"]


def played(name: str, model: Model, number: int, kind: type[Recovery] = Recovery) -> Episode:
    agent = known_agent(name)
    episode = Episode(kind(model, number), agent.turn_limit)
    agent.play(episode)
    return episode


def truths(model: Model, workflow: Workflow) -> list[tuple[str, int]]:
    return list(cases(model, workflow, "assignments"))


def test_all_controllers_are_built_in_agents_of_the_suite():
    scripts = [f"episem/{name}" for name in ("give-up", "retry", "retry-same-key", "look-first", "advised")]
    assert known_agent_names("workflows") == [*NAMES, *scripts]
    assert known_agent_names()[-10:] == [*NAMES, *scripts]
    with pytest.raises(UnknownName, match="did you mean 'episem/joint'"):
        known_agent("episem/jiont")
    with pytest.raises(UnknownName):
        known_agent("episem/joint", "evidence")


@pytest.mark.slow
def test_over_the_shipped_bank_playing_as_an_agent_changes_nothing(
    bank: WorkflowBank, models: dict[str, Model], over_assignments: list[Result]
):
    expected = {(f"episem/{r.controller}", r.template, r.case): r for r in over_assignments}
    count = 0
    for template, workflow in bank.workflows.items():
        model = models[template]
        for name in NAMES:
            for case, number in truths(model, workflow):
                found, wanted = played(name, model, number).outcome(), expected[name, template, case]
                assert found.trajectory == wanted.trajectory
                assert (found.faults, found.invalid, found.unapproved) == (wanted.faults, False, ())
                count += 1
    assert count == len(over_assignments)
    assert count >= 5 * 37


def test_a_fresh_controller_plays_each_case_and_plans_stay_with_the_model(bank: WorkflowBank):
    made: list[Controller] = []

    class Asking(Controller):
        name = "asking"

        def __init__(self, model: Model) -> None:
            super().__init__(model)
            made.append(self)

        def choose(self, belief: Any) -> Any:
            return Query("charge") if belief.time == 1 else None

    workflow = bank.workflow(CHAIN)
    model = Model(workflow.template)
    for _, number in truths(model, workflow):
        episode = Episode(Recovery(model, number, proposals=1))
        play("asking", Asking, episode)
        assert episode.ending[:2] == ("unknown", "proposals")
    assert len(made) == len(set(made)) == 2
    spent = [played("episem/joint", model, 0).outcome().search for _ in range(2)]
    assert spent[0].nodes > 0
    assert spent[1].nodes == 0
    assert [len(search.selection) > 0 for search in spent] == [True, True]


def test_a_stop_is_a_last_message(bank: WorkflowBank):
    episode = played("episem/stop", Model(bank.workflow(CHAIN).template), 0)
    assert episode.ending[:2] == ("unknown", "line")
    assert episode.events[-1]["text"].endswith("Disposition: stopped")


@pytest.mark.parametrize("name", NAMES)
def test_in_the_other_suite_they_say_what_they_play(name: str):
    task = next(iter(shipped_bank().tasks.values()))
    with pytest.raises(EpisemError, match=f"^{name} plays the workflows suite, and this is no case of it$"):
        known_agent(name).play(Episode(EvidenceWorld(task, "safe")))


def test_what_no_tool_does_is_one_clear_line(bank: WorkflowBank):
    class Odd(Controller):
        name = "odd"

        def choose(self, belief: Any) -> Any:
            return Query("receipt")

    episode = Episode(Recovery(Model(bank.workflow(CHAIN).template), 0))
    with pytest.raises(InfrastructureError, match="no tool for the action: query receipt"):
        play("odd", Odd, episode)


class Blind(Recovery):
    """A world whose truth no planner's code may read."""

    def __getattribute__(self, name: str) -> Any:
        caller = Path(sys._getframe(1).f_code.co_filename)
        if name not in {"model", "belief", "call_for", "__class__"} and (
            caller.name == "players.py" or caller.parent.name == "controllers"
        ):
            raise AssertionError(f"the agent reads {name}")
        return super().__getattribute__(name)


@pytest.mark.parametrize("name", NAMES)
def test_they_read_nothing_but_what_is_public(bank: WorkflowBank, name: str):
    assert played(name, Model(bank.workflow(CHAIN).template), 0, Blind).ended
    code = compile("world._proposals", "players.py", "eval")
    with pytest.raises(AssertionError, match="the agent reads _proposals"):
        eval(code, {"world": Blind(Model(bank.workflow(CHAIN).template), 0)})
