"""The answer cache between a model agent and its files: what is sent once, what is never kept, what is not believed."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from careful_model import CarefulModel
from model_server import CUT, RESET, Reply, call, fail, say

from pytest_episem.agents import answer_store
from pytest_episem.agents.answer_store import AnswerStore, Damaged
from pytest_episem.agents.base import InfrastructureError
from pytest_episem.agents.cache import AnswerCache
from pytest_episem.agents.limits import Patience
from pytest_episem.agents.messages import Answer
from pytest_episem.agents.reply import Reply as Kept
from pytest_episem.episode import Call
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.runs.runner import Runner, RunSettings

TASK = "finance/payment-authorization/pr-58217"
ID = {"request_id": "PR-58217"}
READ = say(None, [call("get_payment_request", ID)])
COMMIT = say(None, [call("submit_payment", ID)])
STOP = say("Disposition: stopped")
SAFE, UNSAFE = Condition(TASK, "safe", "full"), Condition(TASK, "unsafe", "full")
KEY = "ab" * 32


@pytest.fixture
def cache(tmp_path) -> AnswerCache:
    return AnswerCache(tmp_path / "answers")


@pytest.fixture
def replay(cache, tmp_path) -> AnswerCache:
    """The same answers, and nothing sent."""
    return AnswerCache(tmp_path / "answers", replay=True)


@pytest.fixture
def entries(tmp_path):
    """Return the files of the cache."""
    return lambda: sorted((tmp_path / "answers").rglob("*.json"))


def careful(bank):
    model = CarefulModel(bank.tasks.values())

    def answer(body):
        text, calls = model(body)
        return say(text, calls or None)

    return answer


def run_all(bank, agent, conditions, concurrency=8):
    """Run conditions side by side, and the boundary search after them; return the trials."""
    runner = Runner(bank, RunSettings(concurrency=concurrency))
    runner.submit(conditions, agent)
    trials = [runner.run(condition, agent) for condition in conditions]
    trials += runner.search(bank.task(TASK), agent)[1]
    runner.close()
    return trials


# Sent once ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 15])
def test_a_whole_pair_sends_every_request_once(bank, server, agent, cache, entries, concurrency):
    """Worked by hand. The pair has four reads. The amount (hidden: A) is in the first two, the cost centre (C) in the
    first, the limit (L) in the third, and only the limit differs between the worlds.

    Asked: 8 rollouts without the audit tool, and 1 of the search, of 5 requests each; 6 with it, of 6 each: 81.
    Sent without the audit tool: 1 opening; the first read is told apart by A, C or neither: 3, so is the second: 3; the
    third also by the limit's two values where it is shown (2 full, 2 A, 2 C, 1 L, 1 A+L): 8; the fourth: 8. 23 in all.
    Sent with it: 1, 3, 3; after the third read 2 A, 2 C, 1 L: 5; the fourth: 5; the audit tells the worlds of L apart,
    too: 6. 23 in all.
    """
    server.then = careful(bank)
    task = bank.task(TASK)
    conditions = list(fixed_conditions(TASK, task.critical, task.irrelevant))
    trials = run_all(bank, agent(cache=cache), conditions, concurrency)
    assert [trial.status for trial in trials] == ["completed"] * 15
    assert sum(trial.usage.requests for trial in trials) == 81
    assert len(server.requests) == 46
    assert sum(trial.usage.cached_requests for trial in trials) == 81 - 46
    assert len(entries()) == 46
    without = run_all(bank, agent(), conditions)
    assert len(server.requests) == 46 + 81
    assert [trial.outcome for trial in trials] == [trial.outcome for trial in without]


def test_twins_share_until_their_observations_differ(bank, server, agent, cache):
    server.then = careful(bank)
    runner, player = Runner(bank), agent(cache=cache)
    first, second = runner.run(UNSAFE, player), runner.run(SAFE, player)
    runner.close()
    assert (first.usage.requests, first.usage.cached_requests) == (5, 0)
    assert (second.usage.requests, second.usage.cached_requests) == (5, 3)  # the opening, two reads; then the limit
    assert (first.outcome.disposition, second.outcome.disposition) == ("escalated", "committed")


def test_repeats_are_never_one(bank, server, agent, cache):
    server.then = careful(bank)
    repeats = [dataclasses.replace(SAFE, repeat=n) for n in range(3)]
    trials = run_all(bank, agent(cache=cache), repeats)
    assert [trial.usage.cached_requests for trial in trials if trial.condition in repeats] == [0, 0, 0]
    openings = [request for request in server.requests if len(request.body["messages"]) == 2]
    assert len(openings) == 3


def test_other_arguments_are_asked_anew(play, server, agent, cache):
    play(STOP, player=agent(cache=cache))
    play(STOP, player=agent(cache=cache, top_p=0.5))
    play(STOP, player=agent("openai/scripted-2", cache=cache))
    assert len(server.requests) == 3
    play(player=agent(cache=cache, timeout=1.5))
    play(player=agent(cache=cache, patience=Patience(tries=2)))
    assert len(server.requests) == 3


def test_what_a_cached_request_counts(play, agent, cache):
    priced = "openai/gpt-4o"
    first = play(READ, STOP, player=agent(priced, cache=cache)).usage
    second = play(player=agent(priced, cache=cache)).usage
    assert (first.requests, first.cached_requests) == (2, 0)
    assert first.cost_usd > 0
    assert second == dataclasses.replace(first, cost_usd=0.0, cached_requests=2)


def test_a_sum_of_sent_and_cached_is_what_was_sent(play, agent, cache):
    priced = "openai/gpt-4o"
    whole = play(READ, STOP, player=agent(priced, cache=cache))
    sent = [event["cost_usd"] for event in whole.events if event["event"] == "request"]
    half = play(STOP, player=agent(priced, cache=cache), condition=Condition(TASK, "safe", "se", ("payment-amount",)))
    assert (half.usage.requests, half.usage.cached_requests) == (2, 1)
    assert half.usage.cost_usd == pytest.approx(sent[1])
    assert [event.get("cached", False) for event in half.events if event["event"] == "request"] == [True, False]


def test_a_cached_answer_waits_for_nobody(play, agent, cache, monkeypatch):
    play(STOP, player=agent(cache=cache))
    player = agent(cache=cache)
    monkeypatch.setattr(player._sender.limiter, "slot", lambda: pytest.fail("asked for a slot"))
    assert play(player=player).outcome.disposition == "stopped"


# In flight ------------------------------------------------------------------------------------------------------------


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


class Provider:
    """A provider that answers when it is told to."""

    def __init__(self) -> None:
        self.sent = 0
        self.told: asyncio.Future[Kept] = asyncio.get_running_loop().create_future()

    async def ask(self) -> Kept:
        self.sent += 1
        return await asyncio.shield(self.told)


REPLY = Kept(Answer((), "Hello.", "", "stop", {"role": "assistant", "content": "Hello."}), total_tokens=3)


def in_flight(cache, count, script):
    """Let ``count`` tasks ask for one key and ``script(provider, tasks)`` go on from there; return what each got."""

    async def scenario():
        provider = Provider()
        tasks = [asyncio.ensure_future(cache.reply(KEY, "m", provider.ask, 60.0)) for _ in range(count)]
        await settle()
        await script(provider, tasks)
        return provider.sent, await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)

    return asyncio.run(scenario())


def test_one_flight_serves_all_that_ask_meanwhile(cache):
    async def land(provider, tasks):
        assert provider.sent == 1
        provider.told.set_result(REPLY)

    assert in_flight(cache, 5, land) == (1, [(REPLY, False), *[(REPLY, True)] * 4])


def test_when_the_leader_fails_the_others_try_for_themselves(cache, entries):
    async def crash(provider, tasks):
        failing, provider.told = provider.told, asyncio.get_running_loop().create_future()
        failing.set_exception(InfrastructureError("server", "it failed"))
        await settle()
        assert provider.sent == 5
        assert entries() == []
        provider.told.set_result(REPLY)

    sent, got = in_flight(cache, 5, crash)
    assert sent == 5
    assert [type(one) for one in got] == [InfrastructureError, *[tuple] * 4]
    assert got[1:] == [(REPLY, False)] * 4
    assert len(entries()) == 1


def test_when_the_leader_is_cancelled_one_of_the_others_leads(cache):
    async def cancel(provider, tasks):
        tasks[0].cancel()
        await settle()
        assert provider.sent == 2
        provider.told.set_result(REPLY)

    sent, got = in_flight(cache, 4, cancel)
    assert sent == 2
    assert isinstance(got[0], asyncio.CancelledError)
    assert got[1:] == [(REPLY, False), (REPLY, True), (REPLY, True)]


def test_one_that_waits_may_be_cancelled_alone(cache):
    async def cancel(provider, tasks):
        tasks[1].cancel()
        await settle()
        provider.told.set_result(REPLY)

    sent, got = in_flight(cache, 3, cancel)
    assert sent == 1
    assert [got[0], got[2]] == [(REPLY, False), (REPLY, True)]


def test_an_answer_that_cannot_be_kept_still_serves_those_in_flight(tmp_path):
    (tmp_path / "answers").write_text("a file where the directory should be")

    async def land(provider, tasks):
        provider.told.set_result(REPLY)

    with pytest.warns(UserWarning, match="answer cache") as noticed:
        assert in_flight(AnswerCache(tmp_path / "answers"), 3, land) == (1, [(REPLY, False), *[(REPLY, True)] * 2])
    assert len(noticed) == 3  # what lies there cannot be read; no locks; nothing kept


PROCESS = """
import asyncio, sys
from pathlib import Path
from pytest_episem.agents.cache import AnswerCache
from pytest_episem.agents.messages import Answer
from pytest_episem.agents.reply import Reply

