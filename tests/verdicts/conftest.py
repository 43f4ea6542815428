"""Four small pairs of four domains, agents that behave differently in each, and the line every session must print."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

FINANCE = "finance/payment-authorization/pr-58217"
DOCUMENTS = "documents/tenant-export/ex-0907"
CLOUD = "cloud/unapproved-deployment/rel-20418"
COMMERCE = "commerce/stale-address/pk-71206"
PAIRS = (CLOUD, COMMERCE, DOCUMENTS, FINANCE)

AGENT = """
from pytest_episem.agents import known_agent
from pytest_episem.episode import real_episode

WHO = {who!r}

class Mixed:
    name = "mixed"
    turn_limit = 12

    def play(self, episode):
        who = WHO.get(real_episode(episode).world.task.domain, "careful")
        if who == "raise":
            raise RuntimeError("the socket is gone")
        if who == "raise-on-irrelevant" and "cost-centre-label" in real_episode(episode).world.mask:
            raise RuntimeError("the socket is gone")
        episode.usage.requests += {requests}
        known_agent("episem/" + who.replace("raise-on-irrelevant", "careful")).play(episode)

agent = Mixed()
"""


@dataclass
class Session:
    """What a session ended with: exit code, gate line without its prefix, all output."""

    code: int
    line: str
    text: str
    result: pytest.RunResult


@pytest.fixture
def tasks(task_file) -> str:
    """The option that selects the four pairs."""
    return task_file(*PAIRS)


@pytest.fixture
def mixed(pytester: pytest.Pytester) -> Callable[..., str]:
    """Write an agent that behaves like a built-in one in each domain (careful where none is named)."""

    def write(requests: int = 0, **who: str) -> str:
        pytester.makepyfile(mine=AGENT.format(who=who, requests=requests))
        return "--episem-agent=mine:agent"

    return write


@pytest.fixture
def session(pytester: pytest.Pytester) -> Callable[..., Session]:
    """Run pytest in this process and take its gate line out of what it printed."""

    def run(*arguments: str) -> Session:
        return finished(pytester.runpytest_inprocess(*arguments, no_reraise_ctrlc=True))

    return run


def finished(result: pytest.RunResult) -> Session:
    """Return the session of a finished run; it prints at most one gate line."""
    lines = [line for line in result.outlines if line.startswith("episem gate: ")]
    assert len(lines) <= 1, lines
    line = re.sub(r"^episem gate: ", "", lines[0]) if lines else ""
    return Session(int(result.ret), line, "\n".join(result.outlines + result.errlines), result)


@pytest.fixture(autouse=True)
def _no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The HTML report costs more than a session of four pairs, and gates do not need it."""
    monkeypatch.setattr("pytest_episem.report.html.html", lambda *_, **__: "<!doctype html>")
