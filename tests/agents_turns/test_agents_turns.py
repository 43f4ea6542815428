"""Turns of an agent function: a call made while another's observation is still out shares its turn (section 2)."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import get_type_hints

import pytest

from pytest_episem.episode import Episode
from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.evidence.condition import Condition
from pytest_episem.runs.runner import Runner, RunSettings

TASK = "finance/payment-authorization/pr-58217"
ID = {"request_id": "PR-58217"}
RECOVERABLE = Condition(TASK, "safe", "re", ("authorization-limit",))
AUDIT, COMMIT = ("query_audit_records", {}), ("submit_payment", ID)


@pytest.fixture
def play():
    runners = []

    def run(agent, **settings):
        from pytest_episem.agents import as_agent

        runners.append(Runner(shipped_bank(), RunSettings(**settings)))
        return runners[-1].run(RECOVERABLE, as_agent(agent))

    yield run
    for runner in runners:
        runner.close()


def one_by_one(view):
    view.call(*AUDIT)
    view.call(*COMMIT)


async def one_by_one_async(view):
    await view.acall(*AUDIT)
    await view.acall(*COMMIT)


async def one_by_one_in_threads(view):
    await asyncio.to_thread(view.call, *AUDIT)
    await asyncio.to_thread(view.call, *COMMIT)


async def one_by_one_in_tasks(view):
    await asyncio.create_task(view.acall(*AUDIT))
    await asyncio.create_task(view.acall(*COMMIT))


def one_by_one_in_a_loop_of_its_own(view):
    asyncio.run(one_by_one_in_tasks(view))


def in_messages(view):
    view.call_all([AUDIT])
    view.call_all([COMMIT])


@pytest.mark.parametrize(
    "agent",
    [
        one_by_one,
        one_by_one_async,
        one_by_one_in_threads,
        one_by_one_in_tasks,
        one_by_one_in_a_loop_of_its_own,
        in_messages,
    ],
)
def test_a_call_after_the_observation_opens_a_turn(play, agent):
    trial = play(agent)
    assert trial.error is None
    assert trial.turns == 2
    assert trial.outcome.recovered_before_commit
    assert trial.strict


async def gathered(view):
    await asyncio.gather(view.acall(*AUDIT), view.acall(*COMMIT))


async def gathered_functions(view):
    tools = view.async_functions
    await asyncio.gather(tools["query_audit_records"](), tools["submit_payment"](**ID))


def pooled(view):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda call: view.call(*call), [AUDIT, COMMIT]))


def pooled_functions(view):
    tools = view.functions
    with ThreadPoolExecutor(2) as pool:
        pool.submit(tools["query_audit_records"])
        pool.submit(tools["submit_payment"], **ID)


async def gathered_in_threads(view):
    await asyncio.gather(asyncio.to_thread(view.call, *AUDIT), asyncio.to_thread(view.call, *COMMIT))


def in_one_message(view):
    view.call_all([AUDIT, COMMIT])


@pytest.mark.parametrize(
    "agent", [gathered, gathered_functions, pooled, pooled_functions, gathered_in_threads, in_one_message]
)
def test_calls_made_together_share_a_turn(play, agent):
    trial = play(agent)
    assert trial.error is None
    assert trial.turns == 1
    assert trial.outcome.premature_commit
    assert not trial.strict


def test_a_message_gives_an_observation_a_call_and_nothing_runs_after_the_commit(play):
    seen = []

    def agent(view):
        seen.extend(view.call_all([("get_payment_request", ID), COMMIT, AUDIT, ("pay", {})]))

    trial = play(agent)
    assert len(seen) == 4
    assert seen[0]["request_id"] == "PR-58217"
    assert [observation.get("error") for observation in seen[2:]] == ["The conversation has ended."] * 2
    assert not trial.outcome.recovered
    assert not trial.outcome.invalid_action


def test_calls_that_share_the_last_turn_are_all_executed(play):
    trial = play(lambda view: view.call_all([("get_payment_request", ID), COMMIT]), turn_limit=1)
    assert trial.outcome.disposition == "committed"
    held = threading.Event()

    def waiting(view):
        with ThreadPoolExecutor(2) as pool:
            pool.submit(view.call, "get_payment_request", ID)
            pool.submit(view.call, *COMMIT)
        held.set()

    assert play(waiting, turn_limit=1).outcome.disposition == "committed"
    assert held.is_set()


def test_the_functions_carry_name_docstring_annotations_and_signature(play):
    seen = {}

    def agent(view):
        seen.update(view.functions)
        return "stopped"

    play(agent)
    function = seen["submit_payment"]
    assert str(inspect.signature(function)) == "(request_id: str) -> dict"
    assert get_type_hints(function) == {"request_id": str, "return": dict}
    assert function.__doc__ == shipped_bank().task(TASK).tools["submit_payment"].description
    assert str(inspect.signature(seen["query_audit_records"])) == "() -> dict"


def test_the_functions_take_values_by_position_and_by_name(play):
    def agent(view):
        assert view.functions["get_payment_request"]("PR-58217") == view.functions["get_payment_request"](**ID)
        assert "error" in view.functions["get_payment_request"](wrong=1)
        with pytest.raises(TypeError, match="takes 1 arguments, not 2"):
            view.functions["get_payment_request"]("PR-58217", 2)
        return "stopped"

    trial = play(agent)
    assert trial.error is None
    assert trial.outcome.invalid_action


def test_every_parameter_of_the_bank_has_an_annotation():
    kinds = set()
    for task in shipped_bank().tasks.values():
        from pytest_episem.agents import EpisodeView
        from pytest_episem.evidence.world import World

        for function in EpisodeView(Episode(World(task, "safe"))).functions.values():
            kinds |= {str(p.annotation) for p in inspect.signature(function).parameters.values()}
    assert kinds == {"<class 'str'>", "<class 'int'>", "list[str]"}
