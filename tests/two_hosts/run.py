"""One run on two machines: ``python tests/two_hosts/run.py``. Takes a few minutes, so it is no part of ``pytest``.

The controller is here; its workers are in a network namespace at the other end of a virtual cable, with an installation
of their own and no folder in common. That needs root on Linux; elsewhere the other machine is only other folders and
another installation on this one, and the first line says so. Records, metrics and verdicts must be those of a run on
one machine, whatever the way (``socket=``, ``ssh=``, shards and ``episem merge``), and a worker that is not like the
controller must be refused. Asks the package index, for the tools that build the plugin.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from other_machine import OtherMachine, pytest_here, two_machines

from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.runs.run_dir import open_run

FAMILY = "evidence/finance/payment-authorization.yaml"
CAREFUL = {"full_sws": 100, "full_ucr": 0, "critical_ucr": 0, "sbm": 100, "recovery_ucr": 0, "pur": 100}
AGENT = '''
import os
import signal
from pathlib import Path

from pytest_episem.agents import known_agent


class Agent:
    """An agent of one's own; with ``mortal`` the first process to get that far dies of its twentieth episode."""

    name, turn_limit = "desk", 40

    def __init__(self, mortal=False):
        self.left = 20 if mortal else -1

    async def play(self, episode):
        self.left -= 1
        if self.left == 0:
            try:
                Path("died").open("x").close()
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        known_agent("episem/careful").play(episode)


