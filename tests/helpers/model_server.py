"""A model's server for tests: answers from a script over HTTP on 127.0.0.1, and plays every fault on request."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@dataclass(frozen=True)
class Reply:
    """One response. ``fault``: ``reset`` cuts the connection unanswered, ``cut`` in the middle of the body."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Request:
    """What the server was sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Script = Reply | Callable[[dict[str, Any]], Reply]


class ModelServer:
    """Answers the requests with ``script`` in order, then always with ``then``."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.script: list[Script] = []
        self.then: Script = Reply({"error": {"message": "the script is over"}}, 400)
        self.closing = threading.Event()
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(server.next_reply(Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)))

            def _send(self, reply: Reply) -> None:
                if reply.seconds:
                    server.closing.wait(reply.seconds)
                if reply.fault == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                    return
                data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if reply.fault == "cut" else data)
                self.close_connection |= reply.fault == "cut"

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

            def shutdown_request(self, request: Any) -> None:
                request.close()  # no orderly goodbye, or a reset would not be one

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # the client went away, as the tests want it

        self._http = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def next_reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            reply = self.script.pop(0) if self.script else self.then
            return reply(request.body) if callable(reply) else reply

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


def call(name: str | None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """One tool call; ``arguments`` that are no text are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": text}, **more}


def say(
    content: Any = None, calls: Iterable[dict[str, Any]] | None = None, finish: str | None = None, **more: Any
) -> Reply:
    """A chat completion. ``more`` goes into the message, but for ``usage``."""
    usage = more.pop("usage", USAGE)
    calls = None if calls is None else list(calls)
    message = {"role": "assistant", "content": content, **({} if calls is None else {"tool_calls": calls}), **more}
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
    return Reply(body | ({"usage": usage} if usage else {}))


def fail(
    status: int,
    message: str = "some words",
    code: str | None = None,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> Reply:
    """An error in the form of OpenAI's API. ``more`` goes into the error object."""
    error = {"message": message, "type": more.pop("type", "error"), "param": None, "code": code, **more}
    return Reply({"error": error}, status, headers or {})


RESET = Reply(fault="reset")
CUT = Reply(say("half of this").body, fault="cut")
