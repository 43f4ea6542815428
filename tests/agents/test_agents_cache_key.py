"""What is in the key of a request, and what is not: meaning, not transport."""

from __future__ import annotations

import copy
import json

import pytest

from pytest_episem.agents.answer_key import address_of, request_key

ADDRESS = ("https://api.example/v1",)
ARGUMENTS = {"temperature": 0, "top_p": 0.9}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Look.", "parameters": {"type": "object"}}}
    for name in ("look", "pay")
]


def called(*ids, arguments='{"a": 1, "b": [2.5, "x"]}'):
    calls = [{"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}} for id in ids]
    seen = [{"role": "tool", "tool_call_id": id, "content": f'{{"seen": {n}}}'} for n, id in enumerate(ids)]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *seen]


MESSAGES = [{"role": "system", "content": "Act."}, {"role": "user", "content": "Pay."}, *called("c1", "c2")]


def key(model="openai/m", address=ADDRESS, arguments=ARGUMENTS, messages=MESSAGES, tools=TOOLS, repeat=0):
    return request_key(model, address, arguments, messages, tools, repeat)


def turned(value):
    """Return the value with the keys of every object the other way round."""
    if isinstance(value, dict):
        return {name: turned(item) for name, item in reversed(value.items())}
    return [turned(item) for item in value] if isinstance(value, list) else value


OPENING = MESSAGES[:2]
SAME = {
    "order-of-keys": {"messages": turned(MESSAGES), "tools": turned(TOOLS), "arguments": turned(ARGUMENTS)},
    "other-call-ids": {"messages": [*OPENING, *called("zz", "c1")]},
    "spacing-of-a-calls-arguments": {"messages": [*OPENING, *called("c1", "c2", arguments='{"b":[2.5,"x"],"a":1}')]},
    "zero": {"arguments": {"temperature": 0.0, "top_p": 0.9}},
    "time-limit": {"arguments": ARGUMENTS | {"timeout": 5, "num_retries": 3}},
    "key-and-headers": {"arguments": ARGUMENTS | {"api_key": "sk-1", "extra_headers": {"x-trace": "17"}}},
    "who-asks": {"arguments": ARGUMENTS | {"user": "me", "organization": "us", "metadata": {"run": "7"}}},
}
OTHER = {
    "model": {"model": "openai/n"},
    "address": {"address": ("https://other.example/v1",)},
    "no-address": {"address": ()},
    "temperature": {"arguments": {"temperature": 0.5, "top_p": 0.9}},
    "fewer-arguments": {"arguments": {"temperature": 0}},
    "more-arguments": {"arguments": ARGUMENTS | {"seed": 1}},
    "beta-header": {"arguments": ARGUMENTS | {"extra_headers": {"Anthropic-Beta": "long-thoughts"}}},
    "instruction": {"messages": [{"role": "system", "content": "Act!"}, *MESSAGES[1:]]},
    "shorter-conversation": {"messages": MESSAGES[:-1]},
    "values-of-a-call": {"messages": [*OPENING, *called("c1", "c2", arguments='{"a": 2, "b": [2.5, "x"]}')]},
    "an-observation-of-another-call": {
        "messages": [*MESSAGES[:3], {**MESSAGES[3], "tool_call_id": "c2"}, {**MESSAGES[4], "tool_call_id": "c1"}]
    },
    "one-tool-less": {"tools": TOOLS[:1]},
    "order-of-tools": {"tools": TOOLS[::-1]},
    "repeat": {"repeat": 1},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_transport_and_spelling_are_no_meaning(change):
    assert key(**change) == key()


@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_whatever_the_model_is_given_is_meaning(change):
    assert key(**change) != key()


def test_no_two_of_them_are_one():
    keys = [key(), *(key(**change) for change in OTHER.values())]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', "[1]", '{"a": 1}{"a": 1}', "{"])
def test_arguments_that_are_not_one_object_stay_text(text):
    last = {"a": 2} if "2" in text else {"a": 1}
    texts = [text, f"{text} ", json.dumps(last)]
    assert len({key(messages=[*OPENING, *called("c1", arguments=one)]) for one in texts}) == 3


def test_an_id_used_in_two_answers_is_two_calls():
    """Some servers number the calls of every answer anew, others go on counting: the conversation is the same."""
    anew = [*OPENING, *called("c1"), *called("c1")]
    counting = [*OPENING, *called("c1"), *called("c2")]
    assert key(messages=anew) == key(messages=counting)


def test_the_request_itself_stays_as_it_is():
    before = copy.deepcopy(MESSAGES)
    key()
    assert before == MESSAGES


@pytest.mark.parametrize("odd", [{"x": object()}, {"x": float("nan")}, {"x": {1: 2, "1": 3}}])
def test_a_request_that_is_no_json_has_no_key(odd):
    assert key(arguments=odd) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example/v1",
        "https://api.example/v1/",
        "https://API.example:443/v1",
        "https://me:secret@api.example/v1",
        "https://api.example/v1?api-key=secret",
    ],
)
def test_an_address_is_scheme_host_port_and_path(url):
    assert address_of("openai/m", url, {}) == ADDRESS


def test_an_address_may_come_from_the_environment():
    found = {
        "OPENAI_BASE_URL": "http://127.0.0.1:8000/v1",
        "MISTRAL_API_BASE": "https://x.example",
        "OPENAI_API_BASE": "",
    }
    assert address_of("openai/m", None, found) == ("http://127.0.0.1:8000/v1",)
    assert address_of("gpt-4o", None, found) == ("http://127.0.0.1:8000/v1",)
    assert address_of("openai/m", "https://api.example/v1", found) == ADDRESS
    assert address_of("anthropic/m", None, found) == ()


@pytest.mark.parametrize("url", ["http://[::1", "http://x:port/"])
def test_an_address_that_is_none_still_tells_two_apart(url):
    assert address_of("openai/m", url, {}) != address_of("openai/m", f"{url}/2", {})
    assert url not in address_of("openai/m", url, {})[0]
