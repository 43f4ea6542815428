"""The retained reports: the built-in agents over the whole shipped bank, and the workflow suite's controllers over all
of theirs, as a worked example of every output.

``python tests/tools/retained.py`` writes them anew into ``reports/``; ``--check`` only says whether they are
what the code, the bank and the agents at hand give, and exits 1 if not. Times and names of runs, which no two runs
share, are left out, so that equal code gives equal files.
"""

from __future__ import annotations

import base64
import re
import shutil
import sys
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

from retained_workflows import write_retained_workflows

from pytest_episem import __version__
from pytest_episem.agents import known_agent, known_agent_names
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import Bank, shipped_bank
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.evidence.world.instruction import DEFAULT_INSTRUCTION
from pytest_episem.report.write import write_runs
from pytest_episem.runs.run import BankId, PlanTask, RunHeader
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.runner import Runner, RunSettings
from pytest_episem.runs.version import PROTOCOL_VERSION
from pytest_episem.workflows.bank.load import shipped_workflows

HOME = Path(__file__).resolve().parents[2] / "reports"
FORMATS = ("json", "md")
TOGETHER = ("md", "html")
_PACKED = re.compile(r'(<script type="text/plain" id="[^"]*">)([A-Za-z0-9+/=]*)(</script>)')


def retained_run(name: str, bank: Bank) -> Run:
    """Run a built-in agent over every condition of ``bank`` (protocol, section 4)."""
    agent, runner = known_agent(name), Runner(bank)
    for task in bank.tasks.values():
        for condition in fixed_conditions(task.id, task.critical, task.irrelevant):
            runner.run(condition, agent)
        runner.search(task, agent)
    trials = [replace(trial, seconds=0.0) for trial in runner.take_finished()]
    return Run(_header(name, bank, runner.settings), {trial.condition: trial for trial in trials})


def _header(name: str, bank: Bank, settings: RunSettings) -> RunHeader:
    tasks = sorted(bank.tasks.values(), key=lambda task: task.id)
    return RunHeader(
        run=name.partition("/")[2],
        model=name,
        agent=None,
        protocol_version=PROTOCOL_VERSION,
        plugin_version=__version__,
        bank=BankId.of(bank),
        settings={"repeats": 1, "instruction": DEFAULT_INSTRUCTION},
        search_seed=settings.search_seed,
        started="time not kept",
        plan=[_plan(task.id, bank) for task in tasks],
    )


def _plan(task_id: str, bank: Bank) -> PlanTask:
    task = bank.task(task_id)
    selected = len(fixed_conditions(task.id, task.critical, task.irrelevant)) + 1  # and the boundary search
    return PlanTask(task.id, task.domain, task.family, list(task.critical), list(task.irrelevant), selected)


def write_retained(out: Path) -> list[Path]:
    """Write a folder an agent (numbers and Markdown), the common page of all, and the workflow suite's; return the
    files."""
    bank = shipped_bank()
    runs = [retained_run(name, bank) for name in known_agent_names("evidence")]
    files: list[Path] = []
    for run in runs:
        files += write_runs([run], out / run.header.run, [bank], formats=FORMATS).files
    files += write_runs(runs, out, [bank], formats=TOGETHER).files
    return files + write_retained_workflows(shipped_workflows(), out / "workflows")


def differences(home: Path, fresh: Path, files: list[Path]) -> list[str]:
    """Return which of ``files``, written below ``fresh``, are missing or other below ``home``."""
    names = [file.relative_to(fresh) for file in files]
    return [name.as_posix() for name in names if _content(home / name) != _content(fresh / name)]


def _content(path: Path) -> bytes | None:
    """A file's content; packed data unpacked, since compressors differ between machines."""
    if not path.is_file():
        return None
    text = path.read_bytes()
    if path.suffix != ".html":
        return text.replace(b"\r\n", b"\n")
    return _PACKED.sub(_unpacked, text.decode()).encode()


def _unpacked(found: re.Match[str]) -> str:
    try:
        text = zlib.decompress(base64.b64decode(found.group(2))).decode("ascii")
    except (ValueError, zlib.error):
        return found.group()
    return f"{found.group(1)}{text}{found.group(3)}"


def main(arguments: list[str]) -> int:
    """Write the retained reports, or with ``--check`` compare them; return the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: python tests/tools/retained.py [--check]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        files = write_retained(fresh)
        if arguments:
            changed = differences(HOME, fresh, files)
            for name in changed:
                print(f"reports/{name} is not what this code gives; run python tests/tools/retained.py")
            return 1 if changed else 0
        for file in files:
            target = HOME / file.relative_to(fresh)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            print(f"reports/{file.relative_to(fresh).as_posix()}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except EpisemError as error:
        sys.exit(f"error: {error}")
