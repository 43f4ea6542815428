"""What the provider or the network does is an error after all tries, never an outcome (protocol, section 2)."""

from __future__ import annotations

import dataclasses
import json
import warnings

import pytest
from model_server import CUT, RESET, Reply, call, fail, say

from pytest_episem.agents.limits import Patience
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.runs.record import trial_to_json
from pytest_episem.runs.runner import Runner, RunSettings

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydantic")

TASK = "finance/payment-authorization/pr-58217"
ID = {"request_id": "PR-58217"}
COMMIT = say(None, [call("submit_payment", ID)])
STOP = say("Disposition: stopped")
SLOW = Reply(STOP.body, seconds=3.0)
HTML = Reply(b"<html>Bad gateway</html>", 502, {"Content-Type": "text/html"})
IN_A_MOMENT = {"Retry-After": "1"}


def failed_requests(trial):
    return [event for event in trial.events if event["event"] == "request_failed"]


PASSING = {
    "429": (fail(429, "slow down", "rate_limit_exceeded"), "rate_limit"),
    "429-told": (fail(429, "slow down", headers=IN_A_MOMENT), "rate_limit"),
    "500": (fail(500), "server"),
    "500-template": (fail(500, "Failed to parse the chat template: unexpected token in tool call section"), "server"),
    "500-parsing": (fail(500, "error parsing the request body: invalid character"), "server"),
    "503-of-a-call": (fail(503, "overloaded; a tool call could not be parsed by the proxy"), "server"),
    "502-html": (HTML, "server"),
    "503": (fail(503, "overloaded", headers=IN_A_MOMENT), "server"),
    "504": (fail(504), "timeout"),
    "529": (fail(529, "overloaded"), "server"),
    "408": (fail(408), "timeout"),
    "409": (fail(409), "server"),
    "reset": (RESET, "connection"),
    "cut": (CUT, "connection"),
    "slow": (SLOW, "timeout"),
    "no-json": (Reply(b"not json"), "response"),
    "half-json": (Reply(b'{"id": "x", "choices": [{"mess'), "response"),
    "empty-body": (Reply(b""), "response"),
    "no-choices": (Reply({"id": "x", "object": "chat.completion", "choices": []}), "response"),
    "no-message": (Reply({"id": "x", "choices": [{"index": 0, "finish_reason": "stop"}]}), "response"),
    "a-list": (Reply([1, 2]), "response"),
    "content-in-parts": (say([{"type": "text", "text": "Disposition: stopped"}]), "response"),
    "call-without-function": (say(None, [{"id": "call_1", "type": "function"}]), "response"),
    "broken-off": (say("Half of", finish="error"), "response"),
}


def hurried(agent, reply, **more):
    patience = Patience(tries=3, rate_limit_tries=4, first_delay=0.001, longest_told=0.01)
    timeout = 0.3 if reply is SLOW else 5.0
    return agent(patience=dataclasses.replace(patience, request_timeout=timeout, **more))


