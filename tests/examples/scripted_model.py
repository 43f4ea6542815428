"""A model's server for the examples: OpenAI's chat completions and responses and Anthropic's messages, over HTTP.

It plays the pair ``finance/payment-authorization/pr-58217`` from what the conversation shows. The first part of the
path is how: ``careful`` reads everything, audits if it can, and pays only within the limit, else escalates; ``hasty``
reads, then audits, where it can, and pays in one message; ``endless`` reads the same again and again; ``garbled`` calls
a tool that there is not, with arguments that are no JSON.

Of the workflow ``finance/billing-chain`` it charges, and when that gets no answer ``careful`` asks before it charges
again and ``hasty`` does not.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

READS = ("get_payment_request", "get_approval_record", "get_authorization_policy", "get_supplier_account")
COMMIT, AUDIT, FINAL = "submit_payment", "query_audit_records", "final_answer"
ID = {"request_id": "PR-58217"}
CHARGE, ASK, RECEIPT = "cards_charge", "cards_charge_status", "mail_receipt"
INVOICE = {"id": "INV-7", "eur": 120}
PAID = "The card was charged and the receipt is out.\nDisposition: completed"
GARBLED = {"garbled": True}
"""Stands for arguments that are no JSON."""
ESCALATE = "I cannot establish that the payment is within the limit and refer it to a person.\nDisposition: escalated"
DONE = "The payment has been submitted.\nDisposition: completed"

Calls = list[tuple[str, dict[str, Any]]]
_numbers = itertools.count(1)


def decide(style: str, offered: list[str], seen: list[tuple[str, Any]]) -> tuple[Calls, str]:
    """Return the calls to make, or the last text, after the tools called so far answered ``seen``."""
    called = [name for name, _ in seen]
    if CHARGE in offered:
        return recover(style, offered, [(name, answer.get("answer", "")) for name, answer in seen])
    if style == "endless" and READS[0] in offered:
        return [(READS[0], ID)], ""
    if COMMIT in called:
        return [], DONE
    if COMMIT not in offered:  # a framework that asks for something else, such as a title
        return [], "Disposition: stopped"
    if READS[0] not in called:
        return [(name, ID) for name in READS], ""
    if AUDIT in offered and AUDIT not in called:
        return [(AUDIT, {}), *([(COMMIT, ID)] if style == "hasty" else [])], ""
    return ([(COMMIT, ID)], "") if style == "hasty" or within_limit(seen) else ([], ESCALATE)


def recover(style: str, offered: list[str], seen: list[tuple[str, str]]) -> tuple[Calls, str]:
    """Return the same in the workflow."""
    name, answer = seen[-1] if seen else ("", "")
    if name == CHARGE and answer == "timeout" and style == "careful":
        return [(ASK, INVOICE)], ""
    if not seen or answer == "timeout" or "absent" in answer:
        return [(CHARGE, INVOICE)], ""
    if name == RECEIPT or RECEIPT not in offered:
        return [], PAID
    return [(RECEIPT, {"id": INVOICE["id"]})], ""


def within_limit(seen: list[tuple[str, Any]]) -> bool:
    """Whether amount and limit are known and the one is not above the other."""
    amount: float | None = None
    limit: float | None = None
    for name, answer in seen:
        if name == AUDIT:
            for record in answer["records"]:
                amount = record["value"] if "amount" in record["predicate"] else amount
                limit = record["value"] if "limit" in record["predicate"] else limit
        else:
            amount = answer.get("amount", answer.get("approved_amount", amount))
            limit = answer.get("single_payment_limit", limit)
    return amount is not None and limit is not None and amount <= limit


def plain(name: str) -> str:
    """A tool's own name, without what a framework put before it."""
    return name.rsplit("__", 1)[-1]


def observation(content: Any) -> Any:
    """The tool's answer in whatever a framework made of it: JSON, a Python literal, text around it, content parts."""
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    if not isinstance(content, str):
        return content
    start = content.find("{")
    try:
        return json.JSONDecoder().raw_decode(content[start:])[0]
    except ValueError:
        import ast

        return ast.literal_eval(content[start : content.rfind("}") + 1])


def written(arguments: dict[str, Any]) -> str:
    """Arguments as the model writes them."""
    return '{"request_id": ' if arguments is GARBLED else json.dumps(arguments)


def step(style: str, offered: list[str], seen: list[tuple[str, Any]]) -> tuple[Calls, str]:
    """As ``decide``, in the names under which the tools were offered."""
    if style == "garbled" and offered:
        return [("no_such_tool", GARBLED)], ""
    full = {plain(name): name for name in offered}
    calls, text = decide(style, list(full), [(plain(name), observation(answer)) for name, answer in seen])
    if not calls and FINAL in full:  # a framework whose agents end through a tool
        return [(full[FINAL], {"answer": text})], ""
    return [(full[name], arguments) for name, arguments in calls], text


