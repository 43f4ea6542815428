"""How long to wait: backoff with jitter, ``Retry-After``, and a limit on requests in flight that follows refusals."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_UNLIMITED = 10_000
_WEIGHT = 1 / 16
"""What one request counts in the running share of refusals."""
_TOLD_IN_TEXT = re.compile(r"(?:retry(?:delay\W{1,5}| in )|try again in )(\d+(?:\.\d+)?)\s?(m?s)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long one request is tried. All times in seconds.

    ``tries`` bounds failures of every kind but refusals for the rate (429), which ``rate_limit_tries`` bounds:
    those are answered by waiting, not by giving up. ``total_wait`` bounds the sum of a request's waits, and
    ``longest_told`` what a server may ask for at once.
    """

    tries: int = 6
    rate_limit_tries: int = 100
    first_delay: float = 0.5
    longest_delay: float = 30.0
    longest_told: float = 60.0
    total_wait: float = 300.0
    request_timeout: float = 120.0

    def delay(self, failures: int, told: float | None, rate: Callable[[], float] = random.random) -> float:
        """Return how long to wait after ``failures`` failures, of which the last told to wait ``told`` seconds.

        Exponential with full jitter; what was told comes on top, so that many processes that were told the same
        do not come back in the same moment.
        """
        backoff = rate() * min(self.longest_delay, self.first_delay * 2.0 ** min(failures - 1, 30))
        return min(told or 0.0, self.longest_told) + backoff


def told_wait(headers: Mapping[str, str], text: str, now: datetime | None = None) -> float | None:
    """Return the seconds a provider asks to wait: in ``Retry-After`` (seconds or a date) or in its message."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with contextlib.suppress(ValueError):
            if name in headers:
                return _sane(float(headers[name]) * unit)
    with contextlib.suppress(ValueError):
        date = parsedate_to_datetime(headers.get("retry-after", ""))
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return _sane((date - (now or datetime.now(UTC))).total_seconds())
    found = _TOLD_IN_TEXT.search(text)
    return _sane(float(found.group(1)) * (0.001 if found.group(2).lower() == "ms" else 1.0)) if found else None


def _sane(seconds: float) -> float | None:
    return max(0.0, seconds) if math.isfinite(seconds) else None


class Limiter:
    """Bounds one process's requests in flight: lowered when the provider refuses for the rate, recovering one by one.

    Processes that share a rate limit do not know each other; each gives way by itself, at most once a round trip: what
    was in flight when the limit was lowered says nothing about the lower one. It is halved when the provider tells how
    long to wait, else lowered by half of ``share``, the share of refusals among the last requests: all of it when
    everything is refused, little when a provider refuses some requests whatever the load, where giving way more would
    only cost time.

    A burst of refusals counts once. ``streak`` counts the refusals since a request got through: refused requests wait
    by it, not by a count of their own, so that all come back quickly once the provider lets one through. A refusal
    that says how long to wait holds all requests back that long, and so does one in a streak.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = float(_UNLIMITED)
        self.active = 0
        self._clock = clock
        self.share = 1.0
        self._epoch = 0
        self._lowered = 0
        self._earlier = 0
        self.streak = 0
        self._resume_at = -math.inf
        self._waiting: deque[asyncio.Future[None]] = deque()

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for room and hold it; gives the epoch that ``refused`` wants back."""
        await self._room()
        self.active += 1
        epoch = self._epoch
        try:
            yield epoch
        finally:
            self.active -= 1
            self._earlier -= epoch < self._lowered
            self._wake()

    def passed(self) -> None:
        """Take note of a request that got through."""
        self.streak = 0
        if self.limit < _UNLIMITED:
            self.share -= self.share * _WEIGHT
            self.limit += 1 / self.limit
            self._wake()

    def refused(self, epoch: int, patience: Patience, told: float | None) -> float:
        """Take note of a refusal for the rate; return the seconds that its request has to wait."""
        self.share += (1 - self.share) * _WEIGHT
        fresh = epoch == self._epoch
        if fresh:
            self._epoch += 1
            self.streak += 1
            if not self._earlier:
                self._lower(1.0 if told else self.share)
        delay = patience.delay(max(self.streak, 1), told)
        if told or (fresh and self.streak > 1):
            self._resume_at = max(self._resume_at, self._clock() + delay)
        return delay

    def _lower(self, share: float) -> None:
        used = self.limit if self.active >= int(self.limit) else self.active
        self.limit = max(1.0, used * (1 - share / 2))
        self._lowered, self._earlier = self._epoch, self.active

    async def _room(self) -> None:
        while True:
            pause = self._resume_at - self._clock()
            if pause > 0:
                await asyncio.sleep(pause)
            elif self.active < int(self.limit):
                return
            else:
                await self._turn()

    async def _turn(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:
                self._wake()
            raise

    def _wake(self) -> None:
        room = int(self.limit) - self.active
        while self._waiting and room > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1