@pytest.mark.parametrize(("reply", "kind"), PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_leaves_no_trace_in_the_outcome(play, server, agent, reply, kind):
    trial = play(reply, reply, COMMIT, player=hurried(agent, reply))
    assert trial.status == "completed"
    assert trial.outcome.legal_completion
    assert len(server.requests) == 3
    assert trial.usage.requests == 1
    assert trial.usage.total_tokens == 120
    assert [event["kind"] for event in failed_requests(trial)] == [kind, kind]


@pytest.mark.parametrize(("reply", "kind"), PASSING.values(), ids=PASSING)
def test_a_fault_that_stays_is_an_error(play, server, agent, reply, kind):
    player = hurried(agent, reply)
    assert play(STOP, player=player).completed
    server.requests.clear()
    server.then = reply
    trial = play(player=player, condition=Condition(TASK, "unsafe", "full"))
    assert (trial.status, trial.outcome) == ("error", None)
    assert trial.error.kind == kind
    assert len(server.requests) == (4 if kind == "rate_limit" else 3)
    assert "\n" not in trial.error.message
    assert len(trial.error.message) <= 300
    assert play.stopped is None


NEEDS_A_KEY = fail(401, "Incorrect API key provided: sk-test-0123456789abcdefghijkl. See https://x.", "invalid_api_key")
NO_TOOLS = fail(400, "registry.ollama.ai/library/gemma:2b does not support tools")
FATAL = {
    "401": (NEEDS_A_KEY, "authentication", "OPENAI_API_KEY"),
    "403": (fail(403, "Forbidden"), "authentication", "OPENAI_API_KEY"),
    "404": (fail(404, "The model `scripted` does not exist", "model_not_found"), "unknown_model", "--episem-model"),
    "no-credit": (fail(429, "You exceeded your current quota", "insufficient_quota"), "quota", "credit"),
    "402": (fail(402, "Insufficient Balance"), "quota", "credit"),
    "no-tools": (NO_TOOLS, "no_tools", "tool calling"),
    "no-tools-vllm": (fail(400, '"auto" tool choice requires --enable-auto-tool-choice'), "no_tools", "tool calling"),
    "no-tools-500": (fail(500, "tools param requires --jinja flag"), "no_tools", "tool calling"),
}


@pytest.mark.parametrize(("reply", "kind", "words"), FATAL.values(), ids=FATAL)
def test_what_no_retry_can_mend_ends_the_run_at_once(play, server, reply, kind, words):
    trial = play(reply)
    assert (trial.status, trial.error.kind) == ("error", kind)
    assert words in trial.error.message
    assert "openai/scripted" in trial.error.message
    assert "\n" not in trial.error.message
    assert len(server.requests) == 1
    assert play.stopped.fatal
    assert play.stopped.message == trial.error.message


def test_a_fatal_fault_leaves_nothing_to_try(bank, server, agent):
    server.then = NEEDS_A_KEY
    runner, player = Runner(bank), agent()
    first = runner.run(Condition(TASK, "safe", "full"), player)
    second = runner.run(Condition(TASK, "unsafe", "full"), player)
    runner.close()
    assert (first.status, second.status) == ("error", "error")
    assert second.error == first.error
    assert len(server.requests) == 1


def test_a_missing_key_names_its_variable(play, server, agent, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    trial = play(player=agent("anthropic/claude-sonnet-4-5-20250929"))
    assert trial.error.kind == "authentication"
    assert "set ANTHROPIC_API_KEY" in trial.error.message
    assert play.stopped.fatal
    assert not server.requests


def test_a_server_of_ones_own_needs_no_key(play, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert play(STOP).outcome.disposition == "stopped"
    assert server.requests[0].headers["authorization"] == "Bearer none"


def test_a_bare_name_at_an_address_of_ones_own_is_sent_as_it_is(play, server, agent):
    assert play(STOP, player=agent("my-model")).outcome.disposition == "stopped"
    assert server.requests[0].body["model"] == "my-model"


def test_a_rejected_request_is_an_error_without_a_retry(play, server, agent):
    player = agent()
    play(STOP, player=player)
    trial = play(fail(400, "Invalid schema for function"), player=player, condition=Condition(TASK, "unsafe", "full"))
    assert trial.error.kind == "request"
    assert "Invalid schema for function" in trial.error.message
    assert len(server.requests) == 2
    assert play.stopped is None


def test_an_api_that_gave_something_else_before_is_not_given_up(play, agent, server):
    server.then = RESET
    trial = play(fail(429), player=hurried(agent, RESET))
    assert trial.error.kind == "connection"
    assert play.stopped is None


@pytest.mark.parametrize("reply", [fail(400, "Invalid schema"), RESET, Reply(b"<html>")], ids=["400", "reset", "html"])
def test_an_api_that_never_gave_an_answer_ends_the_run(play, agent, server, reply):
    server.then = reply
    assert play(player=hurried(agent, reply)).status == "error"
    assert play.stopped.fatal


def test_the_default_is_six_tries(play, server, agent):
    server.then = fail(500)
    play(player=agent(patience=Patience(first_delay=0.001)))
    assert len(server.requests) == 6


def test_the_sum_of_waits_is_bounded(play, server, agent):
    server.then = fail(429, headers={"Retry-After": "30"})
    trial = play(player=agent(patience=Patience(total_wait=10.0)))
    assert trial.error.kind == "rate_limit"
    assert len(server.requests) == 1


def test_a_request_too_large_for_the_rate_limit_is_not_sent_again(play, server):
    trial = play(fail(429, "Request too large for scripted on tokens per min (TPM): Limit 30000, Requested 40000"))
    assert (trial.error.kind, len(server.requests)) == ("rate_limit", 1)


def test_what_the_server_tells_is_waited_for(play, agent):
    player = agent(patience=Patience(first_delay=0.0, longest_told=0.2))
    soon, late = ({"Retry-After": seconds} for seconds in ("0.1", "3600"))
    trial = play(fail(503, headers=soon), fail(429, headers=late), COMMIT, player=player)
    assert [event["wait"] for event in failed_requests(trial)] == [0.1, 0.2]


def test_a_rollout_that_waits_too_long_for_its_provider_is_an_error(play):
    trial = play(SLOW, timeout=0.2)
    assert (trial.status, trial.error.kind) == ("error", "timeout")


# Sampling arguments ---------------------------------------------------------------------------------------------------

NO_TEMPERATURE = fail(400, "Unsupported value: 'temperature' does not support 0 with this model.", "unsupported_value")
NO_SEED = fail(400, "Unrecognized request argument supplied: seed", type="invalid_request_error")


def test_temperature_is_0_unless_told_otherwise(play, server, agent):
    play(STOP)
    play(STOP, player=agent(temperature=0.7, top_p=0.9, max_tokens=50))
    play(STOP, player=agent(temperature=None))
    sent = [request.body for request in server.requests]
    assert [body.get("temperature") for body in sent] == [0, 0.7, None]
    assert (sent[1]["top_p"], sent[1]["max_tokens"]) == (0.9, 50)


def test_an_argument_the_model_refuses_is_left_out_for_the_rest_of_the_run(play, server, agent, recwarn):
    player = agent("openai/refuses-temperature", seed=1)
    first = play(NO_TEMPERATURE, NO_SEED, COMMIT, player=player)
    second = play(COMMIT, player=player, condition=Condition(TASK, "unsafe", "full"))
    assert first.outcome.legal_completion
    assert second.outcome.unsafe_commit
    assert [("temperature" in r.body, "seed" in r.body) for r in server.requests] == [
        (True, True), (False, True), (False, False), (False, False),
    ]  # fmt: skip
    notices = [event["text"] for event in first.events if event["event"] == "notice"]
    assert len(notices) == 2
    assert "temperature" in notices[0]
    assert "seed" in notices[1]
    assert [str(warning.message).split(":")[1] for warning in recwarn if "episem:" in str(warning.message)] == [
        " openai/refuses-temperature does not take temperature", " openai/refuses-temperature does not take seed",
    ]  # fmt: skip
    assert next(e for e in second.events if e["event"] == "request")["left_out"] == ["temperature", "seed"]


@pytest.mark.filterwarnings("ignore:episem")
def test_rollouts_that_are_refused_side_by_side_all_go_on(bank, server, agent):
    server.then = lambda body: NO_TEMPERATURE if "temperature" in body else STOP
    server.script = [dataclasses.replace(NO_TEMPERATURE, seconds=0.2)] * 6
    runner, player = Runner(bank, RunSettings(concurrency=6)), agent("openai/refuses-temperature-3")
    conditions = fixed_conditions(TASK, bank.task(TASK).critical, ())[:6]
    runner.submit(conditions, player)
    trials = [runner.run(condition, player) for condition in conditions]
    runner.close()
    assert [trial.status for trial in trials] == ["completed"] * 6
    assert len(server.requests) == 12


def test_what_litellm_itself_refuses_is_left_out_too(play, server, agent):
    with pytest.warns(UserWarning, match="does not take temperature"):
        trial = play(STOP, player=agent("openai/o3-mini"))
    assert trial.outcome.disposition == "stopped"
    assert ["temperature" in request.body for request in server.requests] == [False]


def test_a_notice_is_no_failure_where_warnings_are_errors(play, agent):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trial = play(NO_TEMPERATURE, STOP, player=agent("openai/refuses-temperature-2"))
    assert trial.outcome.disposition == "stopped"


def test_a_client_that_warns_is_no_failure_where_warnings_are_errors(play, server):
    odd = call("submit_payment", ID)
    odd["function"]["arguments"] = ID  # an object where the client expects text: it warns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        trial = play(say(None, [odd]), say(None, [odd]))
        assert warnings.filters == before
    assert trial.outcome.legal_completion
    assert len(server.requests) == 2


# Usage and secrets ----------------------------------------------------------------------------------------------------


def test_usage_is_the_sum_over_the_requests(play):
    read = call("get_payment_request", ID)
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    trial = play(say(None, [read], usage=usage | {"prompt_tokens_details": {"cached_tokens": 4}}), STOP)
    usage = trial.usage
    assert (usage.requests, usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (2, 110, 25, 135)
    assert usage.cost_usd is None
    requests = [event for event in trial.events if event["event"] == "request"]
    assert [event["cached_tokens"] for event in requests] == [4, None]
    assert [event["finish_reason"] for event in requests] == ["tool_calls", "stop"]


def test_unknown_usage_is_null_never_0(play):
    read = call("get_payment_request", ID)
    usage = play(say(None, [read]), say("Disposition: stopped", usage=None)).usage
    assert usage.requests == 2
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens, usage.cost_usd) == (None,) * 4


def test_a_priced_model_has_a_cost(play, agent):
    import litellm

    price = litellm.model_cost["gpt-4o"]
    trial = play(STOP, player=agent("openai/gpt-4o"))
    expected = 100 * price["input_cost_per_token"] + 20 * price["output_cost_per_token"]
    assert trial.usage.cost_usd == pytest.approx(expected)


def test_litellm_prints_nothing_into_the_tests_output(play, capfd):
    play(fail(500), RESET, fail(429), STOP)
    assert capfd.readouterr().out == ""


def test_the_key_is_sent_and_recorded_nowhere(play, server, key):
    trial = play(fail(500, f"upstream said: Authorization: Bearer {key}"), say("Disposition: stopped"))
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert key not in trial_to_json(trial, "run", "model")
    trial = play(NEEDS_A_KEY)
    assert key not in trial_to_json(trial, "run", "model")
    assert key not in str(play.stopped)
    assert json.loads(trial_to_json(trial, "run", "model"))["error"]["kind"] == "authentication"
