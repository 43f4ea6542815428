"""A small bank of one shipped family, the command as users start it, and runs of agents with a known answer."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.agents import known_agent
from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.cli import main
from pytest_episem.evidence.bank import load_bank
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.runs.run import BankId, PlanTask, RunHeader
from pytest_episem.runs.runner import Runner
from pytest_episem.runs.store import TrialWriter

FAMILY = "finance/payment-authorization"
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def bank_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank that holds the family payment-authorization alone."""
    bank = tmp_path_factory.mktemp("bank") / "small"
    target = bank / "evidence" / f"{FAMILY}.yaml"
    target.parent.mkdir(parents=True)
    shutil.copy(shipped_bank_dir() / "evidence" / f"{FAMILY}.yaml", target)
    (bank / "VERSION").write_text("0.1\n", encoding="ascii")
    return bank


WORKFLOWS = ("finance/billing-chain", "finance/valid-key-recovery", "travel/trip-withdrawal")


@pytest.fixture(scope="session")
def workflow_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank that holds three workflows of the workflow suite and nothing of the other."""
    bank = tmp_path_factory.mktemp("bank") / "recoveries"
    for name in WORKFLOWS:
        target = bank / "workflows" / f"{name}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shipped_bank_dir() / "workflows" / f"{name}.yaml", target)
    (bank / "VERSION").write_text("0.2\n", encoding="ascii")
    return bank


@pytest.fixture(scope="session")
def both_dir(bank_dir: Path, workflow_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank of both suites: the family and the workflows."""
    bank = tmp_path_factory.mktemp("bank") / "both"
    shutil.copytree(bank_dir, bank)
    shutil.copytree(workflow_dir / "workflows", bank / "workflows")
    return bank


@pytest.fixture
def episem_process(tmp_path: Path) -> Command:
    """Start ``episem`` as users do, in a directory of its own; never in a terminal."""

    def run(*arguments: object, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        given = {name: value for name, value in os.environ.items() if name not in _DISPLAY}
        return subprocess.run(
            [sys.executable, "-m", "pytest_episem.cli", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            cwd=tmp_path,
            env={**given, "PYTHONIOENCODING": "utf-8", **environment},
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def episem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The same without a process, which is much faster: the streams are those of a pipe."""

    def run(*arguments: object, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with monkeypatch.context() as patch:
            for name in _DISPLAY:
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.chdir(tmp_path)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = main([str(argument) for argument in arguments])
        texts = [stream.buffer.getvalue().decode() for stream in (out, err) if stream.flush() is None]
        return subprocess.CompletedProcess(list(arguments), code, *texts)

    return run


_DISPLAY = {"COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM", "EPISEM_DEBUG"}


@pytest.fixture(scope="session")
def make_run(bank_dir: Path) -> Callable[..., Path]:
    """Write a run of a built-in agent over instances of the small bank and return its directory."""
    bank = load_bank(bank_dir)

    def make(directory: Path, agent: str, instances: tuple[str, ...] = ("pr-58217",), **changes: Any) -> Path:
        tasks = [bank.task(f"{FAMILY}/{instance}") for instance in instances]
        plan = [PlanTask(t.id, t.domain, t.family, list(t.critical), list(t.irrelevant), 15) for t in tasks]
        header = RunHeader(
            run=directory.name,
            model=agent,
            agent=None,
            protocol_version="1.0",
            plugin_version="0.1.0",
            bank=BankId(bank.name, bank.version, bank.hash),
            settings={"repeats": 1, "turn_limit": 12, **changes},
            search_seed="0",
            started="2033-01-01T00:00:00+00:00",
            plan=plan,
        )
        header.save(directory)
        runner = Runner(bank)
        for task in tasks:
            for condition in fixed_conditions(task.id, task.critical, task.irrelevant):
                runner.run(condition, known_agent(agent))
            runner.search(task, known_agent(agent))
        with TrialWriter(directory, header.run, header.label) as writer:
            for trial in runner.take_finished():
                writer.write(trial)
        return directory

    return make
