"""The shared answer cache: identical requests are sent once, also while they are in flight (product: "Money")."""

from __future__ import annotations

import asyncio
import contextlib
import os
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path

from pytest_episem.agents.answer_store import AnswerStore, Damaged, Unfit
from pytest_episem.agents.base import InfrastructureError
from pytest_episem.agents.reply import Reply
from pytest_episem.errors import EpisemError


class _Flight:
    """A request that this process has in flight: what came of it, once it has landed."""

    def __init__(self) -> None:
        self.landed = asyncio.Event()
        self.reply: Reply | None = None
        self.failed = False


class AnswerCache:
    """Replies by key, for one model agent and its one event loop.

    The first that asks for a key leads: it alone sends the request, and keeps what comes back. Whoever asks meanwhile
    waits for it, here or in another process. When the leader's request fails, those that waited here send their own;
    when the leader goes away (its rollout is cancelled, its process dies) one of them takes its place.

    Args:
        directory: where the answers are.
        replay: send nothing; a request without an answer is an infrastructure error.
    """

    def __init__(self, directory: Path, replay: bool = False) -> None:
        self.replay = replay
        self._store = AnswerStore(directory)
        self._flights: dict[str, _Flight] = {}
        self._noticed: set[str] = set()

    async def reply(
        self, key: str | None, model: str, ask: Callable[[], Awaitable[Reply]], longest: float
    ) -> tuple[Reply, bool]:
        """Return the reply to the request of ``key`` and whether it came without sending the request.

        Args:
            key: of the request, ``None`` for one that has none.
            model: its model, for the entry and for messages.
            ask: sends the request.
            longest: seconds to wait for another process that has it in flight.

        Raises:
            InfrastructureError: as ``ask`` does; of kind ``replay_miss`` in a replay.
        """
        if key is None:
            if self.replay:
                raise self._missed(model, "to this request", "it is no JSON")
            return await ask(), False
        while True:
            kept = self._kept(key, model)
            if kept is not None:
                return kept, True
            flight = self._flights.get(key)
            if flight is None:
                return await self._lead(key, model, ask, longest)
            await flight.landed.wait()
            if flight.reply is not None:
                return flight.reply, True
            if flight.failed:
                return await self._ask(key, model, ask), False

    async def _lead(
        self, key: str, model: str, ask: Callable[[], Awaitable[Reply]], longest: float
    ) -> tuple[Reply, bool]:
        flight = self._flights[key] = _Flight()
        try:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    await stack.enter_async_context(self._store.claim(key, longest))
                except OSError as fault:
                    self._notice("locks", f"processes do not share requests in flight: {fault.strerror or fault}")
                kept = self._kept(key, model)
                flight.reply = kept or await self._ask(key, model, ask)
                return flight.reply, kept is not None
        except Exception:
            flight.failed = True
            raise
        finally:
            del self._flights[key]
            flight.landed.set()

    async def _ask(self, key: str, model: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        reply = await ask()
        try:
            self._store.write(key, model, reply)
        except Unfit as fault:
            self._notice("unfit", f"an answer is not kept: {fault}")
        except OSError as fault:
            self._notice("unkept", f"answers cannot be kept in {self._store.directory}: {fault.strerror}")
        return reply

    def _kept(self, key: str, model: str) -> Reply | None:
        """Return what is kept; in a replay there must be something."""
        try:
            kept = self._store.read(key)
        except Damaged as fault:
            if self.replay:
                raise self._missed(model, key[:12], f"its entry is damaged ({fault})") from None
            self._notice("damaged", f"{self._store.path(key)} is passed over: {fault}")
            return None
        if kept is None and self.replay:
            raise self._missed(model, key[:12])
        return kept

    def _missed(self, model: str, key: str, why: str = "") -> InfrastructureError:
        reason = f"; {why}" if why else ""
        return InfrastructureError(
            "replay_miss",
            f"{model}: {self._store.directory} holds no answer {key}{reason}; a replay needs the model, arguments, "
            "address, instruction and bank of the run that filled the cache",
        )

    def _notice(self, kind: str, text: str) -> None:
        """Warn, once for each kind of trouble."""
        if kind not in self._noticed:
            self._noticed.add(kind)
            with contextlib.suppress(Warning):
                warnings.warn(f"episem: answer cache: {text}", stacklevel=2)


def open_cache(directory: Path, replay: bool) -> AnswerCache:
    """Return the cache in ``directory``, which the first answer makes if it is missing.

    Raises:
        EpisemError: it is no directory or cannot be written, or a replay would find nothing.
    """
    if replay:
        if not any(directory.glob("??/*.json")):
            raise EpisemError(f"--episem-replay: {directory} holds no answers; fill it with --episem-cache alone")
        return AnswerCache(directory, replay)
    place = next(place for place in (directory, *directory.parents) if place.exists())
    if not place.is_dir():
        raise EpisemError(f"--episem-cache {directory}: {place} is not a directory")
    if not os.access(place, os.W_OK | os.X_OK):
        raise EpisemError(f"--episem-cache {directory}: {place} cannot be written")
    return AnswerCache(directory)
