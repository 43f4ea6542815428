"""Tools of a test's own with one fault among their calls."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pytest_episem.errors import EpisemError, suggestion
from pytest_episem.flaky.faults import FAULTS
from pytest_episem.flaky.ledger import Ledger, Made, intent_text, listed, shown

Tool = TypeVar("Tool", bound=Callable[..., Any])
_NOTHING: Any = object()
_LATE = "effect-late"
_NO_ANSWER = ("answer-lost", "request-lost", _LATE, "key-forgotten")
_NO_EFFECT = ("request-lost", _LATE, "false-success")
"""Faults whose call does nothing when it is made."""


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """A tool of the user's as it was given."""

    name: str
    call: Callable[..., Any]
    signature: inspect.Signature
    key: str | None
    intent: tuple[str, ...] | None
    success: Any
    failure: Any
    error: Callable[[], BaseException]

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults among them; those that do not fit as they came."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            return {**{f"argument {place}": value for place, value in enumerate(args, 1)}, **kwargs}
        bound.apply_defaults()
        return dict(bound.arguments)

    def wanted(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Those that say what is wanted."""
        names = self.intent if self.intent is not None else [name for name in arguments if name != self.key]
        return {name: arguments[name] for name in names if name in arguments}


class FlakyTools:
    """Wraps tools that have an effect, and lets one fault strike one of their calls.

    Call it with a tool, sync or async, to get one with the same signature:

    ``tools(charge, key="idempotency_key", intent=("invoice",))``

    A call whose ``key`` argument repeats one that took effect executes nothing and is answered as the first was, as a
    provider that remembers keys does. Safe to use from several threads and tasks.

    Args:
        fault: its name, one of :data:`pytest_episem.flaky.FAULTS`.
        call: which call it strikes, counted over all wrapped tools from 1.

    Attributes:
        fault: the name of the fault.
        ledger: what really happened.
        struck: whether the fault struck.
        checked: whether :meth:`check` was called since the last call of a tool.
    """

    def __init__(self, fault: str, call: int = 1) -> None:
        self.fault = fault
        self.ledger = Ledger()
        self.struck = False
        self.checked = False
        self._call = call
        self._count = 0
        self._tools = 0
        self._late: list[_Execution] = []
        self._remembered: dict[tuple[str, str], _Outcome] = {}
        self._lock = threading.RLock()

    def __call__(
        self,
        tool: Tool,
        *,
        key: str | None = None,
        intent: Iterable[str] | None = None,
        success: Any = _NOTHING,
        failure: Any = _NOTHING,
        error: Callable[[], BaseException] | None = None,
    ) -> Tool:
        """Return a tool with the fault among its calls; name, signature and documentation stay.

        Args:
            tool: a function, method, ``partial`` or callable object, sync or async.
            key: the name of the argument that a provider knows repeats by.
            intent: the names of the arguments that say what is wanted; by default all but ``key``.
            success: what ``false-success`` answers: a value, or a function of the arguments.
            failure: what ``false-failure`` answers, likewise; by default it raises :class:`RuntimeError`.
            error: makes what is raised where no answer comes; by default a :class:`TimeoutError`.

        Raises:
            EpisemError: it cannot be called, or has no argument of that name.
        """
        if not callable(tool) or isinstance(tool, type):
            raise EpisemError(f"episem_flaky wraps functions and other callables, not {shown(tool, 80)}")
        name = _name(tool)
        signature = _signature(tool, name)
        names = tuple([intent] if isinstance(intent, str) else intent) if intent is not None else None
        _check_names(name, signature, [*([key] if key is not None else []), *(names or ())])
        if self.fault == "false-success" and success is _NOTHING:
            raise EpisemError(f"false-success needs an answer of {name} that worked: episem_flaky({name}, success=…)")
        made = error or (lambda: TimeoutError(f"no answer from {name} in time"))
        wrapped = _Wrapped(name, tool, signature, key, names, success, failure, made)
        self._tools += 1
        return cast(Tool, self._sync(wrapped) if not _is_async(tool) else self._async(wrapped))

    def _sync(self, tool: _Wrapped) -> Callable[..., Any]:
        @functools.wraps(tool.call, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            steps = self._steps(tool, args, kwargs)
            todo = next(steps, None)
            while isinstance(todo, _Execution):
                todo = _advance(steps, _run(todo))
            return _given(todo)

        return _named(call, tool)

    def _async(self, tool: _Wrapped) -> Callable[..., Any]:
        @functools.wraps(tool.call, updated=())
        async def call(*args: Any, **kwargs: Any) -> Any:
            steps = self._steps(tool, args, kwargs)
            todo = next(steps, None)
            while isinstance(todo, _Execution):
                todo = _advance(steps, await _awaited(todo))
            return _given(todo)

        return _named(call, tool)

    def _steps(self, tool: _Wrapped, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Steps:
        """One call: yields what is to be executed and is sent what came of it; yields the answer last."""
        arguments = tool.arguments(args, kwargs)
        with self._lock:
            self._count += 1
            self.checked = False
            struck = self._count == self._call
            self.struck = self.struck or struck
            made = self.ledger.enter(tool.name, arguments, tool.wanted(arguments))
            due, self._late = self._late, []
        mine = _Execution(tool, made, args, kwargs, arguments)
        fault = self.fault if struck else ""
        outcome = _Outcome()
        if fault not in _NO_EFFECT:
            outcome = yield from self._executed(mine, forget=fault == "key-forgotten")
        if fault == "delivered-twice":
            yield from self._executed(mine)
        for late in due:
            yield from self._executed(late)
        if fault == _LATE:
            with self._lock:
                self._late.append(mine)
        answer = self._answer(fault, mine, outcome)
        made.answer = f"{type(answer.raised).__name__}: {answer.raised}" if answer.raised else shown(answer.value)
        yield answer

    def _executed(self, one: _Execution, forget: bool = False) -> Generator[_Execution, _Outcome, _Outcome]:
        """Execute a call, unless its key was seen: then nothing happens, and the answer is that of the first."""
        key = one.key
        with self._lock:
            known = self._remembered.get(key) if key is not None else None
            if key is not None and known is None:
                self._remembered[key] = _UNDER_WAY
        if known is not None:
            return known
        outcome = yield one
        with self._lock:
            if outcome.raised is None:
                self.ledger.effect(one.made)
            if key is not None and (forget or outcome.raised is not None):
                del self._remembered[key]
            elif key is not None:
                self._remembered[key] = outcome
        return outcome

    def _answer(self, fault: str, one: _Execution, outcome: _Outcome) -> _Outcome:
        if fault in _NO_ANSWER:
            return _Outcome(raised=one.tool.error())
        if fault == "false-failure" and outcome.raised is None:
            if one.tool.failure is _NOTHING:
                return _Outcome(raised=RuntimeError(f"{one.tool.name} failed"))
            return _Outcome(_made(one.tool.failure, one.arguments))
        if fault == "false-success":
            return _Outcome(_made(one.tool.success, one.arguments))
        return outcome

    # The verdict ----------------------------------------------------------------------------------------------------

    def check(self, done: bool = False) -> None:
        """Let what is late take effect, and see that nothing took effect twice.

        Called after the test as well, so that a test that forgets it does not pass.

        Args:
            done: everything that was asked for took effect once, as well.

        Raises:
            AssertionError: it did not; with every call, answer and effect in order. Or the fault never struck, so that
                nothing was tested.
        """
        __tracebackhide__ = True
        self.checked = True
        self._land()
        if not self.struck:
            raise AssertionError(self._unstruck())
        found = self.ledger.effects()
        wrong = [f"{intent_text(one)} took effect {count} times" for one, count in found.items() if count > 1]
        if done:
            wrong += [f"{intent_text(one)} never took effect" for one, count in found.items() if not count]
        if wrong:
            calls = listed(self.ledger.lines())
            raise AssertionError(f"{'; '.join(wrong)}\nfault {self.fault}, call {self._call}: {self.story}\n{calls}")

    @property
    def story(self) -> str:
        """What the fault does to the call that it strikes."""
        return FAULTS[self.fault]

    def _unstruck(self) -> str:
        if not self._tools:
            return "nothing was tested: no tool was wrapped with episem_flaky(tool)"
        calls = "1 call was" if self._count == 1 else f"{self._count or 'no'} calls were"
        return f"nothing was tested: {self.fault} was to strike call {self._call}, and {calls} made of wrapped tools"

    def _land(self) -> None:
        """Let what is late take effect now."""
        with self._lock:
            due, self._late = self._late, []
        for one in due:
            steps = self._executed(one)
            todo = next(steps, None)
            while todo is not None:
                todo = _advance(steps, _run(todo))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a call: a value, or what it raised."""

    value: Any = None
    raised: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Execution:
    """A call to be carried out for real."""

    tool: _Wrapped
    made: Made
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    arguments: dict[str, Any]

    @property
    def key(self) -> tuple[str, str] | None:
        """What a provider knows repeats by."""
        value = self.arguments.get(self.tool.key) if self.tool.key is not None else None
        return None if value is None else (self.tool.name, shown(value))


_Steps = Generator["_Execution | _Outcome", Any, None]
_UNDER_WAY = _Outcome(raised=RuntimeError("a request with this key is under way"))


def _advance(steps: Generator[Any, Any, Any], outcome: _Outcome) -> Any:
    try:
        return steps.send(outcome)
    except StopIteration:
        return None


def _outcome(one: _Execution) -> _Outcome:
    try:
        return _Outcome(one.tool.call(*one.args, **one.kwargs))
    except Exception as fault:
        return _Outcome(raised=fault)


async def _awaited(one: _Execution) -> _Outcome:
    try:
        value = one.tool.call(*one.args, **one.kwargs)
        return _Outcome(await value if inspect.isawaitable(value) else value)
    except Exception as fault:
        return _Outcome(raised=fault)


def _run(one: _Execution) -> _Outcome:
    """Carry a call out where no loop runs, or beside the one that does."""
    if not _is_async(one.tool.call):
        return _outcome(one)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, _awaited(one)).result()


