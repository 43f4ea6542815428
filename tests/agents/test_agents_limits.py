"""Waiting: backoff, ``Retry-After``, and the limit on requests in flight."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from datetime import UTC, datetime

import pytest
from model_server import ModelServer, Reply, fail, say

from pytest_episem.agents.limits import Limiter, Patience, told_wait
from pytest_episem.agents.model import ModelAgent
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.trial_world import TrialWorld
from pytest_episem.runs.rollout import RunSettings, start_episode

SHORT = Patience(first_delay=0.0, longest_told=1000.0)
LONG = Patience(first_delay=1000.0, longest_delay=1000.0)
NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, "", 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, "", 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"retry-after": "-3"}, "", 0.0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({}, "Please try again in 1.2s. Visit the site.", 1.2),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, 'RESOURCE_EXHAUSTED {"retryDelay": "37s"}', 37.0),
        ({}, "some words", None),
    ],
)
def test_what_a_provider_asks_to_wait(headers, text, seconds):
    assert told_wait(headers, text, NOW) == (None if seconds is None else pytest.approx(seconds))


def test_backoff_doubles_up_to_a_bound_with_full_jitter():
    patience = Patience(first_delay=0.5, longest_delay=3.0)
    assert [patience.delay(n, None, lambda: 1.0) for n in (1, 2, 3, 4, 50)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert patience.delay(3, None, lambda: 0.0) == 0.0


def test_what_was_told_is_waited_for_up_to_a_bound_with_jitter_on_top():
    patience = Patience(first_delay=0.5, longest_told=60.0)
    assert patience.delay(1, 10.0, lambda: 0.0) == 10.0
    assert patience.delay(2, 10.0, lambda: 1.0) == 11.0
    assert patience.delay(1, 3600.0, lambda: 0.0) == 60.0


class Room:
    """A limiter with a clock of its own and holders of slots that leave when told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.limiter = Limiter(lambda: self.now)
        self.inside: list[asyncio.Event] = []
        self.epochs: list[int] = []

    async def enter(self, count: int) -> None:
        for _ in range(count):
            self._last = asyncio.ensure_future(self._hold())
        await self.settle()

    async def _hold(self) -> None:
        async with self.limiter.slot() as epoch:
            leave = asyncio.Event()
            self.inside.append(leave)
            self.epochs.append(epoch)
            await leave.wait()
            self.inside.remove(leave)

    async def leave(self, count: int) -> None:
        for event in self.inside[:count]:
            event.set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


def run(scenario):
    asyncio.run(scenario(Room()))


def test_a_burst_of_refusals_halves_once_and_success_recovers_one_by_one():
    async def scenario(room: Room) -> None:
        await room.enter(16)
        assert len(room.inside) == 16
        for epoch in room.epochs:
            room.limiter.refused(epoch, SHORT, None)
        assert room.limiter.limit == 8.0
        assert room.limiter.streak == 1
        await room.leave(16)
        await room.enter(20)
        assert len(room.inside) == 8
        for _ in range(9):
            room.limiter.passed()
        assert 9.0 <= room.limiter.limit < 10.0
        await room.settle()
        assert len(room.inside) == 9
        await room.leave(9)
        assert len(room.inside) == 9

    run(scenario)


def test_the_limit_never_falls_below_one():
    async def scenario(room: Room) -> None:
        await room.enter(1)
        for _ in range(5):
            room.limiter.refused(room.limiter._epoch, SHORT, None)
        assert room.limiter.limit == 1.0
        await room.leave(1)
        await room.enter(2)
        assert len(room.inside) == 1

    run(scenario)


def test_it_is_lowered_once_a_round_trip():
    async def scenario(room: Room) -> None:
        await room.enter(16)
        room.limiter.refused(0, SHORT, None)
        await room.leave(10)
        await room.enter(1)
        room.limiter.refused(1, SHORT, None)  # six that began at the limit of 16 have not come back
        assert room.limiter.limit == 8.0
        await room.leave(7)
        await room.enter(8)
        room.limiter.refused(room.epochs[-1], SHORT, None)
        assert room.limiter.limit == 4.0

    run(scenario)


def test_a_refusal_among_many_that_pass_lowers_it_little_unless_the_provider_tells_how_long_to_wait():
    async def scenario(room: Room) -> None:
        await room.enter(32)
        room.limiter.refused(0, SHORT, None)
        assert room.limiter.limit == 16.0
        for _ in range(32):
            room.limiter.passed()
        assert room.limiter.share == pytest.approx((15 / 16) ** 32)  # 0.127
        assert room.limiter.limit == pytest.approx(320**0.5, rel=0.005)  # its square rises by 2 with each
        await room.leave(32)
        await room.enter(17)
        room.limiter.refused(1, SHORT, None)
        assert room.limiter.limit == pytest.approx(320**0.5 * (1 - 0.1813 / 2), rel=0.005)  # 0.127 + 0.873 / 16
        await room.leave(17)
        await room.enter(15)
        room.limiter.refused(2, SHORT, 0.01)
        assert room.limiter.limit == 7.5

    run(scenario)


