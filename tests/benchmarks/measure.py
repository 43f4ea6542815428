"""Running commands and counting what they cost: CPU of the whole process tree, and time on the clock."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FORGOTTEN = ("PYTEST_", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "EPISEM_", "INSPECT_", "GITHUB_", "COV_", "CI")
LINGER = 10.0
"""Seconds that processes which a command left behind get to end."""


class Failed(Exception):
    """A command did not do what is measured."""


@dataclass(frozen=True)
class Figure:
    """One quantity over several rounds. Arithmetic is done on the minimum and on the median, each with its like."""

    minimum: float
    median: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        return cls(min(values), statistics.median(values))

    def __sub__(self, other: Figure) -> Figure:
        return Figure(self.minimum - other.minimum, self.median - other.median)

    def __truediv__(self, other: Figure | float) -> Figure:
        least, usual = (other.minimum, other.median) if isinstance(other, Figure) else (other, other)
        return Figure(_ratio(self.minimum, least), _ratio(self.median, usual))

    def __mul__(self, factor: float) -> Figure:
        return Figure(self.minimum * factor, self.median * factor)

    def __format__(self, spec: str) -> str:
        return f"{self.minimum:{spec}} ({self.median:{spec}})"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _ratio(above: float, below: float) -> float:
    return above / below if below else float("nan")


@dataclass(frozen=True)
class Ran:
    """What one command took, in seconds of CPU (user and system, with all its processes) and of the clock."""

    cpu: float
    wall: float
    output: str
    count: int = 0
    """Trials or items, as the measured thing itself counts them."""
    items: int = 0
    """What pytest ran or collected, where it is pytest."""


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a user who set nothing of pytest's, ours or Inspect's."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FORGOTTEN)} | more


def run(command: Sequence[str | Path], cwd: Path, env: Mapping[str, str], codes: Sequence[int] = (0,)) -> Ran:
    """Run a command to its end and to that of every process it started.

    Raises:
        Failed: its exit code is not among ``codes``.
    """
    _adopt_orphans(True)
    before, start = _children(), time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env=dict(env),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate()
        wall = time.perf_counter() - start
        _await_orphans(process.pid)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        _adopt_orphans(False)
    if process.returncode not in codes:
        shown = " ".join(str(part) for part in command)
        raise Failed(f"{shown}\nexit code {process.returncode}:\n{output[-3000:]}")
    return Ran(_children() - before, wall, output)


def alternate(rounds: int, sides: Mapping[str, Callable[[], Ran]], warm: Sequence[str] = ()) -> dict[str, list[Ran]]:
    """Run the sides in turn, A B A B …; before it those of ``warm`` once unmeasured, so that caches on disk are filled.

    Raises:
        Failed: the count of a side is not the same in every round.
    """
    for name in warm:
        sides[name]()
    ran: dict[str, list[Ran]] = {name: [] for name in sides}
    for number in range(1, rounds + 1):
        for name, side in sides.items():
            ran[name].append(side())
            _say(f"  {number}/{rounds} {name}: CPU {ran[name][-1].cpu:.2f} s, time {ran[name][-1].wall:.2f} s")
    for name, runs in ran.items():
        if len({one.count for one in runs}) != 1:
            raise Failed(f"{name}: counts differ from round to round: {[one.count for one in runs]}")
    return ran


def cpu(runs: Sequence[Ran]) -> Figure:
    """Return the CPU seconds of several runs."""
    return Figure.of([one.cpu for one in runs])


def wall(runs: Sequence[Ran]) -> Figure:
    """Return the seconds on the clock of several runs."""
    return Figure.of([one.wall for one in runs])


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _adopt_orphans(adopt: bool) -> None:
    """On Linux, become the parent of processes whose own parent ends first, so that their CPU is counted too."""
    if sys.platform == "linux":
        pr_set_child_subreaper = 36
        ctypes.CDLL(None).prctl(pr_set_child_subreaper, int(adopt), 0, 0, 0)


def _await_orphans(group: int) -> None:
    end = time.monotonic() + LINGER
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, _ = os.waitpid(-group, os.WNOHANG)
            if not ended:
                if time.monotonic() > end:
                    os.killpg(group, signal.SIGKILL)
                time.sleep(0.01)
