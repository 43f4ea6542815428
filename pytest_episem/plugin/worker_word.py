"""How a worker tells the controller what it collected: a channel of its own, for xdist's message has node ids alone.

Imports nothing heavy: every session with workers opens one.
"""

from __future__ import annotations

from typing import Any

CHANNEL = "episem_channel"
"""Under this key a worker is given its end."""


def open_channel(node: Any) -> None:
    """Give a worker that is about to start the channel."""
    node.workerinput[CHANNEL] = node.gateway.newchannel()


def tell(worker_input: dict[str, Any], text: str) -> None:
    """Send ``text`` to the controller; called before xdist's own message of the end of collection."""
    if CHANNEL in worker_input:
        worker_input[CHANNEL].send(text)


def told(node: Any) -> str | None:
    """Return what a worker has told; ``None`` if nothing. It came before xdist's message, on the same wire."""
    channel = node.workerinput.get(CHANNEL)
    if channel is None:
        return None
    try:
        return str(channel.receive(timeout=0))
    except (channel.TimeoutError, EOFError):
        return None
