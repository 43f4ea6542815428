"""A tool of the user's: what was said of it, and a function that looks like it."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_episem.errors import suggestion, worded
from pytest_episem.flaky.faults import FlakyError
from pytest_episem.flaky.ledger import Ledger
from pytest_episem.flaky.steps import Script, is_async, play, play_async
from pytest_episem.flaky.values import copied, incomparable, shown
from pytest_episem.text import printable

Arguments = dict[str, Any]
Part = str | Callable[[Arguments], Any]


class _NotGiven:
    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Any = _NotGiven()
"""Stands for an answer that was not given, where ``None`` is one."""


@dataclass(slots=True, eq=False)
class Tool:
    """A wrapped tool. ``answer`` is the last one that came of an effect."""

    function: Callable[..., Any]
    name: str
    signature: inspect.Signature
    is_async: bool
    key: Part | None
    intent: Sequence[str] | Callable[[Arguments], Any] | None
    reads: bool
    happened: Callable[[Any], bool] | None
    error: Any
    failure: Any
    success: Any
    call: int
    calls: int = 0
    struck: bool = False
    forgets: bool = False
    answer: Any = field(default=NOT_GIVEN)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments | None:
        """Return the arguments by name, copied, with defaults; ``None`` where the function does not take them."""
        try:
            found = self.signature.bind(*args, **kwargs)
        except TypeError:
            return None
        found.apply_defaults()
        named = list(found.arguments.items())
        if named and named[0][0] in ("self", "cls"):  # the function of a class: whose it is, is not asked for
            del named[0]
        extra = self.open_ended
        flat = [pair for name, value in named for pair in (value.items() if name == extra else [(name, value)])]
        return {name: copied(value) for name, value in flat}

    @property
    def open_ended(self) -> str:
        """The name of its ``**`` argument, whose own come under their names; ``""`` without one."""
        return next((one.name for one in self.signature.parameters.values() if one.kind is one.VAR_KEYWORD), "")

    def key_of(self, arguments: Arguments) -> Any:
        """Return the key among the arguments; ``None`` without one."""
        found = self._part(self.key, arguments)
        return None if found == "" else found

    def parts(self, arguments: Arguments, ledger: Ledger) -> Any:
        """Return what tells one intent from another."""
        if callable(self.intent):
            found = self.intent(arguments)
        else:
            names = self.intent if self.intent is not None else [name for name in arguments if name != self.key]
            found = {name: self._part(name, arguments) for name in names}
        if kind := incomparable(found):
            ledger.problem(
                f"{self.name}: whether two calls mean the same cannot be told by an object of {kind}; name what tells "
                f'it: intent=("…",) with names of arguments, or a function of the arguments'
            )
        return found

    def _part(self, part: Part | None, arguments: Arguments) -> Any:
        if part is None or callable(part):
            return part(arguments) if part else None
        return arguments.get(part)


def describe(function: Any, name: str | None, **said: Any) -> Tool:
    """Return the tool that ``function`` is, with what was ``said`` of it.

    Raises:
        FlakyError: it is no function that can be wrapped, or what was said of it cannot be.
    """
    name = name or getattr(_inner(function), "__name__", None) or type(function).__name__
    if not callable(function):
        raise FlakyError(
            f"{shown(function)} is not a function: wrap the function itself, and make the framework's tool of what "
            "comes back"
        )
    if inspect.isgeneratorfunction(_inner(function)) or inspect.isasyncgenfunction(_inner(function)):
        raise FlakyError(f"{name} is a generator, and its answer cannot be lost as a whole: wrap a plain function")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as fault:
        raise FlakyError(f"{name} has no signature to read its arguments by: {worded(fault)}") from None
    tool = Tool(function, printable(name), signature, is_async(function), **said)
    _check(tool)
    return tool


def _check(tool: Tool) -> None:
    names = list(tool.signature.parameters)
    if isinstance(tool.intent, str):
        tool.intent = (tool.intent,)
    named = [tool.key] if isinstance(tool.key, str) else []
    named += [] if tool.intent is None or callable(tool.intent) else list(tool.intent)
    for part in named:
        if part not in names and not tool.open_ended:
            raise FlakyError(f"{tool.name} has no argument {printable(repr(part))}{suggestion(str(part), names)}")
    if tool.intent is not None and not callable(tool.intent) and not tool.intent:
        raise FlakyError(f"{tool.name}: intent=() would make every call the same; name the arguments that tell")
    if tool.key is not None and not isinstance(tool.key, str) and tool.intent is None:
        raise FlakyError(
            f"{tool.name}: with a function as key= nobody can tell which arguments are the key and which the intent; "
            "name those too: intent=(…)"
        )
    if not isinstance(tool.call, int) or tool.call < 1:
        raise FlakyError(f"{tool.name}: call counts from 1, and is {shown(tool.call)}")


def _inner(function: Any) -> Any:
    """Return what a ``functools.partial`` was made of, else the function."""
    return _inner(function.func) if isinstance(function, functools.partial) else function


def looking_like(tool: Tool, begin: Callable[..., Script]) -> Callable[..., Any]:
    """Return a function with the name, docstring, annotations and signature of the tool that plays ``begin(…)``."""

    async def wrapped_async(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return await play_async(begin(tool, args, kwargs))

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return play(begin(tool, args, kwargs))

    made: Callable[..., Any] = wrapped_async if tool.is_async else wrapped
    if inspect.isfunction(tool.function) or inspect.ismethod(tool.function):
        return functools.wraps(tool.function)(made)
    return _dressed(made, tool)


def _dressed(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    """Dress the function as a partial or an object that can be called, which frameworks could not look through."""
    made: Any = function
    inner = _inner(tool.function)
    home = inner if inspect.isroutine(inner) else type(inner).__call__
    try:
        hints = typing.get_type_hints(home, include_extras=True)
    except Exception:
        hints = dict(getattr(home, "__annotations__", {}))
    parameters = [
        one.replace(annotation=hints.get(one.name, one.annotation)) for one in tool.signature.parameters.values()
    ]
    made.__signature__ = tool.signature.replace(
        parameters=parameters, return_annotation=hints.get("return", tool.signature.return_annotation)
    )
    made.__annotations__ = {
        name: hint for name, hint in hints.items() if name == "return" or name in tool.signature.parameters
    }
    made.__name__ = made.__qualname__ = getattr(inner, "__name__", tool.name)
    made.__doc__ = inspect.getdoc(home) if inspect.isroutine(inner) else inspect.getdoc(inner) or home.__doc__
    made.__module__ = getattr(inner, "__module__", made.__module__)
    return function
