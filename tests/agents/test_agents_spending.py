"""Limits of requests and of cost: what a provider counts is what may be sent, failures and workers included."""

from __future__ import annotations

import json

import pytest
from model_server import call, fail, say

from pytest_episem.agents.base import InfrastructureError
from pytest_episem.agents.spending import Spending

TASK = "finance/payment-authorization/pr-58217"
STOP = say("Disposition: stopped")
READ = say(None, [call("get_payment_request", {"request_id": "PR-58217"})])
PRICES = '--episem-model-args={"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}'
"""At 100 tokens in and 20 out a request costs 0.30 dollars."""


@pytest.fixture
def run(pytester, server, bank_folder, task_file):
    def run(*arguments):
        model = ("--episem-model=openai/scripted", f"--episem-api-base={server.url}", f"--episem-bank={bank_folder}")
        return pytester.runpytest(*model, task_file(TASK), "--episem-out=run", "-p", "no:cacheprovider", *arguments)

    return run


def trials(pytester):
    return [json.loads(line) for line in (pytester.path / "run/trials.jsonl").read_text().splitlines()]


def test_one_count_for_all_that_share_it(tmp_path):
    first, second = (Spending(tmp_path / "spent", 3, None) for _ in range(2))
    first.take()
    second.take()
    first.take()
    for one in (second, first):
        with pytest.raises(
            InfrastructureError, match="--episem-max-requests 3 reached: 3 requests were sent"
        ) as caught:
            one.take()
        assert (caught.value.kind, caught.value.fatal) == ("limit", True)
    onlooker = Spending(tmp_path / "spent", 3, None)
    onlooker.look()
    assert (onlooker.sent, onlooker.refused) == (3, True)
    for one in (first, second):
        one.close(remove=one is second)
    assert not (tmp_path / "spent").exists()


def test_a_cost_that_another_noted_is_a_limit_here(tmp_path):
    first, second = (Spending(tmp_path / "spent", None, 0.5) for _ in range(2))
    for cost in (0.25, 0.25):
        second.take()
        second.spend(cost)
    with pytest.raises(InfrastructureError, match=r"--episem-max-cost 0.5 reached: the run has cost \$0.5000"):
        first.take()
    for one in (first, second):
        one.close(remove=True)


@pytest.mark.slow
@pytest.mark.parametrize("reply", [STOP, READ, fail(500), fail(400, "blocked", "content_filter")])
def test_no_more_is_sent_than_the_limit_says_whatever_comes_back(run, server, reply):
    server.then = reply
    result = run("--episem-max-requests=5", "--episem-max-full-ucr=5", "--episem-concurrency=4")
    assert len(server.requests) == 5
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["episem gate: FAILED*--episem-max-requests 5 reached: 5 requests were sent*"])


@pytest.mark.slow
def test_workers_share_the_limit_and_lose_no_answer(run, server, pytester):
    server.then = STOP
    result = run("--episem-max-requests=5", "-n2", "--dist=load")
    assert len(server.requests) == 5
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert [trial["status"] for trial in trials(pytester)] == ["completed"] * 5


def test_a_limit_that_the_last_request_reaches_stops_nothing(run, server):
    server.then = STOP
    result = run("--episem-setting=full", "--episem-max-requests=2", "--episem-max-full-ucr=5")
    assert (result.ret, len(server.requests)) == (pytest.ExitCode.OK, 2)


def test_a_cost_is_limited_by_prices_that_were_given(run, server):
    server.then = STOP
    result = run("--episem-max-cost=0.5", "--episem-concurrency=1", PRICES)
    assert len(server.requests) == 2
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*--episem-max-cost 0.5 reached: the run has cost $0.6000*"])
    assert "input_cost_per_token" not in server.requests[0].body


def test_a_cost_of_an_unlisted_model_cannot_be_limited(run, server):
    result = run("--episem-max-cost=0.5")
    assert (result.ret, server.requests) == (pytest.ExitCode.USAGE_ERROR, [])
    result.stderr.fnmatch_lines(["*--episem-max-cost needs prices, and litellm's list has none for openai/scripted*"])


OWN_TEST = """
    def test_agent(episem_rollout, episem_oracle):
        episem_oracle.check(episem_rollout)
"""


@pytest.mark.parametrize(
    "option", ["--setup-only", "--setup-plan", "--collect-only", "--fixtures", "--episem-estimate"]
)
@pytest.mark.parametrize("own", [False, True])
def test_who_only_looks_sends_nothing(run, server, pytester, option, own):
    if own:
        pytester.makepyfile(test_own=OWN_TEST)
    result = run(option, "--episem-setting=full")
    assert (result.ret, server.requests) == (pytest.ExitCode.OK, [])
    assert not (pytester.path / "run").exists()
    result.stdout.no_fnmatch_line("*have no record*")
