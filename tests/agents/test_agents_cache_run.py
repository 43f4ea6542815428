"""Whole pytest runs with ``--episem-cache`` and ``--episem-replay``: the options, the records, the summaries."""

from __future__ import annotations

import json
import re

import pytest
from careful_model import CarefulModel
from model_server import ModelServer, say

from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.runs.run_dir import open_run

TASK = "finance/payment-authorization/pr-58217"
ASKED, SENT = 81, 46
"""Requests of the pair, and of them the different ones; worked by hand in test_agents_cache.py."""


@pytest.fixture
def run(pytester: pytest.Pytester, server: ModelServer, bank, bank_folder):
    """Run pytest on the one pair against the careful model; return the result and the records by their key."""
    model = CarefulModel(bank.tasks.values())

    def answer(body):
        text, calls = model(body)
        return say(text, calls or None)

    server.then = answer

    def run(out: str, *options: str, alone: bool = False):
        start = pytester.runpytest_subprocess if alone else pytester.runpytest_inprocess
        place = "resume" if "--episem-resume" in options else "out"
        options = tuple(option for option in options if option != "--episem-resume")
        where = (f"--episem-api-base={server.url}", f"--episem-bank={bank_folder}", f"--episem-{place}={out}")
        result = start("--episem-model=openai/scripted", *where, "-k", "pr-58217", *options)
        file = pytester.path / out / "trials.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return result, [json.loads(line) for line in lines]

    return run


def usage(trials, name):
    return sum(trial["usage"][name] or 0 for trial in trials)


def compared(trials):
    """What a replay must give again, by condition."""
    return {
        (trial["world"], trial["setting"], *trial["mask"], trial["repeat"]): {
            "verdict": (trial["status"], trial["phase"], trial["outcome"], trial["turns"]),
            "usage": {
                name: count for name, count in trial["usage"].items() if name not in ("cost_usd", "cached_requests")
            },
            "events": [event for event in trial["events"] if not event["event"].startswith("request")],
        }
        for trial in trials
    }


def tables(directory):
    """Return every number of the run's report but for what speaks of the run itself and of what it spent."""
    summary = summarize(open_run(directory))
    return summary.six, {name: summary.usage[name] for name in ("requests", "total_tokens", "unknown_tokens")}


@pytest.mark.slow
def test_without_the_option_every_request_is_sent(run, server, pytester):
    result, trials = run("out")
    assert result.ret == 0
    assert len(server.requests) == usage(trials, "requests") == ASKED
    assert usage(trials, "cached_requests") == 0
    assert "from the cache" not in result.stdout.str() + (pytester.path / "out" / "report.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n2", "--dist=load")], ids=["alone", "two-workers"])
def test_a_run_sends_each_request_once_whoever_runs_it(run, server, pytester, workers):
    result, trials = run("out", "--episem-cache=answers", *workers, alone=bool(workers))
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 15
    assert len(server.requests) == SENT
    assert usage(trials, "requests") - usage(trials, "cached_requests") == SENT
    assert len(list((pytester.path / "answers").glob("??/*.json"))) == SENT
    if "--dist=load" not in workers:  # which may run a condition in both workers
        words = f"{ASKED} requests ({ASKED - SENT} from the cache, 43 % saved)"
        assert words in result.stdout.str()
        for file in ("report.md", "report.html"):
            assert words in (pytester.path / "out" / file).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_replay_gives_the_same_records_and_sends_nothing(run, server, pytester, monkeypatch):
    pytester.makeconftest("""
        import sys
        def pytest_sessionfinish():
            print("litellm was imported:", "litellm" in sys.modules)
    """)
    _, first = run("one", "--episem-cache=answers")
    del server.requests[:]
    monkeypatch.delenv("OPENAI_API_KEY")
    result, second = run("two", "--episem-cache=answers", "--episem-replay", "-n2", "-s", alone=True)
    assert result.ret == 0
    assert server.requests == []
    assert "litellm was imported: False" in result.stdout.str()
    assert "litellm was imported: True" not in result.stdout.str()
    assert len(second) == 15
    assert compared(second) == compared(first)
    assert tables(pytester.path / "one") == tables(pytester.path / "two")
    assert usage(second, "cached_requests") == ASKED
    assert {trial["usage"]["cost_usd"] for trial in second} == {0.0}
    assert f"{ASKED} requests ({ASKED} from the cache, 100 % saved)" in result.stdout.str()


