"""A model's answer in the form of OpenAI's chat completions: what it calls, says and how it goes back to the model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_episem.episode import Call, Observation
from pytest_episem.episode.episode import parsed_arguments

MALFORMED_CALL = "malformed_call"
"""Stands for the tool where the provider says that the model's call could not be read; no task has such a tool."""
_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_UNREADABLE_CALL = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"}
_BROKEN_OFF = {"error", "ERROR", "network_error", "MISSING_THOUGHT_SIGNATURE"}


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its calls in order, its text, the provider's refusal, why it ended, and the message to send back.

    ``message`` is the provider's own with all it needs again (thinking blocks, signatures), but for what no
    provider accepts in a history: missing or doubled call ids, names and arguments that are no name and no JSON
    object.
    """

    calls: tuple[Call, ...]
    text: str
    refusal: str
    finish_reason: str
    message: dict[str, Any]


def read_answer(choice: Any) -> Answer | None:
    """Return the answer in a litellm choice; ``None`` when the provider says that it broke off by itself."""
    fields = getattr(choice, "provider_specific_fields", None) or {}
    native = str(fields.get("native_finish_reason") or choice.finish_reason)
    message = _sound(choice.message.model_dump(exclude_none=True))
    text = _text(message.get("content"))
    raw = _raw_calls(message)
    if native in _BROKEN_OFF:
        return None
    if native in _UNREADABLE_CALL and not raw:
        return unreadable_call(text)
    ids = _unique_ids(raw)
    calls = tuple(Call(*_name_and_arguments(entry), id) for entry, id in zip(raw, ids, strict=True))
    if calls:
        message["tool_calls"] = [_sendable(entry, call) for entry, call in zip(raw, calls, strict=True)]
    return Answer(calls, text, str(message.get("refusal") or ""), str(choice.finish_reason), message)


def unreadable_call(text: str) -> Answer:
    """Return the answer of a model whose call the provider could not read: one call of no tool, an invalid action."""
    call = Call(MALFORMED_CALL, text, "call_malformed")
    entry = {"type": "function", "function": {"name": call.name}}
    message = {"role": "assistant", "content": None, "tool_calls": [_sendable(entry, call)]}
    return Answer((call,), "", "", "tool_calls", message)


def tool_message(observation: Observation) -> dict[str, Any]:
    """Return the message that gives an observation back to the model."""
    return {"role": "tool", "tool_call_id": observation.call.id, "content": observation.text}


def _sound(value: Any) -> Any:
    """Return ``value`` with lone surrogates escaped: a model may write them, and no request can carry them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sound(key): _sound(item) for key, item in value.items()}
    return [_sound(item) for item in value] if isinstance(value, list) else value


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _raw_calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of ``tool_calls``; the older ``function_call`` is made one of them."""
    older = message.pop("function_call", None)
    raw = [entry for entry in message.pop("tool_calls", None) or [] if isinstance(entry, dict)]
    if not raw and isinstance(older, dict):
        raw = [{"type": "function", "function": older}]
    return raw


def _unique_ids(raw: list[dict[str, Any]]) -> list[str]:
    ids: list[str] = []
    for position, entry in enumerate(raw):
        id = str(entry.get("id") or f"call_{position}")
        ids.append(id if id not in ids else f"{id}_{position}")
    return ids


def _name_and_arguments(entry: Mapping[str, Any]) -> tuple[str, Any]:
    function = entry.get("function") or entry.get("custom")
    if not isinstance(function, Mapping):
        return "", None
    return str(function.get("name") or ""), function.get("arguments")


def _sendable(entry: Mapping[str, Any], call: Call) -> dict[str, Any]:
    arguments, parsed = call.arguments, parsed_arguments(call.arguments)
    if not isinstance(parsed, dict):
        arguments = json.dumps({"unreadable_arguments": str(arguments)})
    elif not (isinstance(arguments, str) and arguments.lstrip().startswith("{")):
        arguments = json.dumps(parsed)
    name = _NAME.sub("_", call.name)[:64] or "unnamed"
    function = {"name": name, "arguments": arguments}
    kept = {key: value for key, value in entry.items() if key not in ("function", "custom", "index")}
    return {**kept, "id": call.id, "type": "function", "function": function}
