"""Jobs in a background event loop: at most so many at once, in the order of a queue that can change at any time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterable
from concurrent.futures import Future
from typing import Any, TypeAlias

Job: TypeAlias = Callable[[], Awaitable[Any]]


class Background:
    """Runs jobs by key, each once, in a thread of its own.

    ``expect`` queues jobs for later: whenever one ends the next begins, whatever the asking thread does.
    ``result`` waits for one, which goes to the front of the queue if it has not begun.
    """

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._queued: dict[Hashable, Job] = {}
        self._futures: dict[Hashable, Future[Any]] = {}
        self._running = 0
        self._awaited: Hashable = None
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="episem-rollouts", daemon=True)
        self._thread.start()

    def expect(self, jobs: Iterable[tuple[Hashable, Job]]) -> None:
        """Queue the jobs whose key is new, behind those already queued."""
        with self._lock:
            for key, job in jobs:
                if key not in self._futures:
                    self._futures[key] = Future()
                    self._queued[key] = job
        self._loop.call_soon_threadsafe(self._top_up)

    def result(self, key: Hashable, job: Job) -> Any:
        """Return what the job of this key returns, or raise what it raises."""
        with self._lock:
            self._awaited = key
            future = self._futures.setdefault(key, Future())
            if key in self._queued or not (future.running() or future.done()):
                self._queued.pop(key, None)
                self._queued = {key: job, **self._queued}
        self._loop.call_soon_threadsafe(self._top_up)
        return future.result()

    def forget(self, key: Hashable) -> None:
        """Drop a job of this key, and what it gave, so that it may run again."""
        with self._lock:
            self._queued.pop(key, None)
            self._futures.pop(key, None)

    def clear(self) -> None:
        """Drop what has not begun and is not being waited for."""
        with self._lock:
            for key in [key for key in self._queued if key != self._awaited]:
                self._queued.pop(key)
                self._futures.pop(key).cancel()

    def close(self, grace: float = 0.0) -> None:
        """Drop what has not begun, cancel what is still running after ``grace`` seconds and end the thread."""
        self._awaited = None
        self.clear()
        if grace:
            with contextlib.suppress(Exception):
                asyncio.run_coroutine_threadsafe(self._all_ended(), self._loop).result(timeout=grace)
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result(timeout=3)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=3)
        if not self._thread.is_alive():
            self._loop.close()

    def _top_up(self) -> None:
        while self._running < self._concurrency:
            with self._lock:
                if not self._queued:
                    return
                key = next(iter(self._queued))
                job, future = self._queued.pop(key), self._futures[key]
                future.set_running_or_notify_cancel()
            self._running += 1
            self._loop.create_task(self._run(job, future))

    async def _run(self, job: Job, future: Future[Any]) -> None:
        try:
            future.set_result(await job())
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._running -= 1
            self._top_up()

    async def _all_ended(self) -> None:
        while self._running:
            await asyncio.sleep(0.01)

    async def _cancel_all(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
