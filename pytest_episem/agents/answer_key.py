"""What a request means, as one hash: two requests with the same key may be given the same answer.

In the key: the model's name, the address it is asked at, sampling arguments, messages, tools and the repeat. Not in
it, because the model never sees it: keys and passwords, time limits, retries, headers (but for those that switch on
what is in beta), who pays. Made equal: the order of an object's keys, ``0`` and ``0.0`` as an argument, the ids of
tool calls, which providers draw at random, and the spacing of a call's arguments.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pytest_episem.agents.model_options import provider_of

VERSION = 1
"""Of the key; another one finds nothing that this one stored."""
_TRANSPORT = {
    "timeout", "request_timeout", "stream_timeout", "num_retries", "max_retries", "api_key", "api_version",
    "organization", "user", "metadata",
}  # fmt: skip
_HEADERS = {"headers", "extra_headers", "default_headers"}
_PORTS = {"http": 80, "https": 443}


def request_key(
    model: str,
    address: Sequence[str],
    arguments: Mapping[str, Any],
    messages: Iterable[Mapping[str, Any]],
    tools: Iterable[Mapping[str, Any]],
    repeat: int,
) -> str | None:
    """Return the key of a request, 64 hexadecimal digits; ``None`` for one that cannot be written as JSON.

    Args:
        model: litellm's name of the model.
        address: where it is asked, as :func:`address_of` says.
        arguments: sampling arguments as the user wants them, also those that the model turns out to refuse.
        messages: the conversation so far.
        tools: the tools in their order.
        repeat: which rollout of its condition asks.
    """
    meaning = {
        "version": VERSION,
        "model": model,
        "address": list(address),
        "arguments": _sampling(arguments),
        "messages": _without_ids(messages),
        "tools": list(tools),
        "repeat": repeat,
    }
    try:
        text = canonical(meaning)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(value: Any) -> str:
    """Return a JSON value as the one ASCII text that stands for it, whatever the order of its keys.

    Raises:
        TypeError, ValueError, RecursionError: it is no JSON value.
    """
    return json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))


def address_of(model: str, api_base: str | None, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return where a model is asked: ``api_base``, else what the environment names for its provider; without secrets.

    Empty is the provider's own address.
    """
    if api_base:
        return (_public(api_base),)
    prefix = provider_of(model).upper().replace("-", "_")
    names = (f"{prefix}_API_BASE", f"{prefix}_BASE_URL") if prefix else ()
    return tuple(_public(environment[name]) for name in names if environment.get(name))


def _public(url: str) -> str:
    """Return scheme, host, port and path: what else a URL may hold is a secret or says nothing of the model."""
    try:
        parts = urlsplit(url)
        scheme, port = parts.scheme.lower(), parts.port
    except ValueError:
        return hashlib.sha256(url.encode("utf-8", "backslashreplace")).hexdigest()
    shown = "" if port is None or port == _PORTS.get(scheme) else f":{port}"
    return f"{scheme}://{(parts.hostname or '').lower()}{shown}{parts.path.rstrip('/')}"


def _sampling(arguments: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: _number(value) for name, value in arguments.items() if name not in _TRANSPORT | _HEADERS}
    given = [arguments[name] for name in _HEADERS if isinstance(arguments.get(name), Mapping)]
    beta = sorted(
        (str(name).lower(), value)
        for headers in given
        for name, value in headers.items()
        if str(name).lower().endswith("-beta")
    )
    return {**kept, **({"beta": beta} if beta else {})}


def _number(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _number(item) for name, item in value.items()}
    return [_number(item) for item in value] if isinstance(value, list) else value


def _without_ids(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with each call named by its place instead of its id."""
    plain: list[dict[str, Any]] = []
    names: dict[Any, str] = {}
    for place, message in enumerate(messages):
        shown = dict(message)
        if message.get("tool_calls"):
            calls = [dict(call) for call in message["tool_calls"]]
            names = {call.get("id"): f"{place}.{position}" for position, call in enumerate(calls)}
            shown["tool_calls"] = [_plain_call(call, names) for call in calls]
        if "tool_call_id" in message:
            shown["tool_call_id"] = names.get(message["tool_call_id"], message["tool_call_id"])
        plain.append(shown)
    return plain


def _plain_call(call: Mapping[str, Any], names: Mapping[Any, str]) -> dict[str, Any]:
    function = dict(call.get("function") or {})
    if isinstance(function.get("arguments"), str):
        function["arguments"] = _plain_arguments(function["arguments"])
    return {**call, "id": names[call.get("id")], "function": function}


def _plain_arguments(text: str) -> Any:
    """Return the object that a call's arguments stand for; text that is not exactly one stays as it is."""
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
