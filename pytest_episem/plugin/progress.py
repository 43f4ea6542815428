"""Now and then a line in a terminal somebody watches: how far the run is, how fast, until when, at what cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pytest_episem.plugin.screen import watched

FIRST, EVERY = 10.0, 30.0
"""Seconds until the first line, and between two."""


class Progress:
    """Counts finished items of ours and prints a line every half minute.

    It writes only to a terminal, never with ``-q``, and begins a new line first, so that pytest's own progress, under
    xdist too, goes on as it was. ``total`` gives the number of items of ours, ``spent`` the US dollars so far
    (``None``: unknown).
    """

    def __init__(
        self,
        reporter: Any,
        total: Callable[[], int],
        spent: Callable[[], float | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reporter, self._total, self._spent, self._clock = reporter, total, spent, clock
        self._watched = watched(reporter)
        self._done = 0
        self._started = clock()
        self._next = self._started + FIRST

    def step(self) -> None:
        """Count one finished item; print a line if it is time for one."""
        self._done += 1
        now = self._clock()
        if self._watched and now >= self._next:
            self._next = now + EVERY
            self._print(self.line(now))

    def line(self, now: float) -> str:
        """Return what there is to say: ``episem 120/6352, 4.0/s, 26 min left, $0.42 so far``."""
        total, rate = self._total(), self._done / max(now - self._started, 1e-9)
        left = duration(max(total - self._done, 0) / max(rate, 1e-9))
        spent = self._spent()
        cost = "" if spent is None else f", ${spent:.2f} so far"
        return f"episem {self._done:,}/{total:,}, {speed(rate)}, {left} left{cost}"

    def _print(self, text: str) -> None:
        writer = self._reporter._tw
        if writer.width_of_current_line:
            writer.line()
        writer.line(text, light=True)
        self._reporter.currentfspath = None  # so that pytest names the file again before it goes on


def speed(rate: float) -> str:
    """Return items per second, or per minute where that is slower than one."""
    return f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"


def duration(seconds: float) -> str:
    """Return a rough time: ``40 s``, ``12 min``, ``2 h 05 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"
