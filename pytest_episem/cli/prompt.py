"""Lines that a person types, or a script pipes in."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from pytest_episem.cli.output import on_terminal, write
from pytest_episem.records.text import printable

LEAVE = ("quit", "exit")


def typed_lines(prompt: Callable[[], str]) -> Iterator[str]:
    """Yield what is typed until the input ends or says ``quit``; ``?`` is a call for help."""
    for line in _lines(prompt):
        word = line.strip().lower()
        if word in LEAVE:
            return
        yield "help" if word == "?" else line


def _lines(prompt: Callable[[], str]) -> Iterator[str]:
    """Yield lines, with editing and history on a terminal; from a pipe echo them after the prompt."""
    if on_terminal(sys.stdin):
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - its import gives input() line editing
        with contextlib.suppress(EOFError):
            while True:
                write("\n")
                yield input(prompt())
        write("\n")
        return
    for line in sys.stdin:
        write(f"\n{prompt()}{printable(line)}\n")
        yield line