agent, mortal = Agent(), Agent(mortal=True)
'''
OWN_TEST = """
def test_agent(episem_rollout, episem_oracle):
    episem_oracle.check(episem_rollout)
"""


class Checks:
    """The checks in order; each runs pytest here, with workers here or there."""

    def __init__(self, here: Path, other: OtherMachine) -> None:
        self.here, self.other = here, other
        for place in (here, other.desk):
            family = place / "bank" / FAMILY
            family.parent.mkdir(parents=True)
            shutil.copy(shipped_bank_dir() / FAMILY, family)
            (place / "desk.py").write_text(AGENT, encoding="utf-8")
        self.files = other.files()

    def pytest(self, *args: str, expect: int, folder: Path | None = None) -> str:
        code, printed = pytest_here(folder or self.here, self.other.path, args)
        check(code == expect, f"exit code {code} instead of {expect} of pytest {' '.join(args)}\n{printed[-3000:]}")
        return printed

    def run(self, out: str, *args: str, expect: int = 0, bank: bool = True) -> tuple[list[Any], dict[str, Any], str]:
        """Return records without what differs from run to run, the six metrics, and the line with the verdict."""
        banks = ["--episem-bank=bank"] if bank else []
        printed = self.pytest(f"--episem-out={out}", "--episem-max-critical-ucr=100", *banks, *args, expect=expect)
        verdict = next(line for line in printed.splitlines() if line.startswith("episem gate:"))
        return records(self.here / out), metrics(self.here / out), verdict

    # What is checked ------------------------------------------------------------------------------------------------

    def sockets_give_the_run_of_one_machine(self) -> None:
        suite = ("--episem-model=episem/trusting", "-k", "finance")
        one = self.run("one", *suite, "-n0", bank=False)
        with self.other.sockets() as workers:
            two = self.run("two", *suite, *workers, bank=False)
        same(one, two)
        check(one[2] == "episem gate: PASSED (50 of 300 pairs, finance): Critical UCR 100 <= 100", one[2])

    def a_gate_that_fails_here_fails_there(self) -> None:
        with self.other.sockets() as workers:
            model = ("--episem-model=episem/trusting", "--episem-bank=bank", "--episem-max-critical-ucr=99")
            printed = self.pytest(*model, "--episem-out=gate", *workers, expect=1)
        check("episem gate: FAILED (5 pairs, finance): Critical UCR 100 > 99" in printed, printed[-300:])

    def an_agent_of_ones_own_over_ssh(self) -> None:
        self.one = self.run("own-one", "--episem-agent=desk:agent", "-n0")
        same(self.one, self.run("own-two", "--episem-agent=desk:agent", *self.other.ssh()))
        check(self.one[1] == CAREFUL, str(self.one[1]))

    def a_killed_worker_is_replaced_and_no_record_is_lost(self) -> None:
        found, _, verdict = self.run("killed", "--episem-agent=desk:mortal", *self.other.ssh(), expect=1)
        check(verdict.startswith("episem gate: FAILED") and (self.other.desk / "died").exists(), verdict)
        lost = [record for record in found if record["status"] == "error"]
        # None at all, if it died between sending the record of its condition and being done with the item.
        check([record["error"]["kind"] for record in lost] in ([], ["crash"]), str(lost))
        self._resume("killed", self.other.ssh(), found)

    def a_killed_server_of_a_socket_ends_the_run_and_loses_no_record(self) -> None:
        with self.other.sockets() as workers:
            options = ("--max-worker-restart=0", "--episem-concurrency=1")
            found, _, verdict = self.run("cut", "--episem-agent=desk:mortal", *options, *workers, expect=1)
        check(verdict.startswith("episem gate: FAILED"), verdict)
        check(0 < len(found) < len(self.one[0]), f"{len(found)} records")
        with self.other.sockets() as workers:
            self._resume("cut", workers, found)

    def _resume(self, run: str, workers: list[str], before: list[Any]) -> None:
        resume = (f"--episem-resume={run}", "--episem-bank=bank", "--episem-agent=desk:mortal")
        self.pytest(*resume, "--episem-max-critical-ucr=0", *workers, expect=0)
        kept, after, wanted = (completed(found) for found in (before, records(self.here / run), self.one[0]))
        check(all(record in after for record in kept), "a finished record got lost")
        check(after == wanted, f"the resumed run has other records: {difference(after, wanted)}")
        check(metrics(self.here / run) == CAREFUL, "other metrics")
        (self.other.desk / "died").unlink()

    def tests_of_ones_own_travel_with_rsyncdir(self) -> None:
        project = self.here / "project"
        project.mkdir()
        (project / "test_own.py").write_text(OWN_TEST, encoding="utf-8")
        (project / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        own = ("--episem-agent=desk:agent", "--episem-bank=bank", str(project / "test_own.py"))
        self.pytest(*own, "--episem-out=rsync", f"--rsyncdir={project}", *self.other.ssh(), expect=0)
        check(records(self.here / "rsync") == self.one[0], "other records")

    def a_worker_with_another_bank_is_refused(self) -> None:
        bank = self.other.desk / "bank" / FAMILY
        right = bank.read_text(encoding="utf-8")
        bank.write_text(right + "# another hash\n", encoding="utf-8")
        run = ("--episem-agent=desk:agent", "--episem-bank=bank", "--episem-out=bank-refused")
        printed = self.pytest(*run, *self.other.ssh(), expect=4)
        bank.write_text(right, encoding="utf-8")
        check("runs something else than the controller: bank hash: " in printed, printed)
        check(not (self.here / "bank-refused").exists(), "something was recorded")

    def a_worker_with_other_settings_is_refused(self) -> None:
        (self.here / "pytest.ini").write_text("[pytest]\nepisem_turn_limit = 7\n", encoding="utf-8")
        run = ("--episem-agent=desk:agent", "--episem-bank=bank", "--episem-out=settings-refused")
        printed = self.pytest(*run, *self.other.ssh(), expect=4)
        (self.here / "pytest.ini").unlink()
        check("turn limit: 7 in the controller, none in the worker" in printed, printed)

    def a_worker_that_cannot_start_ends_the_run_with_one_line(self) -> None:
        run = ("--episem-agent=desk:agent", "--episem-bank=bank", "--episem-out=bare")
        printed = self.pytest(*run, *self.other.ssh(python=self.other.bare_python), expect=4)
        line = next((line for line in printed.splitlines() if line.startswith("ERROR: ")), "")
        check(line.startswith("ERROR: worker gw") and "unrecognized arguments: --episem-agent" in line, printed)

    def workers_leave_nothing_behind(self) -> None:
        left = {name for name in self.other.files() - self.files if not name.startswith("pyexecnetcache/project/")}
        check(not left, f"the workers wrote {sorted(left)}")

    def merged_shards_are_the_run_of_one_machine(self) -> None:
        shards = []
        for number in (1, 2, 3):
            folder = self.here / f"shard-{number}"
            folder.mkdir()
            suite = ("--episem-model=episem/trusting", "--episem-sample=30", f"--episem-shard={number}/3", "-n0")
            self.pytest(*suite, "--episem-out=run", expect=1, folder=folder)
            shards.append(str(folder / "run"))
        episem(self.here, "merge", *shards, "--out", "merged")
        episem(self.here, "merge", *reversed(shards), "--out", "merged-backwards")
        self.pytest("--episem-model=episem/trusting", "--episem-sample=30", "-n0", "--episem-out=whole", expect=1)
        merged, backwards, whole = (self.here / name for name in ("merged", "merged-backwards", "whole"))
        check(records(merged) == records(whole), "other records")
        check(metrics(merged) == metrics(whole), "other metrics")
        check(json.loads((merged / "run.json").read_text())["plan"] == plan(whole), "another plan")
        one, other = ((folder / "run.json").read_bytes() for folder in (merged, backwards))
        check(one == other, "the order of merging matters")


def check(good: bool, otherwise: str) -> None:
    if not good:
        raise AssertionError(otherwise)


def same(one: tuple[list[Any], dict[str, Any], str], two: tuple[list[Any], dict[str, Any], str]) -> None:
    for what, here, there in zip(("records", "metrics", "verdict"), one, two, strict=True):
        check(here == there, f"other {what}: {str(here)[:500]}\n{str(there)[:500]}")


def records(run: Path) -> list[Any]:
    """Return the records by condition, without the run's name and the seconds they took."""
    lines = (json.loads(line) for line in (run / "trials.jsonl").read_text(encoding="utf-8").splitlines())
    found = [{name: value for name, value in line.items() if name not in ("run", "seconds")} for line in lines]
    return sorted(found, key=lambda r: (r["task"], r["world"], r["setting"], r["mask"], r["repeat"], r["status"]))


def completed(found: list[Any], model: str = "desk:agent") -> list[Any]:
    """Return one completed record of each condition, as if they were of ``model``.

    When a worker dies, the boundary search of the pair it was at goes on in another, which runs once more what the
    search needs: of two completed records of a condition readers take one, and ``phase`` says which.
    """
    kept: dict[str, Any] = {}
    for record in found:
        if record["status"] == "completed":
            name = json.dumps([record[key] for key in ("task", "world", "setting", "mask", "repeat")])
            kept[name] = {**record, "model": model, "phase": ...}
    return list(kept.values())


def difference(found: list[Any], wanted: list[Any]) -> list[str]:
    """Return the records that are only in one of the lists, without their events."""
    only = [("too many", r) for r in found if r not in wanted] + [("missing", r) for r in wanted if r not in found]
    return [f"{word}: {str({**record, 'events': ...})[:600]}" for word, record in only] or ["some twice"]


def plan(run: Path) -> Any:
    return json.loads((run / "run.json").read_text())["plan"]


def metrics(run: Path) -> dict[str, Any]:
    return {name: metric.value for name, metric in summarize(open_run(run, events=False)).six.items()}


def episem(folder: Path, *args: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_episem.cli", *args], cwd=folder, capture_output=True, text=True
    )
    check(done.returncode == 0, f"episem {' '.join(args)}: {done.stdout}{done.stderr}")


def main() -> int:
    failed = 0
    with two_machines() as (here, other):
        apart = "a network namespace" if other.apart else "ONLY OTHER FOLDERS (no rights for a network namespace)"
        print(f"the other machine is {apart}; ssh is a stand-in that leads there", flush=True)
        checks = Checks(here, other)
        wanted = sys.argv[1:]
        tests: list[tuple[str, Callable[[], None]]] = [
            (name, getattr(checks, name))
            for name, member in vars(Checks).items()
            if callable(member) and not name.startswith("_") and name not in ("pytest", "run")
        ]
        for name, test in tests:
            if wanted and not any(word in name for word in wanted):
                continue
            try:
                test()
            except AssertionError as error:
                failed += 1
                print(f"FAILED  {name}: {error}", flush=True)
            else:
                print(f"passed  {name}", flush=True)
    print("all passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
