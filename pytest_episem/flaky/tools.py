"""What the fixture ``episem_flaky`` gives: wraps tools, and judges what came of their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from pytest_episem.errors import suggestion
from pytest_episem.flaky.faults import FlakyError, choose
from pytest_episem.flaky.ledger import Effect, Ledger
from pytest_episem.flaky.provider import Provider
from pytest_episem.flaky.steps import play, play_async
from pytest_episem.flaky.story import story
from pytest_episem.flaky.tool import NOT_GIVEN, Part, Tool, describe, looking_like
from pytest_episem.flaky.values import same, shown
from pytest_episem.flaky.verdict import judge
from pytest_episem.text import printable

Function = TypeVar("Function", bound=Callable[..., Any])


class FlakyTools:
    """The tools of one test under one fault, and the ledger of what they really did.

    ``fault`` is the fault's name. ``call``: which call of each tool it strikes, from 1. ``late_after``: how many
    further calls of wrapped tools it takes until an effect that is late arrives; ``None``: it arrives at the end.
    ``unreached_ok``: a fault that was never reached is no error. Calls may come from any thread or asyncio task.
    Printed, it shows the ledger.

    Raises:
        FlakyError: an unknown fault, or a ``call`` or ``late_after`` that is no count.
    """

    def __init__(self, fault: str, call: int = 1, late_after: int | None = 1, unreached_ok: bool = False) -> None:
        (self.fault,) = choose([fault])
        if late_after is not None and (type(late_after) is not int or late_after < 1):
            raise FlakyError(f"late_after counts calls from 1, or is None for the end, and is {shown(late_after)}")
        if type(call) is not int or call < 1:
            raise FlakyError(f"call counts from 1, and is {shown(call)}")
        self._call = call
        self._unreached_ok = unreached_ok
        self._ledger = Ledger()
        self._provider = Provider(self.fault, self._ledger, late_after)
        self._tools: dict[str, tuple[Tool, Any, Any]] = {}

    def __call__(
        self,
        tool: Function,
        *,
        key: Part | None = None,
        intent: Sequence[str] | Callable[[dict[str, Any]], Any] | None = None,
        reads: bool = False,
        happened: Callable[[Any], bool] | None = None,
        error: Any = NOT_GIVEN,
        failure: Any = NOT_GIVEN,
        success: Any = NOT_GIVEN,
        call: int | None = None,
        name: str | None = None,
    ) -> Function:
        """Return a function like ``tool`` that the fault strikes.

        Args:
            tool: a function, a coroutine function, a method, a ``functools.partial``.
            key: the argument by which the provider knows a request again, or a function of the arguments by name. A
                request whose key is known is answered as before and not carried out, until the provider forgets it.
            intent: the arguments that tell what is wanted, of which one effect is right; all but the key by default.
                Or a function of the arguments.
            reads: it changes nothing: no fault strikes it, and it has no effects.
            happened: whether what the tool returned means that it had an effect; by default whatever returns had one.
            error: what a call without an answer raises, instead of ``TimeoutError``: an exception, its class, or a
                function of the arguments.
            failure: what a false failure is, as ``error``, or a value that is returned.
            success: what a false success is: a value, or a function of the arguments that returns it; by default what
                an earlier call in the test returned.
            call: which call of this tool the fault strikes, from 1; by default what the marker says, or the first.
            name: the tool's name in the ledger.

        Raises:
            FlakyError: ``tool`` cannot be wrapped, or has no such argument.
        """
        said = {
            "key": key, "intent": intent, "reads": reads, "happened": happened, "error": error, "failure": failure,
            "success": success, "call": self._call if call is None else call,
        }  # fmt: skip
        made = describe(tool, name, **said)
        with self._ledger.lock:
            known = self._tools.get(made.name)
            if known is not None:
                if same(known[0].function, tool) and known[1] == said:
                    return known[2]  # type: ignore[no-any-return]
                raise FlakyError(f"two tools are named {made.name}: give one another name=, or wrap it once")
            wrapped = looking_like(made, self._provider.call)
            self._tools[made.name] = made, said, wrapped
            self._provider.tools.append(made)
        return wrapped  # type: ignore[return-value]

    def effects(self, tool: Callable[..., Any] | str | None = None, **arguments: Any) -> list[Effect]:
        """Return what really happened so far, in order: of one tool or its name, and with these arguments.

        Raises:
            FlakyError: no such tool was wrapped, or it has no such argument.
        """
        name = None if tool is None else self._named(tool)
        with self._ledger.lock:
            self._know(name, arguments)
            return [
                effect
                for effect in self._ledger.effects
                if name in (None, effect.tool)
                and all(key in effect.arguments and same(effect.arguments[key], arguments[key]) for key in arguments)
            ]

    def check(self, claim: str | None = None) -> None:
        """Let what is late arrive, and fail unless each intent has one effect at most and the claim is so.

        The test's end checks without a claim by itself.

        Args:
            claim: what the agent reports: ``"done"``, which is so if everything that was called for, and not refused by
                the tool itself, happened exactly once; ``"not done"``, if nothing of it happened; ``"not known"``,
                which always is, but without a fault.

        Raises:
            FlakyFailure: with a text that shows the fault, the calls and the effects.
            FlakyError: no verdict can be had, for instance since the fault was never reached.
        """
        __tracebackhide__ = True
        play(self._provider.settle())
        self._judge(claim)

    async def acheck(self, claim: str | None = None) -> None:
        """As ``check``, from a coroutine: what is late arrives in its event loop."""
        __tracebackhide__ = True
        await play_async(self._provider.settle())
        self._judge(claim)

    def __str__(self) -> str:
        with self._ledger.lock:
            return story(self.fault, self._ledger)

    def _judge(self, claim: str | None) -> None:
        __tracebackhide__ = True
        with self._ledger.lock:
            judge(self._provider, self._unreached_ok, claim)

    def _named(self, tool: Any) -> str:
        for name, (made, _, wrapped) in self._tools.items():
            if tool == name or tool is wrapped or same(made.function, tool):
                return name
        asked = printable(getattr(tool, "__name__", tool))
        raise FlakyError(f"no tool {asked!r} was wrapped{suggestion(asked, self._tools)}")

    def _know(self, name: str | None, arguments: Iterable[str]) -> None:
        """Refuse arguments that no tool has: what is misspelt would have had no effect."""
        tools = [made for made, _, _ in self._tools.values() if name in (None, made.name)]
        known = {argument for made in tools for argument in made.signature.parameters}
        if any(made.open_ended for made in tools):
            return
        for argument in arguments:
            if argument not in known:
                where = name or "any wrapped tool"
                raise FlakyError(f"no argument {argument!r} in {where}{suggestion(argument, known)}")