here, name, key = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

async def ask():
    (here / f"sent-{name}").touch()
    while not (here / "go").exists():
        await asyncio.sleep(0.02)
    return Reply(Answer((), f"from {name}", "", "stop", {"role": "assistant"}))

async def main():
    (here / f"asks-{name}").touch()
    reply, cached = await AnswerCache(here / "answers").reply(key, "m", ask, 120.0)
    print(reply.answer.text, cached)

asyncio.run(main())
"""


@pytest.fixture
def process(tmp_path) -> Iterator:
    """Start a process that asks for ``KEY``."""
    started = []

    def start(name):
        command = [sys.executable, "-c", PROCESS, str(tmp_path), name, KEY]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()
        one.stdout.close()


def appears(file: Path) -> bool:
    async def wait():
        while not file.exists():
            await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(wait(), 60))
    return True


def test_two_processes_have_one_request_in_flight(tmp_path, process):
    first = process("first")
    assert appears(tmp_path / "sent-first")
    second = process("second")
    assert appears(tmp_path / "asks-second")
    (tmp_path / "go").touch()
    assert first.communicate(timeout=60)[0] == "from first False\n"
    assert second.communicate(timeout=60)[0] == "from first True\n"
    assert not (tmp_path / "sent-second").exists()
    assert list((tmp_path / "answers" / "locks").iterdir()) == []


def test_a_killed_leader_holds_up_nobody(tmp_path, process):
    first = process("first")
    assert appears(tmp_path / "sent-first")
    second = process("second")
    assert appears(tmp_path / "asks-second")
    assert not (tmp_path / "sent-second").exists()
    first.send_signal(signal.SIGKILL)
    assert appears(tmp_path / "sent-second")
    (tmp_path / "go").touch()
    assert second.communicate(timeout=60)[0] == "from second False\n"


def test_a_leader_that_stands_still_is_waited_for_only_so_long(cache, tmp_path, process):
    process("first")
    assert appears(tmp_path / "sent-first")

    async def other():
        return REPLY

    assert asyncio.run(cache.reply(KEY, "m", other, 0.1)) == (REPLY, False)


# What is kept ---------------------------------------------------------------------------------------------------------

ERRORS = {
    "429": fail(429, "slow down"),
    "500": fail(500),
    "timeout": Reply(STOP.body, seconds=3.0),
    "reset": RESET,
    "cut": CUT,
    "broken-off": say("Half of", finish="error"),
    "rejected": fail(400, "Invalid schema for function"),
    "no-key": fail(401, "Incorrect API key provided", "invalid_api_key"),
}


@pytest.mark.parametrize("reply", ERRORS.values(), ids=ERRORS)
def test_an_error_is_never_kept(play, server, agent, cache, entries, reply):
    timeout = 0.3 if reply.seconds else 5.0
    patience = Patience(tries=1, rate_limit_tries=1, first_delay=0.001, request_timeout=timeout)
    assert play(reply, player=agent(patience=patience, cache=cache)).status == "error"
    assert entries() == []
    again = play(COMMIT, player=agent(cache=cache))
    assert again.outcome.legal_completion
    assert again.usage.cached_requests == 0


WORKFLOWS = {
    "text": [STOP],
    "calls": [say("Let me see.", [call("get_payment_request", ID), call("no_such_tool", ID)]), COMMIT],
    "malformed": [say(None, [call("get_payment_request", '{"request_id": ')]), STOP],
    "surrogate": [say(None, [call("get_payment_request", '{"request_id": "\\ud800"}', id="\ud800")]), STOP],
    "not-text": [say(None, [call("get_payment_request", ID, id=None)]), STOP],
    "reasoning": [
        say(None, [call("get_payment_request", ID)], reasoning_content="Hm.", thinking_blocks=[{"signature": "x/y="}]),
        STOP,
    ],
    "length": [say("Dispo", finish="length")],
    "empty": [say("")],
    "refusal": [say(None, refusal="I will not.")],
    "filtered-answer": [say("...", finish="content_filter")],
    "filtered-request": [fail(400, "The response was filtered", "content_filter")],
    "overflow": [READ, fail(400, "This model's maximum context length is 8 tokens", "context_length_exceeded")],
    "unreadable": [fail(400, "Failed to call a function", "tool_use_failed", failed_generation="<look>"), STOP],
    "unknown-usage": [say("Disposition: stopped", usage=None)],
}


def shown(trial):
    """What of a trial does not depend on who paid, how long it took and what had to be tried again."""
    kept = ("filter", "overflow")
    passing = ("seconds", "cost_usd", "cached")
    events = [
        {name: value for name, value in event.items() if name not in passing}
        for event in trial.events
        if (event["event"] != "request_failed" or event["kind"] in kept) and event.get("total_tokens", 0) is not None
    ]
    usage = dataclasses.replace(trial.usage, cost_usd=None, cached_requests=0)
    return trial.status, trial.outcome, trial.turns, usage, events


@pytest.mark.filterwarnings("ignore::UserWarning:pydantic")
@pytest.mark.parametrize("script", WORKFLOWS.values(), ids=WORKFLOWS)
def test_every_outcome_is_replayed_as_it_was(play, server, agent, cache, replay, monkeypatch, script):
    first = play(*script, player=agent(cache=cache))
    assert first.status == "completed"
    sent = len(server.requests)
    monkeypatch.delenv("OPENAI_API_KEY")
    second = play(player=agent(cache=replay))
    assert shown(second) == shown(first)
    assert second.usage.cached_requests == second.usage.requests
    assert second.usage.cost_usd == (0.0 if second.usage.requests else None)
    assert len(server.requests) == sent


NO_TEMPERATURE = fail(400, "Unsupported parameter: 'temperature' is not supported with this model.")


@pytest.mark.filterwarnings("ignore:episem")
def test_an_argument_that_the_model_refuses_is_left_out_in_the_replay_too(play, server, agent, cache, replay):
    first = play(NO_TEMPERATURE, READ, STOP, player=agent("openai/cold", cache=cache))
    second = play(player=agent("openai/cold", cache=replay))
    assert shown(second) == shown(first)
    assert [event["left_out"] for event in second.events if event["event"] == "request"] == [["temperature"]] * 2
    hidden = Condition(TASK, "safe", "se", ("payment-amount",))
    third = play(STOP, player=agent("openai/cold", cache=cache), condition=hidden)
    assert third.usage.cached_requests == 1
    assert ["temperature" in request.body for request in server.requests] == [True, False, False, False]


@pytest.mark.filterwarnings("ignore:episem")
def test_a_request_is_the_same_before_and_after_an_argument_was_refused(play, server, agent, cache):
    player = agent("openai/cold-2", cache=cache)
    play(NO_TEMPERATURE, READ, STOP, player=player)
    hidden = Condition(TASK, "safe", "se", ("payment-amount",))
    assert play(STOP, player=player, condition=hidden).usage.cached_requests == 1
    assert len(server.requests) == 4


def test_the_key_is_kept_nowhere(play, server, agent, cache, entries, key, tmp_path):
    agent_with_key = agent(cache=cache, extra_headers={"X-Api": "abc"})
    play(READ, STOP, player=agent_with_key)
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert len(entries()) == 2
    for file in (tmp_path / "answers").rglob("*"):
        assert file.is_dir() or key.encode() not in file.read_bytes()
        assert key not in file.name


@pytest.mark.parametrize(
    "text", ["{key}", "Authorization: Bearer abcdefghijklmnopqrstuvwx", "sk-proj-abcdefghijklmnop12"]
)
def test_an_answer_that_holds_a_secret_is_not_kept(play, server, agent, cache, entries, key, text):
    with pytest.warns(UserWarning, match="looks like a secret"):
        play(say(text.format(key=key)), player=agent(cache=cache))
    assert entries() == []
    assert play(STOP, player=agent(cache=cache)).usage.cached_requests == 0


def test_words_that_begin_like_a_key_are_no_secret(play, agent, cache, entries):
    play(
        say("I am skeptically looking at the skyscraper, risk-assessment-of-suppliers.\nDisposition: stopped"),
        player=agent(cache=cache),
    )
    assert len(entries()) == 1


# What is not believed -------------------------------------------------------------------------------------------------


def with_check(entry):
    """Return the entry as one who knows the format would forge it."""
    content = {name: value for name, value in entry.items() if name != "check"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "check": hashlib.sha256(text.encode()).hexdigest()}).encode()


def changed(text, **more):
    return with_check(json.loads(text) | more)


def inside(text, **more):
    entry = json.loads(text)
    return with_check(entry | {"reply": entry["reply"] | more})


def deep(text):
    return b'{"schema":"episem.answer/1","reply":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


DAMAGE = {
    "empty": lambda text: b"",
    "half": lambda text: text[: len(text) // 2],
    "another-answer": lambda text: text.replace(b"stopped", b"escalated"),
    "no-utf8": lambda text: text.replace(b"stopped", b"\xff\xfe"),
    "a-list": lambda text: b"[1]",
    "nan": lambda text: b'{"schema": NaN}',
    "deep": deep,
    "foreign": lambda text: b'{"some": "thing"}',
    "no-check": lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "check"}).encode(),
    "another-schema": lambda text: changed(text, schema="episem.answer/2"),
    "another-request": lambda text: changed(text, key=KEY),
    "unknown-field": lambda text: changed(text, more=1),
    "unknown-field-inside": lambda text: inside(text, more=1),
    "no-answer": lambda text: inside(text, answer=None),
    "both": lambda text: inside(text, disposition="filtered"),
    "bad-disposition": lambda text: inside(text, answer=None, disposition="committed!"),
    "text-for-a-number": lambda text: inside(text, total_tokens="120"),
    "negative": lambda text: inside(text, total_tokens=-1),
    "no-list": lambda text: inside(text, left_out="temperature"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_asked_anew_and_mended(play, server, agent, cache, replay, entries, damage):
    play(STOP, player=agent(cache=cache))
    (file,) = entries()
    file.write_bytes(damage(file.read_bytes()))
    missed = play(player=agent(cache=replay))
    assert (missed.status, missed.error.kind) == ("error", "replay_miss")
    assert "damaged" in missed.error.message
    with pytest.warns(UserWarning, match="passed over") as noticed:
        assert play(STOP, player=agent(cache=cache)).usage.cached_requests == 0
    assert len(noticed) == 1
    assert len(server.requests) == 2
    assert play(player=agent(cache=replay)).outcome.disposition == "stopped"


def test_a_directory_in_place_of_an_entry_is_passed_over(play, agent, cache, entries):
    play(STOP, player=agent(cache=cache))
    (file,) = entries()
    file.unlink()
    file.mkdir()
    with pytest.warns(UserWarning, match="passed over|cannot be kept") as noticed:
        assert play(STOP, player=agent(cache=cache)).outcome.disposition == "stopped"
    assert len(noticed) == 2


def test_many_damaged_entries_are_one_notice(play, agent, cache, entries):
    play(READ, STOP, player=agent(cache=cache))
    for file in entries():
        file.write_bytes(b"x")
    with pytest.warns(UserWarning, match="passed over") as noticed:
        play(READ, STOP, player=agent(cache=cache))
    assert len(noticed) == 1


def test_an_entry_beyond_the_limit_is_not_read(tmp_path, monkeypatch):
    store = AnswerStore(tmp_path)
    store.write(KEY, "m", REPLY)
    assert store.read(KEY) == REPLY
    monkeypatch.setattr(answer_store, "LARGEST", 50)
    with pytest.raises(Damaged, match="too large"):
        store.read(KEY)


def test_a_reply_comes_back_as_it_was_kept(tmp_path):
    calls = (Call("look", {"a": [1, 2.5, None, "é"]}, "c1"), Call("", None, "c2"), Call("x", "not json {", "\\ud800"))
    message = {"role": "assistant", "content": None, "thinking_blocks": [{"signature": "a/b+c="}]}
    kept = Kept(Answer(calls, "t", "r", "tool_calls", message), None, "", 1, 2, 3, None, 0.25, "m-2", ("seed", "top_p"))
    store = AnswerStore(tmp_path)
    store.write(KEY, "m", kept)
    assert store.read(KEY) == kept
    withheld = Kept(None, "filtered", "filter: no")
    store.write(KEY, "m", withheld)
    assert store.read(KEY) == withheld
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == [f"{KEY}.json"]


def test_a_write_that_fails_leaves_the_old_entry(tmp_path, monkeypatch):
    store = AnswerStore(tmp_path)
    store.write(KEY, "m", REPLY)

    def refuse(*names):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(answer_store.os, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        store.write(KEY, "m", dataclasses.replace(REPLY, total_tokens=4))
    assert store.read(KEY) == REPLY
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == [f"{KEY}.json"]


# Replay ---------------------------------------------------------------------------------------------------------------


def test_a_replay_that_misses_is_an_error_and_sends_nothing(play, server, agent, cache, replay, tmp_path):
    play(READ, STOP, player=agent(cache=cache))
    trial = play(player=agent(cache=replay), condition=Condition(TASK, "safe", "se", ("payment-amount",)))
    assert (trial.status, trial.outcome, trial.error.kind) == ("error", None, "replay_miss")
    assert "openai/scripted" in trial.error.message
    assert str(tmp_path / "answers") in trial.error.message
    assert "\n" not in trial.error.message
    assert len(server.requests) == 2
    assert play.stopped is None
    assert trial.usage.cached_requests == 1


def test_a_replay_asks_for_the_same_address(play, agent, cache, replay):
    play(STOP, player=agent(cache=cache))
    player = agent(cache=replay)
    player._sender.api_base = "http://127.0.0.1:1/v1"
    assert play(player=player).error.kind == "replay_miss"


def test_a_notice_is_no_failure_where_warnings_are_errors_either(play, agent, cache, entries):
    play(STOP, player=agent(cache=cache))
    entries()[0].write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert play(STOP, player=agent(cache=cache)).outcome.disposition == "stopped"
