"""How a session ends: its exit code is settled before anybody reads it, and no process ends as if all were well."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import pytest

from pytest_episem.plugin.gate_notice import say

GOOD = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
"""The exit codes that nothing red may end with."""


class Ending:
    """Lets ``settle`` decide ahead of every ``pytest_sessionfinish``, and tells these what it decided.

    They are given the exit code as an argument that pytest took before the first of them ran: changed within one, it
    would reach neither the others nor ``pytest_terminal_summary``.
    """

    def __init__(self, config: pytest.Config, settle: Callable[[pytest.Session], None]) -> None:
        self._config = config
        self._settle = settle
        self._watching = self._settled = False

    def watch(self) -> None:
        """Begin to watch for the end; late, since pluggy then looks at every call of a hook."""
        if not self._watching:
            self._watching = True
            self._config.pluginmanager.add_hookcall_monitoring(self._before, lambda *_: None)

    def settle(self, session: pytest.Session) -> None:
        """Settle the exit code, once."""
        if self._settled:
            return
        self._settled = True
        try:
            self._settle(session)
        except KeyboardInterrupt:
            # As pytest does for one that comes earlier; its reporter relies on being told.
            self._config.hook.pytest_keyboard_interrupt(excinfo=pytest.ExceptionInfo.from_current())
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        except (SystemExit, pytest.exit.Exception) as end:
            # Whoever leaves halfway to the verdict leaves red; what follows still closes files and says so.
            code = _code_of(end)
            session.exitstatus = code if code not in GOOD else pytest.ExitCode.TESTS_FAILED

    def _before(self, name: str, _: Sequence[Any], arguments: Any) -> None:
        if name == "pytest_sessionfinish" and not self._settled:
            self.settle(arguments["session"])
            arguments["exitstatus"] = arguments["session"].exitstatus


def _code_of(end: BaseException) -> int:
    code = getattr(end, "returncode", getattr(end, "code", None))
    return code if isinstance(code, int) else pytest.ExitCode.TESTS_FAILED


class ExitGuard:
    """While it is entered, Python code that ends or replaces this process ends it red, after ``last_words``.

    Rollouts are played in threads: the first that ends the process speaks, and any other waits for that end. A process
    that an agent forked is none of ours. What native code does nobody can stop.
    """

    _ENDING = ("_exit", "execv", "execve")

    def __init__(self, config: pytest.Config, last_words: Callable[[str], str]) -> None:
        self._config = config
        self._last_words = last_words
        self._real: dict[str, Any] = {}
        self._pid = 0
        self._speaking = threading.RLock()  # never given back: the process ends
        self._spoke = False

    def __enter__(self) -> None:
        self._pid = os.getpid()
        for name in self._ENDING:
            self._real[name] = getattr(os, name)
            setattr(os, name, self._guarded(name))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _guarded(self, name: str) -> Callable[..., None]:
        def end(*arguments: Any) -> None:
            if os.getpid() != self._pid:
                self._real[name](*arguments)
            said, code = f"os.{name}", 0
            if name == "_exit":
                code = int(arguments[0]) if arguments else 0
                said = f"os._exit({code})"
            # The system keeps eight bits of a code: 256 is 0.
            self._end(said, code if code & 0xFF not in GOOD else int(pytest.ExitCode.TESTS_FAILED))

        return end

    def _end(self, said: str, code: int) -> None:
        try:
            self._speaking.acquire()
            if not self._spoke:  # else saying it called this again
                self._spoke = True
                self._say(f"{said} was called in the middle of the run")
        finally:
            self._real["_exit"](code)

    def _say(self, reason: str) -> None:
        with contextlib.suppress(BaseException):
            capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
            with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
                say(self._config, self._last_words(reason))
                reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
                if reporter is not None:
                    reporter.flush()
