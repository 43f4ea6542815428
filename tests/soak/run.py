"""A long run through everything that goes wrong in one: ``python tests/soak/run.py [--quick | --pairs N]``.

A server on this machine plays like ``episem/careful``, and refuses, fails, resets, cuts and delays a part of what it
is asked. The whole bank runs against it through litellm, in three sessions: in the first two workers are killed, then
comes a Ctrl-C; in the second, which resumes it, another worker is killed; the third resumes what is left. At the end no
record may be lost or doubled, the six metrics must be those of the protocol's table, memory must be flat, and no
process may be left. About 10,000 rollouts and 25,000 requests; ``--quick`` takes a tenth and leaves out the memory,
which takes a while to be flat. Linux only, and no part of the plain ``pytest``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from careful_model import CarefulModel
from model_server import CUT, RESET, ModelServer, Reply, Request, fail, say

from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.runs.run_dir import open_run
from pytest_episem.runs.store import iter_trials

CAREFUL = {"full_sws": 100, "full_ucr": 0, "critical_ucr": 0, "sbm": 100, "recovery_ucr": 0, "pur": 100}
TIMEOUT = 10
"""Seconds that one request may take; a slow answer takes longer."""
FAULTS = {
    "429": (0.08, fail(429, "slow down")),
    "429 with Retry-After": (0.02, fail(429, "slow down", headers={"Retry-After": "0.2"})),
    "500": (0.03, fail(500)),
    "reset": (0.03, RESET),
    "cut": (0.03, CUT),
    "slow": (0.002, Reply(say("too late").body, seconds=TIMEOUT + 4)),
}
MARGIN = 0.10
"""How much more memory a process may use in the last third of its session than in the middle third."""
ITEMS, KEPT = 6352 / 300, 0.010
"""Items a pair, and the MB that pytest's controller keeps of each: its reports, 9 kB without any plugin. At most half
of the items lie between the middle third's median and the last third's."""
TRIALS = 32
"""About so many trials has a pair; so many may run twice when a worker dies in the middle of it."""


class Moody:
    """The careful model on a bad day; counts what it did."""

    def __init__(self, seed: int) -> None:
        self._model = CarefulModel(shipped_bank().tasks.values(), together=True)
        self._dice = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        fate = self._dice.random()
        for name, (share, reply) in FAULTS.items():
            fate -= share
            if fate < 0:
                self.counts[name] += 1
                return reply
        self.counts["answered"] += 1
        text, calls = self._model(body)
        return say(text, calls or None)


class Forgetful(list[Request]):
    """Takes requests and keeps none."""

    def append(self, request: Request) -> None:
        pass


# Processes ------------------------------------------------------------------------------------------------------------


def processes() -> dict[int, tuple[int, int, str]]:
    """Return parent, session and state of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry.name)] = (int(fields[1]), int(fields[3]), fields[0])
    return found


