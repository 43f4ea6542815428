"""What a wrapped tool does is written once, as a script that yields steps; they are taken with and without asyncio."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a function came to: a value, or the error it raised. ``foreign``: in an event loop that was not its own."""

    value: Any = None
    error: BaseException | None = None
    foreign: bool = False

    def give(self) -> Any:
        """Return the value or raise the error."""
        __tracebackhide__ = True
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(frozen=True, slots=True)
class Do:
    """Call a function."""

    function: Callable[..., Any]
    is_async: bool
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def here(self) -> Outcome:
        """Call it; a coroutine function gets an event loop of its own, in another thread."""
        __tracebackhide__ = True
        if self.is_async:
            with ThreadPoolExecutor(1) as thread:
                return thread.submit(lambda: asyncio.run(self._foreign())).result()
        try:
            return Outcome(self.function(*self.args, **self.kwargs))
        except BaseException as error:
            return Outcome(error=error)

    async def there(self) -> Outcome:
        """Call it from a coroutine."""
        __tracebackhide__ = True
        try:
            value = self.function(*self.args, **self.kwargs)
            return Outcome(await value if self.is_async else value)
        except BaseException as error:
            return Outcome(error=error)

    async def _foreign(self) -> Outcome:
        found = await self.there()
        return Outcome(found.value, found.error, foreign=True)


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for what another call comes to."""

    other: Future[Outcome | None]

    def here(self) -> Outcome | None:
        return self.other.result()

    async def there(self) -> Outcome | None:
        return await asyncio.shield(asyncio.wrap_future(self.other))


Script = Generator[Do | Wait, Any, Outcome]


def play(script: Script) -> Any:
    """Play a script to its end; return or raise what it came to."""
    __tracebackhide__ = True
    found: Any = None
    while True:
        try:
            step = script.send(found)
        except StopIteration as end:
            answer: Outcome = end.value
            break
        found = step.here()
    return answer.give()


async def play_async(script: Script) -> Any:
    """As ``play``, from a coroutine."""
    __tracebackhide__ = True
    found: Any = None
    while True:
        try:
            step = script.send(found)
        except StopIteration as end:
            answer: Outcome = end.value
            break
        found = await step.there()
    return answer.give()


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
