"""What a session may send and spend at a provider: one count for all processes of a machine (product: "Money")."""

from __future__ import annotations

import contextlib
import os
import struct
import threading
from pathlib import Path

from pytest_episem.agents.base import InfrastructureError

LIMIT = "limit"
"""The kind of the error of a rollout that was not let send another request."""
_ENTRY = struct.Struct("<d")
_SENT, _REFUSED = -1.0, -2.0
"""Entries for a request about to be sent, and for one that was refused; any other is a cost in US dollars."""


class Spending:
    """The requests and the cost of one session on this machine, in a file that every process only appends to.

    Where an entry came to stand tells how many stand before it, so that no two processes take the last request both.
    A request counts when it is about to be sent, whatever comes of it; its cost when its answer is there.

    Args:
        path: the session's file, made with the first request.
        most_requests: how many may be sent, ``None`` for any number.
        most_cost: US dollars after which nothing more is sent, ``None`` for any.
    """

    def __init__(self, path: Path, most_requests: int | None, most_cost: float | None) -> None:
        self.path = path
        self.most_requests = most_requests
        self.most_cost = most_cost
        self.refused = False
        self._sent = 0
        self._spent = 0.0
        self._read_to = 0
        self._file: int | None = None
        self._lock = threading.Lock()

    def take(self) -> None:
        """Count one request that is about to be sent.

        Raises:
            InfrastructureError: of kind ``limit``: there may be no more.
        """
        with self._lock:
            self._read()
            if not self._reached():
                # Those of other processes that came to stand before ours are read along; it is the last one read.
                self._read(self._append(_SENT))
                if self.most_requests is None or self._sent <= self.most_requests:
                    return
            if not self.refused:
                self._append(_REFUSED)
            self._read()
        raise InfrastructureError(LIMIT, self.reason(), fatal=True)

    def spend(self, cost: float) -> None:
        """Add what an answer cost, in US dollars."""
        with self._lock:
            self._append(cost)

    def look(self) -> None:
        """Take in what the other processes have noted."""
        with self._lock:
            self._read()

    @property
    def sent(self) -> int:
        """Requests sent, as far as was looked."""
        return self._sent if self.most_requests is None else min(self._sent, self.most_requests)

    @property
    def spent(self) -> float:
        """US dollars spent, as far as was looked."""
        return self._spent

    def reason(self) -> str:
        """Return why nothing more may be sent."""
        if self.most_requests is not None and self._sent >= self.most_requests:
            return f"--episem-max-requests {self.most_requests} reached: {self.sent:,} requests were sent"
        return f"--episem-max-cost {self.most_cost or 0:g} reached: the run has cost ${self._spent:.4f}"

    def close(self, remove: bool) -> None:
        """Close the file; ``remove`` it where this process began the session."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None
            if remove:
                with contextlib.suppress(OSError):
                    self.path.unlink()

    def _reached(self) -> bool:
        by_cost = self.most_cost is not None and self._spent >= self.most_cost
        return by_cost or (self.most_requests is not None and self._sent >= self.most_requests)

    def _append(self, entry: float) -> int:
        """Append an entry and return where it ends."""
        if self._file is None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.open(self.path, flags, 0o600)
        os.write(self._file, _ENTRY.pack(entry))
        return os.lseek(self._file, 0, os.SEEK_CUR)

    def _read(self, end: int | None = None) -> None:
        """Read on, at most as far as ``end``."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                data = file.read(-1 if end is None else end - self._read_to)
        except FileNotFoundError:
            return
        whole = len(data) - len(data) % _ENTRY.size
        self._read_to += whole
        for (entry,) in _ENTRY.iter_unpack(data[:whole]):
            self._sent += entry == _SENT
            self.refused |= entry == _REFUSED
            self._spent += max(entry, 0.0)