def memory(process: int) -> float:
    """Return the resident memory of a process in MB; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, IndexError):
        return 0.0


@dataclass
class Session:
    """One session of pytest, watched: at shares of the records it is to reach, something is done to it."""

    options: list[str]
    folder: Path
    wanted: int
    plan: list[tuple[float, str]] = field(default_factory=list)
    samples: dict[int, list[float]] = field(default_factory=dict)
    controller: int = 0
    killed: int = 0

    def run(self, url: str) -> int:
        """Run it to its end and return the exit code."""
        args = json.dumps({"timeout": TIMEOUT})
        command = [sys.executable, "-m", "pytest", "--episem-model=openai/scripted", f"--episem-api-base={url}"]
        command += [f"--episem-model-args={args}", "--episem-min-pur=100", "--episem-max-full-ucr=0", "-q"]
        command += ["-p", "no:cacheprovider", "-p", "no:rerunfailures", "--episem-concurrency=16", *self.options]
        with (self.folder / "output.txt").open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, "OPENAI_API_KEY": "x"},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.controller = process.pid
            try:
                while process.poll() is None:
                    self._watch()
                    time.sleep(0.5)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return process.returncode

    def _watch(self) -> None:
        workers = [pid for pid, (parent, _, state) in processes().items() if parent == self.controller and state != "Z"]
        for pid in (self.controller, *workers):
            self.samples.setdefault(pid, []).append(memory(pid))
        if self.plan and workers and lines(self.folder) >= self.plan[0][0] * self.wanted:
            _, deed = self.plan.pop(0)
            if deed == "kill":
                os.kill(random.choice(workers), signal.SIGKILL)
                self.killed += 1
            else:
                os.killpg(self.controller, signal.SIGINT)

    def left(self) -> list[int]:
        """Return the processes of the session that still run; they get a few seconds."""
        for _ in range(20):
            still = [
                pid for pid, (_, session, state) in processes().items() if session == self.controller and state != "Z"
            ]
            if not still:
                break
            time.sleep(0.5)
        return still

    def growth(self) -> Iterable[tuple[str, float, float]]:
        """Yield the memory in the middle and in the last third, of the controller and of workers that stayed."""
        most = max(len(samples) for samples in self.samples.values())
        for pid, samples in self.samples.items():
            used = [sample for sample in samples if sample]
            if len(used) >= max(9, most * 3 // 4):  # one that replaced another is still growing up
                third = len(used) // 3
                middle, last = statistics.median(used[third : 2 * third]), statistics.median(used[2 * third :])
                yield "controller" if pid == self.controller else "worker", middle, last


def lines(folder: Path) -> int:
    try:
        return (folder / "run" / "trials.jsonl").read_bytes().count(b"\n")
    except OSError:
        return 0


# What is checked ------------------------------------------------------------------------------------------------------


class Findings:
    """What was looked at; prints each and remembers what is wrong."""

    def __init__(self) -> None:
        self.wrong = 0

    def note(self, good: bool, text: str) -> None:
        self.wrong += not good
        print(f"{'ok     ' if good else 'WRONG  '} {text}", flush=True)


def check_records(found: Findings, run: Path, killed: int) -> None:
    header = open_run(run, events=False)
    completed = Counter(
        line.trial.condition
        for line in iter_trials(run / "trials.jsonl", events=False)
        if line.trial is not None and line.trial.completed
    )
    tasks = [task for task in header.plan if task.selected]
    wanted = {
        condition
        for task in tasks
        for condition in fixed_conditions(task.task, task.critical, task.irrelevant, 1, False)
    }
    lost = wanted - completed.keys()
    found.note(
        not lost, f"{len(wanted)} fixed conditions of {len(tasks)} pairs, {len(lost)} without a completed record"
    )
    twice = {condition for condition, count in completed.items() if count > 1}
    pairs = {condition.task for condition in twice}
    told = f"{len(twice)} conditions ran twice, in {len(pairs)} pairs whose worker was killed"
    found.note(len(pairs) <= killed * 4 and len(twice) <= len(pairs) * TRIALS, told)
    found.note(header.torn == 0, f"{len(header.trials)} trials after reading, {header.torn} torn lines")
    summary = summarize(header)
    values = {name: metric.value for name, metric in summary.six.items()}
    found.note(values == CAREFUL, f"six metrics {values}")
    found.note(all(metric.coverage == 1 for metric in summary.six.values()), "coverage of all six is complete")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=300, help="how many of the 300 pairs")
    parser.add_argument("--quick", action="store_true", help="30 pairs, and memory is not looked at")
    options = parser.parse_args()
    quick, count = options.quick, 30 if options.quick else options.pairs
    found, moody, started = Findings(), Moody(seed=7), time.monotonic()
    server = ModelServer()
    server.requests, server.then = Forgetful(), moody
    pairs = [f"--episem-sample={count}"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = count * TRIALS
        sessions = [
            (
                Session(
                    ["-n2", "--episem-out=run", *pairs], folder, wanted, [(0.1, "kill"), (0.2, "kill"), (0.3, "stop")]
                ),
                2,
            ),
            (Session(["-n4", "--episem-resume=run", *pairs], folder, wanted, [(0.6, "kill")]), 1),
            (Session(["-n2", "--episem-resume=run", *pairs], folder, wanted), 0),
        ]
        for number, (session, expected) in enumerate(sessions, 1):
            before = time.monotonic()
            code = session.run(server.url)
            told = (
                f"session {number}: exit code {code} after {time.monotonic() - before:.0f} s, {lines(folder)} records"
            )
            found.note(code == expected and not session.plan, told)
            if code != expected:
                print((folder / "output.txt").read_text()[-3000:])
            left = session.left()
            found.note(not left, f"session {number}: {len(left)} processes left")
            if number < 3 and not quick:
                for who, middle, last in session.growth():
                    most = middle * (1 + MARGIN) + (count * ITEMS / 2 * KEPT if who == "controller" else 0)
                    told = f"{who} used {middle:.0f} MB in the middle third, {last:.0f} MB in the last"
                    found.note(last <= most, f"session {number}: {told} (at most {most:.0f})")
        check_records(found, folder / "run", sum(session.killed for session, _ in sessions))
    server.close()
    print(f"requests: {dict(moody.counts)}, {time.monotonic() - started:.0f} s")
    print("all as it must be" if not found.wrong else f"{found.wrong} WRONG")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