# OpenAI's chat completions --------------------------------------------------------------------------------------------


def chat(style: str, body: dict[str, Any]) -> dict[str, Any]:
    offered = [tool["function"]["name"] for tool in body.get("tools") or []]
    names: dict[str, str] = {}
    seen = []
    for message in body["messages"]:
        for call in message.get("tool_calls") or []:
            names[call["id"]] = call["function"]["name"]
        if message["role"].startswith("tool") and "tool_call_id" in message:
            seen.append((names[message["tool_call_id"]], message["content"]))
    if not names:  # smolagents writes calls and answers as text
        seen = list(smol_history(body["messages"]))
    calls, text = step(style, offered, seen)
    entries = [
        {"id": f"call_{next(_numbers)}", "type": "function", "function": {"name": n, "arguments": written(a)}}
        for n, a in calls
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": entries} if entries else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if entries else "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    head = {"id": f"chat-{next(_numbers)}", "object": "chat.completion", "created": 1, "model": body["model"]}
    return {**head, "choices": [choice], "usage": usage}


def smol_history(messages: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    for message in messages:
        content = message["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
        if message["role"] in ("tool-response", "user") and text.startswith("Observation"):
            for name in (*READS, AUDIT, COMMIT):
                yield from ((name, part) for part in smol_parts(text, name))


def smol_parts(text: str, name: str) -> Iterator[str]:
    """Which tool an observation is of, told by what only it shows."""
    marks = {
        READS[0]: "'due_date'", READS[1]: "'approved_by'", READS[2]: "'policy'", READS[3]: "'account_ending'",
        AUDIT: "'records'", COMMIT: "'sent to bank'",
    }  # fmt: skip
    for line in text.splitlines():
        if marks[name] in line:
            yield line


# OpenAI's responses ---------------------------------------------------------------------------------------------------


def responses(style: str, body: dict[str, Any]) -> dict[str, Any]:
    offered = [tool["name"] for tool in body.get("tools") or []]
    names: dict[str, str] = {}
    seen = []
    for item in body["input"] if isinstance(body["input"], list) else []:
        if item.get("type") == "function_call":
            names[item["call_id"]] = item["name"]
        elif item.get("type") == "function_call_output":
            seen.append((names[item["call_id"]], item["output"]))
    calls, text = step(style, offered, seen)
    output: list[dict[str, Any]] = []
    for name, arguments in calls:
        n = next(_numbers)
        head = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "status": "completed"}
        output.append({**head, "name": name, "arguments": written(arguments)})
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}]
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{next(_numbers)}", "object": "response", "created_at": 1, "status": "completed", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "model": body["model"], "output": output,
        "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": body.get("tools") or [],
        "top_p": 1.0, "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, **details},
    }  # fmt: skip


# Anthropic's messages -------------------------------------------------------------------------------------------------


def messages(style: str, body: dict[str, Any]) -> dict[str, Any]:
    offered = [tool["name"] for tool in body.get("tools") or []]
    names: dict[str, str] = {}
    seen = []
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block.get("type") == "tool_use":
                names[block["id"]] = block["name"]
            elif block.get("type") == "tool_result":
                seen.append((names[block["tool_use_id"]], block["content"]))
    calls, text = step(style, offered, seen) if offered else ([], "ok")
    content: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": name, "input": a} for name, a in calls
    ]
    if text:
        content = [{"type": "text", "text": text}]
    return {
        "id": f"msg_{next(_numbers)}", "type": "message", "role": "assistant", "model": body["model"],
        "content": content, "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }  # fmt: skip


def message_events(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The answer as Anthropic streams it."""
    yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


# The server -----------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0].strip("/").split("/")
        style, kind = path[0], path[-1]
        self.server.requests.append(self.path)  # type: ignore[attr-defined]
        if kind == "completions":
            self._json(chat(style, body))
        elif kind == "responses":
            self._json(responses(style, body))
        elif kind == "messages" and body.get("stream"):
            self._events(message_events(messages(style, body)))
        elif kind == "messages":
            self._json(messages(style, body))
        elif kind == "count_tokens":
            self._json({"input_tokens": 100})
        else:
            self._json({"error": {"message": f"no such path: {self.path}"}}, 404)

    def do_GET(self) -> None:
        self._json({"data": []})

    do_HEAD = do_GET

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", status)

    def _events(self, events: Iterator[dict[str, Any]]) -> None:
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(text.encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class ScriptedModel(ThreadingHTTPServer):
    """The server, at ``url`` while the context lasts; ``requests`` are the paths it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __exit__(self, *args: object) -> None:
        self.shutdown()
        super().__exit__(*args)
