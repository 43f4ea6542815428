"""Between an agent and its tools: carries requests out as a provider would, and lets one fault strike."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pytest_episem.errors import worded
from pytest_episem.flaky.faults import NO_FAULT, WITHOUT_EFFECT
from pytest_episem.flaky.ledger import Call, Ledger
from pytest_episem.flaky.steps import Do, Outcome, Script, Wait
from pytest_episem.flaky.tool import NOT_GIVEN, Tool
from pytest_episem.flaky.values import as_sent, copied, shown, shown_arguments
from pytest_episem.text import printable


@dataclass(slots=True, eq=False)
class Late:
    """A request that is still under way; ``after`` more calls and it arrives, ``None`` of them: at the end."""

    call: Call
    tool: Tool
    request: tuple[tuple[Any, ...], dict[str, Any]]
    after: int | None


Steps = Generator[Do | Wait, Any, Outcome]


class Provider:
    """The wrapped tools of one test, under one fault."""

    def __init__(self, fault: str, ledger: Ledger, late_after: int | None) -> None:
        self.fault = fault
        self.ledger = ledger
        self.late_after = late_after
        self.tools: list[Tool] = []
        self.late: list[Late] = []
        self.struck = 0
        self._keys: dict[tuple[Tool, Any], Future[Outcome | None]] = {}

    def call(self, tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Script:
        """What happens when an agent calls ``tool``."""
        call = self._begin(tool, args, kwargs)
        if call is None:
            refused: Outcome = yield Do(tool.function, tool.is_async, args, kwargs)
            return refused
        try:
            answer = yield from self._answer(tool, call, args, kwargs)
            if answer.error is None or isinstance(answer.error, Exception):
                yield from self._arrivals(call, tool.is_async)
            return answer
        finally:
            call.running = False

    def settle(self) -> Script:
        """Let everything arrive that is still under way."""
        while self.late:
            with self.ledger.lock:
                late = self.late.pop(0)
            yield from self._arrive(late)
        return Outcome()

    # A call -----------------------------------------------------------------------------------------------------

    def _begin(self, tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """Note the call and decide whether the fault strikes it; ``None`` if the tool does not take such arguments."""
        arguments = tool.bound(args, kwargs)
        if arguments is None:
            return None
        with self.ledger.lock:
            words = f"{tool.name}({shown_arguments(arguments)})"
            call = Call(len(self.ledger.calls) + 1, tool.name, arguments, words)
            self.ledger.calls.append(call)
            if not tool.reads:
                call.key = self._asked(tool, "key", tool.key_of, arguments)
                parts = self._asked(tool, "intent", lambda given: tool.parts(given, self.ledger), arguments)
                call.intent = self.ledger.intent(tool.name, parts)
                tool.calls += 1
                call.struck = self._strikes(tool, call)
                tool.struck = tool.struck or call.struck
                self.struck += call.struck
            return call

    def _strikes(self, tool: Tool, call: Call) -> bool:
        if self.fault == NO_FAULT or tool.struck or tool.calls < tool.call:
            return False
        if self.fault == "key-forgotten":
            return call.key is not None
        return self.fault != "false-success" or tool.success is not NOT_GIVEN or tool.answer is not NOT_GIVEN

    def _spared(self, tool: Tool, call: Call) -> None:
        """The tool had no effect of its own, so that there was nothing for the fault to hide; the next call is."""
        with self.ledger.lock:
            call.struck = tool.struck = False
            self.struck -= 1

    def _answer(self, tool: Tool, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Steps:
        if not call.struck:
            answer = yield from self._deliver(tool, call, args, kwargs)
            call.came.append(_words(answer))
            return answer
        again = as_sent(args), as_sent(kwargs)
        if self.fault in WITHOUT_EFFECT:
            call.came.append("nothing happened")
            return self._told(tool, call)
        if self.fault == "effect-late":
            with self.ledger.lock:
                self.late.append(Late(call, tool, again, self.late_after))
            call.came.append("still under way")
            return self._told(tool, call)
        before = len(self.ledger.effects)
        answer = yield from self._deliver(tool, call, args, kwargs)
        if answer.error is not None or not any(one.call == call.number for one in self.ledger.effects[before:]):
            self._spared(tool, call)
            call.came.append(_words(answer))
            return answer
        if self.fault == "delivered-twice":
            second = yield from self._deliver(tool, call, *again, how="second delivery")
            if second.error is not None:
                call.came.append(f"delivered again: raised {printable(worded(second.error))}")
            call.came.append(_words(answer))
            return answer
        if self.fault == "key-forgotten":
            tool.forgets = True
            call.came.append("the provider forgot its keys")
        return self._told(tool, call)

    def _told(self, tool: Tool, call: Call) -> Outcome:
        """Return what a struck call is told."""
        name, given, default = {
            "false-failure": ("failure", tool.failure, RuntimeError(f"{tool.name} failed")),
            "false-success": ("success", tool.success, tool.answer),
        }.get(self.fault, ("error", tool.error, TimeoutError(f"no answer from {tool.name}")))
        try:
            told = _as_outcome(default if given is NOT_GIVEN else given, call)
        except Exception as error:
            self.ledger.problem(f"{tool.name}: {name}= raised {printable(worded(error))}")
            told = Outcome(error=error)
        call.came.append(_words(told))
        return told

    # A request --------------------------------------------------------------------------------------------------

    def _deliver(self, tool: Tool, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], how: str = "") -> Steps:
        """Carry a request out, once for all requests with its key while the provider remembers it."""
        mine: Future[Outcome | None] = Future()
        slot = tool, _hashable(call.key)
        while call.key is not None and not tool.forgets:
            with self.ledger.lock:
                other = self._keys.setdefault(slot, mine)
            if other is mine:
                break
            known = yield Wait(other)
            if known is not None:
                words = f"its key {shown(call.key)} was known: not done again"
                call.came.append(f"{how}: {words}" if how else words)
                return Outcome(copied(known.value))
        answer: Outcome = Outcome(error=RuntimeError("not carried out"))
        done = False
        try:
            answer = yield Do(tool.function, tool.is_async, args, kwargs)
            done = self._done(tool, call, answer, how)
        finally:
            with self.ledger.lock:
                if not done and self._keys.get(slot) is mine:
                    del self._keys[slot]
            mine.set_result(Outcome(copied(answer.value)) if done else None)
        return answer

    def _done(self, tool: Tool, call: Call, answer: Outcome, how: str) -> bool:
        """Note what a request came to; return whether it had an effect."""
        if tool.reads:
            return False
        if answer.error is not None:
            if not isinstance(answer.error, Exception) and call.intent is not None:
                call.intent.unknown += 1
                call.came.append("broken off: whether it happened is not known")
            call.refused = not how
            return False
        if hasattr(answer.value, "__await__"):
            self.ledger.problem(
                f"{tool.name} is a plain function and returned something to be awaited, so that nobody can say when "
                "it happens: wrap an `async def`"
            )
        if tool.happened is not None and not self._asked(tool, "happened", tool.happened, answer.value):
            call.came.append(f"{how}: it changed nothing" if how else "it changed nothing")
            call.refused = not how
            return False
        effect = self.ledger.happened(call, how)
        tool.answer = copied(answer.value)
        call.came.append(f"{how}: happened (effect {effect.number})" if how else f"happened (effect {effect.number})")
        return True

    def _asked(self, tool: Tool, name: str, function: Callable[[Any], Any], given: Any) -> Any:
        """Ask a function that the user gave; where it fails there is no verdict."""
        try:
            return function(given)
        except Exception as error:
            self.ledger.problem(f"{tool.name}: {name}= raised {printable(worded(error))}")
            return None

    # What comes late --------------------------------------------------------------------------------------------

    def _arrivals(self, call: Call, may_await: bool) -> Generator[Do | Wait, Any, None]:
        """After ``call`` was answered, let arrive what was waiting for it alone."""
        with self.ledger.lock:
            for late in self.late:
                if late.after is not None and late.call.number < call.number:
                    late.after -= 1
            due = [
                late
                for late in self.late
                if late.after is not None
                and late.after <= 0
                and late.call.number < call.number
                and (may_await or not late.tool.is_async)
            ]
            self.late[:] = [late for late in self.late if late not in due]
        for late in due:
            yield from self._arrive(late)

    def _arrive(self, late: Late) -> Generator[Do | Wait, Any, None]:
        answer = yield from self._deliver(late.tool, late.call, *late.request, how="late")
        if answer.error is None:
            return
        words = printable(worded(answer.error))
        late.call.came.append(f"late: raised {words}")
        if answer.foreign:
            self.ledger.problem(
                f"{late.call.words} was to happen late, after the test's event loop had ended, and raised {words}: "
                "end the test with `await episem_flaky.acheck()`"
            )


def _as_outcome(given: Any, call: Call) -> Outcome:
    """Return what was given for a call to come to: an exception, its class, a value, or a function of those."""
    if callable(given):
        is_class = isinstance(given, type) and issubclass(given, BaseException)
        given = given(f"no answer from {call.tool}") if is_class else given(call.arguments)
    return Outcome(error=given) if isinstance(given, BaseException) else Outcome(copied(given))


def _words(answer: Outcome) -> str:
    if answer.error is None:
        return f"answered {shown(answer.value)}"
    return f"raised {printable(worded(answer.error))}"


def _hashable(key: Any) -> Any:
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key