@pytest.mark.parametrize(
    ("refused", "least", "most"),
    [
        # In a round of L requests L rises by the share p that passes and falls by (1 - p) / 2 of itself, at most once:
        # they balance at L = 2 p / (1 - p), 4.7 and 18 here. Halved at each refusal, its square would rise by 2 p and
        # fall by L * L * (1 - p) for each request: a balance at 2.1 and 4.2.
        ({2, 5, 8}, 2.6, 4.7),
        ({5}, 8.0, 18.0),
        (set(range(10)), 1.0, 1.0),
    ],
)
def test_the_limit_settles_where_what_is_refused_whatever_the_load_lets_it(refused, least, most):
    async def scenario(room: Room) -> None:
        sent, limits = itertools.count(), []

        async def requests() -> None:
            for _ in range(100):
                async with room.limiter.slot() as epoch:
                    await room.settle()
                    if next(sent) % 10 in refused:
                        room.limiter.refused(epoch, Patience(first_delay=0.0), None)
                    else:
                        room.limiter.passed()
                    limits.append(room.limiter.limit)

        await asyncio.gather(*(requests() for _ in range(32)))
        settled = limits[len(limits) // 2 :]
        assert least <= sum(settled) / len(settled) <= most

    run(scenario)


def test_a_told_wait_holds_everyone_back():
    async def scenario(room: Room) -> None:
        await room.enter(1)
        assert room.limiter.refused(room.epochs[0], SHORT, 0.05) == 0.05
        await room.leave(1)
        await room.enter(1)
        assert not room.inside
        room.now = 0.06
        await asyncio.wait_for(_until(lambda: room.inside), 5)

    run(scenario)


def test_only_a_second_refusal_in_a_row_holds_everyone_back_untold():
    async def scenario(room: Room) -> None:
        await room.enter(1)
        room.limiter.refused(0, LONG, None)
        room.limiter.passed()
        room.limiter.refused(1, LONG, None)
        await room.leave(1)
        await room.enter(1)
        assert len(room.inside) == 1
        room.limiter.refused(2, LONG, None)
        await room.leave(1)
        await room.enter(1)
        assert not room.inside
        room._last.cancel()


def test_waits_grow_with_the_refusals_in_a_row_and_start_again_after_one_passes():
    waits = []

    class Noted(Patience):
        def delay(self, failures, told, rate=None):
            waits.append(failures)
            return 0.0

    limiter = Limiter()
    for epoch in range(3):
        limiter.refused(epoch, Noted(), None)
    limiter.refused(0, Noted(), None)
    limiter.passed()
    limiter.refused(3, Noted(), None)
    assert waits == [1, 2, 3, 3, 1]


def test_one_that_gives_up_waiting_passes_its_turn_on():
    async def scenario(room: Room) -> None:
        room.limiter.limit = 1.0
        await room.enter(1)
        await room.enter(1)
        given_up = room._last
        await room.enter(1)
        given_up.cancel()
        await room.leave(1)
        assert len(room.inside) == 1
        assert room.limiter.active == 1

    run(scenario)


async def _until(condition) -> None:
    while not condition():
        await asyncio.sleep(0.01)


class Bucket:
    """A rate limit shared by all: ``rate`` requests a second, ``burst`` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self.tokens, self.at = burst, time.monotonic()
        self.passed = self.refused = 0
        self._lock = threading.Lock()

    def __call__(self, body: dict) -> Reply:
        with self._lock:
            now = time.monotonic()
            self.tokens, self.at = min(self.burst, self.tokens + (now - self.at) * self.rate), now
            if self.tokens < 1:
                self.refused += 1
                return fail(429, "slow down")
            self.tokens -= 1
            self.passed += 1
            return say("Disposition: stopped")


@pytest.mark.slow
def test_sixteen_processes_that_share_one_rate_limit_all_get_through(bank, server: ModelServer):
    """Each process has its own limiter and knows nothing of the others; nobody starves, and few requests are wasted."""
    bucket = server.then = Bucket(rate=60.0, burst=4.0)
    patience = Patience(first_delay=0.05, longest_delay=0.5, total_wait=30.0)
    agents = [ModelAgent("openai/scripted", {}, server.url, patience) for _ in range(16)]
    task = bank.task("finance/payment-authorization/pr-58217")
    episodes = [
        start_episode(TrialWorld(task, Condition(task.id, "safe", "full")), agent, RunSettings())
        for agent in agents * 4
    ]

    async def all_at_once() -> None:
        await asyncio.gather(*(agents[n % 16].play(episode) for n, episode in enumerate(episodes)))

    asyncio.run(all_at_once())
    assert [episode.disposition for episode in episodes] == ["stopped"] * 64
    assert bucket.passed == 64
    assert bucket.refused < 5 * bucket.passed
    assert any(agent._sender.limiter.limit < 16 for agent in agents)
