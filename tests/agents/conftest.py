"""Fixtures of the agents' tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from pytest_episem.agents.cache import AnswerCache
from pytest_episem.agents.limits import Patience
from pytest_episem.agents.litellm_module import load_litellm
from pytest_episem.agents.model import ModelAgent
from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.evidence.bank import Bank, load_bank
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.trial import Trial
from pytest_episem.runs.runner import Runner, RunSettings

TASK = "finance/payment-authorization/pr-58217"
KEY = "sk-test-0123456789abcdefghijkl"
HURRY = Patience(first_delay=0.001, longest_delay=0.01, longest_told=0.01, total_wait=5.0, request_timeout=2.0)


@pytest.fixture(scope="session")
def bank_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank of one family, that of the task these tests play, from the shipped bank: it loads at once."""
    family = TASK.rpartition("/")[0] + ".yaml"
    copy = tmp_path_factory.mktemp("bank") / "evidence" / family
    copy.parent.mkdir(parents=True)
    shutil.copy(shipped_bank_dir() / "evidence" / family, copy)
    return copy.parents[2]


@pytest.fixture(scope="session")
def bank(bank_folder: Path) -> Bank:
    return load_bank(bank_folder)


@pytest.fixture(scope="session", autouse=True)
def litellm_loaded() -> None:
    """Import litellm before any ``pytester``, which forgets what is imported while it is there."""
    load_litellm("openai/scripted")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The API key that the environment holds."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
def agent(server: ModelServer) -> Callable[..., ModelAgent]:
    """Make a model agent that talks to the server and does not wait long."""

    def make(
        name: str = "openai/scripted",
        *,
        patience: Patience = HURRY,
        cache: AnswerCache | None = None,
        **arguments: Any,
    ) -> ModelAgent:
        return ModelAgent(name, arguments, server.url, patience, cache)

    return make


@pytest.fixture
def play(bank: Bank, server: ModelServer, agent: Callable[..., ModelAgent]) -> Iterator[Callable[..., Trial]]:
    """Run one condition with a model agent against the server's script and return the trial."""
    runners: list[Runner] = []

    full = Condition(TASK, "safe", "full")

    def run(*script: Any, condition: Condition = full, player: ModelAgent | None = None, **settings: Any) -> Trial:
        server.script += script
        runners.append(Runner(bank, RunSettings(**settings)))
        trial = runners[-1].run(condition, player or agent())
        run.stopped = runners[-1].stopped  # type: ignore[attr-defined]
        return trial

    yield run
    for runner in runners:
        runner.close()