def _given(answer: _Outcome | None) -> Any:
    assert answer is not None
    if answer.raised is not None:
        raise answer.raised
    return answer.value


def _made(given: Any, arguments: dict[str, Any]) -> Any:
    return given(**arguments) if callable(given) else copy.deepcopy(given)


def _is_async(tool: Callable[..., Any]) -> bool:
    while isinstance(tool, functools.partial):
        tool = tool.func
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(getattr(tool, "__call__", None))  # noqa: B004


def _name(tool: Callable[..., Any]) -> str:
    while isinstance(tool, functools.partial):
        tool = tool.func
    return str(getattr(tool, "__name__", type(tool).__name__))


def _named(call: Callable[..., Any], tool: _Wrapped) -> Callable[..., Any]:
    """A partial and an object have no name of their own, and frameworks ask for one."""
    call.__name__ = tool.name
    return call


def _signature(tool: Callable[..., Any], name: str) -> inspect.Signature:
    try:
        return inspect.signature(tool)
    except (TypeError, ValueError) as fault:
        raise EpisemError(f"episem_flaky cannot tell which arguments {name} takes: {fault}") from None


def _check_names(tool: str, signature: inspect.Signature, names: Iterable[str]) -> None:
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in signature.parameters.values())
    for name in names:
        if name not in signature.parameters and not anything:
            raise EpisemError(f"{tool} has no argument {name!r}{suggestion(name, signature.parameters)}")