def test_each_repeat_is_sent(run, server):
    """Under full a rollout takes five requests; the worlds share the first three, before the limit has been read."""
    _, trials = run("out", "--episem-cache=answers", "--episem-repeats=2", "--episem-setting=full")
    assert usage(trials, "requests") == 2 * 2 * 5
    assert len(server.requests) == 2 * (3 + 2 * 2)


def test_a_replay_fails_where_the_cache_has_nothing(run, server):
    run("one", "--episem-cache=answers", "--episem-setting=full")
    del server.requests[:]
    result, trials = run("two", "--episem-cache=answers", "--episem-replay", "--episem-setting=re")
    assert result.ret == 1
    assert result.parseoutcomes()["errors"] == 6
    assert {trial["error"]["kind"] for trial in trials} == {"replay_miss"}
    assert server.requests == []
    result.stdout.fnmatch_lines(["*answers holds no answer*a replay needs the model*"])


@pytest.mark.slow
def test_a_second_run_is_free_and_the_limits_count_what_is_sent(run, server):
    prices = '--episem-model-args={"input_cost_per_token": 0.001, "output_cost_per_token": 0.001}'
    run("one", "--episem-cache=answers", prices)
    del server.requests[:]
    result, trials = run("two", "--episem-cache=answers", "--episem-max-requests=1", "--episem-max-cost=0.01", prices)
    assert result.ret == 0
    assert len(trials) == 15
    assert server.requests == []


def test_a_resumed_run_takes_what_is_there(run, server, pytester):
    run("one", "--episem-cache=answers", "--episem-setting=full")
    file = pytester.path / "one" / "trials.jsonl"
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    del server.requests[:]
    result, trials = run("one", "--episem-resume", "--episem-cache=answers", "--episem-setting=full")
    assert result.ret == 0
    assert [trial["usage"]["cached_requests"] for trial in trials[1:]] == [5]
    assert server.requests == []


def test_the_ini_file_may_name_the_cache(run, server, pytester):
    pytester.makeini("[pytest]\nepisem_cache = answers\n")
    run("one", "--episem-setting=full")
    assert (pytester.path / "answers").is_dir()
    assert pytester.runpytest_inprocess("--episem-model=episem/careful", "-k", "no-such-item").ret == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--episem-replay",), "add --episem-cache DIR"),
        (("--episem-replay", "--episem-cache=nowhere"), "--episem-replay: *nowhere holds no answers"),
        (("--episem-cache=file",), "--episem-cache *file: *file is not a directory"),
        (("--episem-cache=file/below",), "--episem-cache *below: *file is not a directory"),
    ],
)
def test_a_wrong_option_is_one_line(run, server, pytester, options, words):
    (pytester.path / "file").write_text("")
    result, trials = run("out", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{words}*"])
    assert trials == []
    assert server.requests == []


@pytest.mark.parametrize("agent", ["--episem-model=episem/careful", "--episem-agent=os:getcwd"])
@pytest.mark.parametrize("option", [("--episem-cache=answers",), ("--episem-cache=answers", "--episem-replay")])
def test_an_agent_that_is_no_model_has_no_cache(pytester, agent, option):
    result = pytester.runpytest_inprocess(agent, *option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --episem-* is for a model given with --episem-model*"])
    assert not (pytester.path / "answers").exists()


def test_the_estimate_says_what_it_leaves_out(run, server):
    result, _ = run("out", "--episem-estimate", "--episem-cache=answers")
    result.stdout.fnmatch_lines(["*cache *not counted*"])
    assert not re.search("cache ", run("out", "--episem-estimate")[0].stdout.str())
    assert server.requests == []
