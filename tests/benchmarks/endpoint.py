"""A model's endpoint that answers after a fixed time: ``python endpoint.py SECONDS`` prints its port and serves.

It speaks as much of HTTP and of OpenAI's chat completions as a client needs, on 127.0.0.1, and costs little: the
answers are made beforehand, from the task that the request's user message names. They are three reads and the commit.
``GET /count`` tells how many requests were answered since the last one and how long that took.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from rollout_own import calls

from pytest_episem.evidence.bank import shipped_bank

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def response(body: Any, status: str = "200 OK") -> bytes:
    """Return a whole HTTP response."""
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def completion(step: int, name: str, arguments: Any) -> bytes:
    """Return the answer that makes one call."""
    call = {"id": f"call_{step}", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return response(
        {"id": "x", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice], "usage": USAGE}
    )


def scripts() -> dict[str, list[bytes]]:
    """Return the four answers by the request that a task's user makes."""
    return {
        task.goal: [completion(step, call.name, call.arguments) for step, call in enumerate(calls(task))]
        for task in shipped_bank().tasks.values()
    }


class Endpoint:
    """The answers, and what was counted."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.scripts = scripts()
        self.loop = asyncio.get_running_loop()
        self.reset()

    def reset(self) -> None:
        self.requests = self.refused = self.open = self.most = 0
        self.first = self.last = 0.0
        self.cpu = time.process_time()

    def count(self) -> bytes:
        """Return the counts since the last time, and begin anew."""
        counts = {
            "requests": self.requests,
            "refused": self.refused,
            "most_at_once": self.most,
            "seconds": self.last - self.first,
            "cpu_seconds": time.process_time() - self.cpu,
        }
        self.reset()
        return response(counts)

    def answer(self, body: bytes) -> bytes:
        """Return the next answer of the conversation in ``body``."""
        now = self.loop.time()
        self.first = self.first or now
        self.requests += 1
        self.open += 1
        self.most = max(self.most, self.open)
        messages = json.loads(body)["messages"]
        goal = next((message["content"] for message in messages if message["role"] == "user"), None)
        script = self.scripts.get(goal, [])
        step = sum(message["role"] == "assistant" for message in messages)
        if step >= len(script):
            self.refused += 1
            return response({"error": {"message": "no such task or step", "type": "invalid"}}, "400 Bad Request")
        return script[step]

    def sent(self) -> None:
        self.open -= 1
        self.last = self.loop.time()


class Connection(asyncio.Protocol):
    """One client's connection: requests with a known length, one after the other."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.received = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, rest = self.received.partition(b"\r\n\r\n")
        if not end:
            return
        if head.startswith(b"GET /count "):
            self.received = b""
            self.transport.write(self.endpoint.count())
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(rest) >= length:
            self.received = rest[length:]
            self.endpoint.loop.call_later(self.endpoint.seconds, self.send, self.endpoint.answer(rest[:length]))

    def send(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.endpoint.sent()


async def serve(seconds: float) -> None:
    endpoint = Endpoint(seconds)
    server = await endpoint.loop.create_server(lambda: Connection(endpoint), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
