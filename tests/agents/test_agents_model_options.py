"""A wrong model name, address or argument is one clear line before anything runs; litellm is not imported for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from model_server import call, fail, say

from pytest_episem.agents.model import check_model_name, checked_model_args
from pytest_episem.errors import EpisemError

TASK = "finance/payment-authorization/pr-58217"


@pytest.mark.parametrize(
    ("name", "api_base"),
    [
        ("gpt-4o", None),
        ("openai/any-model-at-all", None),
        ("azure/my-deployment", None),
        ("openrouter/vendor/model", None),
        ("ollama_chat/llama3.1", None),
        ("hosted_vllm/Qwen/Qwen3-8B", "http://127.0.0.1:8000/v1"),
        ("my-model", "http://127.0.0.1:8000/v1"),
        ("ft:gpt-4o-mini:org::id", None),
        ("claude-future-9", None),
    ],
)
def test_names_that_litellm_can_place_are_accepted(name, api_base):
    check_model_name(name, api_base)


@pytest.mark.parametrize(
    ("name", "api_base", "words"),
    [
        ("gpt-4oo", None, "unknown model 'gpt-4oo'; did you mean 'gpt-4o'?"),
        ("my-model", None, "such as openai/my-model"),
        ("opnai/gpt-4o", None, "unknown provider 'opnai'; did you mean 'openai'?"),
        ("Qwen/Qwen3-8B", "http://127.0.0.1:8000/v1", "write openai/Qwen/Qwen3-8B"),
        ("text-embedding-3-small", None, "is for embedding; expected a chat model"),
        ("", None, "is not a model name"),
        ("openai/x", "127.0.0.1:8000", "expected a URL such as http://127.0.0.1:8000/v1"),
        ("openai/x", "http://127.0.0.1:port/v1", "expected a URL"),
        ("openai/x", "https://user:pass@host/v1", "must not carry a password"),
    ],
)
def test_others_are_one_line_with_the_nearest(name, api_base, words):
    with pytest.raises(EpisemError) as caught:
        check_model_name(name, api_base)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [(None, {}), ("", {}), ('{"temperature": null}', {"temperature": None}), ('{"max_tokens": 9}', {"max_tokens": 9})],
)
def test_model_args_are_a_json_object(text, arguments):
    assert checked_model_args(text) == arguments


@pytest.mark.parametrize(
    "arguments",
    [
        {"input_cost_per_token": 0.000001, "output_cost_per_token": 2e-6},
        {"max_tokens": 9, "max_completion_tokens": 9, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"extra_body": {"stop_token_ids": [1], "eos_token": "</s>", "end_token": "<end>", "token_budget": 5}},
        {"logit_bias": {"50256": -100}, "prompt_cache_key": "episem"},
    ],
    ids=["prices", "limits", "tokens-of-text", "others"],
)
def test_a_name_that_merely_holds_the_word_token_is_no_secret(arguments):
    assert checked_model_args(json.dumps(arguments)) == arguments


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"token": "x"}', "'token' may carry a secret"),
        ('{"extra_body": {"accessToken": "x"}}', "'accessToken' may carry a secret"),
        ('{"vertex_credentials": {"private_key": "x"}}', "may carry a secret"),
        ('{"passphrase": "x"}', "'passphrase' may carry a secret"),
        ("{temperature: 0}", "not valid JSON"),
        ("[0]", "must be a JSON object"),
        ('{"temperature": NaN}', "NaN is not JSON"),
        ('{"api_key": "x"}', "environment, such as OPENAI_API_KEY"),
        ('{"extra_headers": {"Authorization": "x"}}', "'Authorization' may carry a secret"),
        ('{"extra_body": [{"aws_session_token": "x"}]}', "'aws_session_token' may carry a secret"),
        ('{"user": "sk-0123456789abcdef"}', "'user' may carry a secret"),
        ('{"tools": []}', "the protocol fixes it"),
        ('{"api_base": "x"}', "use --episem-api-base"),
        ('{"timeout": "long"}', "'timeout' must be a number of seconds above 0"),
    ],
)
def test_wrong_model_args_are_one_line(arguments, words):
    with pytest.raises(EpisemError) as caught:
        checked_model_args(arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "sk-0123456789abcdef" not in str(caught.value)


def in_a_new_process(code: str) -> dict:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_checking_a_name_does_not_import_litellm():
    code = """
import json, sys
from pytest_episem.agents.model import ModelAgent, check_model_name
check_model_name("gpt-4o")
ModelAgent("gpt-4o", {})
print(json.dumps([name in sys.modules for name in ("litellm", "openai", "httpx")]))
"""
    assert in_a_new_process(code) == [False, False, False]


@pytest.mark.slow
def test_a_rollout_goes_nowhere_but_to_its_server_and_leaves_litellms_settings_alone(server, bank_folder):
    read = say(None, [call("get_payment_request", {"request_id": "PR-58217"})])
    server.script = [fail(429), read, fail(500), say("Disposition: stopped")]
    code = f"""
import json, os, socket, sys
places = []
connect, resolve = socket.socket.connect, socket.getaddrinfo
def seen_connect(self, address):
    places.append(str(address[0]))
    return connect(self, address)
def seen_resolve(host, *more, **options):
    places.append(str(host))
    return resolve(host, *more, **options)
socket.socket.connect, socket.getaddrinfo = seen_connect, seen_resolve
from pytest_episem.agents.model import ModelAgent
from pathlib import Path
from pytest_episem.evidence.bank import load_bank
from pytest_episem.evidence.condition import Condition
from pytest_episem.runs.runner import Runner
def settings():
    plain = (bool, int, float, str, type(None))
    public = {{name: value for name, value in vars(litellm).items() if not name.startswith("_")}}
    held = {{name: value for name, value in public.items() if isinstance(value, plain)}}
    return held | {{name: len(value) for name, value in public.items() if isinstance(value, list)}}
bank = load_bank(Path({str(bank_folder)!r}))
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
before = settings()
runner = Runner(bank)
trial = runner.run(Condition({TASK!r}, "safe", "full"), ModelAgent("openai/scripted", {{}}, {server.url!r}))
runner.close()
after = settings()
changed = sorted(name for name in before | after if name in before and before[name] != after.get(name))
print(json.dumps({{"places": sorted(set(places)), "changed": changed, "disposition": trial.outcome.disposition,
    "cache": str(litellm.cache), "drop_params": litellm.drop_params}}))
"""
    found = in_a_new_process(code)
    assert found["disposition"] == "stopped"
    assert found["places"] == ["127.0.0.1"]
    assert found["changed"] == []
    assert (found["cache"], found["drop_params"]) == ("None", False)
    assert len(server.requests) == 4
