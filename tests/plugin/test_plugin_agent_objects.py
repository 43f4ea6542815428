"""Agent objects: what they get holds nothing of the condition, and one that blocks keeps nobody waiting."""

from __future__ import annotations

import json

import pytest

PAIR = "finance/payment-authorization/pr-58217"
SEES = """
import copy, pickle
from pytest_episem.agents import known_agent
from pytest_episem.episode import Episode, World

SIMPLE = (str, int, float, bool, bytes, type(None))

def reachable(thing, seen):
    if id(thing) in seen or isinstance(thing, (*SIMPLE, type)):
        return
    seen[id(thing)] = thing
    inner = list(thing.values()) if isinstance(thing, dict) else []
    inner += list(thing) if isinstance(thing, (list, tuple, set, frozenset)) else []
    if type(thing).__module__.startswith("pytest_episem"):
        inner += [getattr(thing, name) for name in dir(thing) if not name.startswith("__")]
        inner += [getattr(one, "__self__", None) for one in inner]
    for one in inner:
        reachable(one, seen)

class Peeks:
    name, turn_limit = "peeks", 12
    def play(self, episode):
        seen = {}
        reachable(episode, seen)
        names = {type(thing).__name__ for thing in seen.values()}
        assert "ToolSpec" in names and "Usage" in names, names
        assert not [thing for thing in seen.values() if isinstance(thing, Episode) or hasattr(thing, "could_be")], names
        assert not names & {"World", "TrialWorld", "Recovery", "Condition", "Task", "Template"}, names
        for wanted in ("world", "condition", "events", "ending", "outcome", "_episode", "mask", "label"):
            assert not hasattr(episode, wanted), wanted
        text = repr(episode) + str(episode)
        assert "unsafe" not in text and "safe" not in text
        known_agent("episem/careful").play(episode)

class PeeksLater(Peeks):
    async def play(self, episode):
        super().play(episode)

agent, later = Peeks(), PeeksLater()
"""


@pytest.mark.parametrize("agent", ["agent", "later"])
def test_what_an_agent_object_gets_holds_nothing_of_the_condition(pytester, task_file, agent):
    """And the built-in agents, which need the world, still play when an object hands its episode on."""
    pytester.makepyfile(mine=SEES)
    options = (f"--episem-agent=mine:{agent}", "--episem-out=run", "-k", "full or unsafe-se or unsafe-re")
    result = pytester.runpytest_inprocess(*options, task_file(PAIR))
    assert set(result.parseoutcomes()) == {"passed", "deselected"}
    assert {record["outcome"]["disposition"] for record in records(pytester)} == {"committed", "escalated"}


BLOCKS = """
import threading

class Blocks:
    name, turn_limit = "blocks", 12
    def play(self, episode):
        for call in {calls}:
            episode.call(*call)
        threading.Event().wait(60)

agent = Blocks()
def function(episode):
    threading.Event().wait(60)
async def patient(episode):
    import asyncio
    await asyncio.sleep(60)
"""
LEFT = "1 rollout did not end within --episem-timeout and ran in a thread, which nobody can end*"


@pytest.mark.parametrize("agent", ["agent", "function"])
def test_one_that_blocks_is_unfinished_at_the_limit_and_the_summary_says_what_goes_on(pytester, task_file, agent):
    pytester.makepyfile(mine=BLOCKS.format(calls=()))
    result = pytester.runpytest_inprocess(
        f"--episem-agent=mine:{agent}", "--episem-timeout=0.2", "--episem-out=run", "-k", "/safe-full", task_file(PAIR)
    )
    result.stdout.fnmatch_lines([LEFT])
    (record,) = records(pytester)
    assert (record["status"], record["outcome"]["disposition"]) == ("completed", "unfinished")
    assert [event["event"] for event in record["events"]] == ["goal", "left_running", "end"]


def test_one_that_blocks_after_its_commit_has_committed_and_is_said_too(pytester, task_file):
    commit = ("submit_payment", {"request_id": "PR-58217"})
    pytester.makepyfile(mine=BLOCKS.format(calls=[commit]))
    result = pytester.runpytest_inprocess(
        "--episem-agent=mine:agent", "--episem-timeout=0.2", "--episem-out=run", "-k", "/safe-full", task_file(PAIR)
    )
    result.stdout.fnmatch_lines([LEFT])
    assert [event["event"] for event in records(pytester)[0]["events"]][-1] == "left_running"


def test_a_coroutine_is_ended_and_nothing_is_left_to_say(pytester, task_file):
    pytester.makepyfile(mine=BLOCKS.format(calls=()))
    result = pytester.runpytest_inprocess(
        "--episem-agent=mine:patient", "--episem-timeout=0.2", "-k", "/safe-full", task_file(PAIR)
    )
    result.stdout.no_fnmatch_line("*which nobody can end*")


SERIAL = """
import threading, time
from pytest_episem.agents import known_agent

class Serial:
    name, turn_limit = "serial", 12
    inside = 0
    def play(self, episode):
        self.inside += 1
        assert self.inside == 1 and threading.current_thread() is not threading.main_thread()
        time.sleep(0.01)
        known_agent("episem/careful").play(episode)
        self.inside -= 1

agent = Serial()
"""


def test_an_object_plays_one_rollout_after_the_other(pytester, task_file):
    pytester.makepyfile(mine=SERIAL)
    result = pytester.runpytest_inprocess("--episem-agent=mine:agent", task_file(PAIR))
    assert set(result.parseoutcomes()) == {"passed"}


LOOPS = """
import asyncio
import contextlib

class Client:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.answer = self.loop.create_future()
    async def ask(self):
        await self.answer

client = Client()
async def shared(episode):
    await client.ask()

async def again(episode):
    with contextlib.suppress(RuntimeError):
        await client.ask()
    await client.ask()

closed = asyncio.new_event_loop()
closed.close()
async def late(episode):
    try:
        closed.call_soon(print)
    except RuntimeError as error:
        raise ConnectionError("Connection error.") from error

async def other(episode):
    raise RuntimeError("the socket is gone")
"""


@pytest.mark.parametrize(("agent", "said"), [("shared", True), ("again", True), ("late", True), ("other", False)])
def test_a_client_of_another_event_loop_is_told_how_to_be_made(pytester, task_file, agent, said):
    pytester.makepyfile(mine=LOOPS)
    result = pytester.runpytest_inprocess(f"--episem-agent=mine:{agent}", "-k", "/safe-full", task_file(PAIR))
    result.assert_outcomes(errors=1)
    assert ("make it inside the agent, at its first use there" in result.stdout.str()) is said


def records(pytester: pytest.Pytester) -> list[dict]:
    return [json.loads(line) for line in (pytester.path / "run/trials.jsonl").read_text("utf-8").splitlines()]
