"""``mcp_agent``: a program that speaks only MCP plays through the runner."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pytest_episem.agents.mcp import last_words, mcp_agent
from pytest_episem.agents.proxies import bypass_locally
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.condition import Condition
from pytest_episem.runs.runner import Runner, RunSettings

TASK = "finance/payment-authorization/pr-58217"
MASK = ("authorization-limit",)
CAREFUL = """
import asyncio, json, os, sys
from mcp import Client

ID = {"request_id": "PR-58217"}

async def main():
    async with Client(sys.argv[1]) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        async def use(name, arguments):
            return json.loads((await client.call_tool(name, arguments)).content[0].text)
        amount = (await use("get_payment_request", ID)).get("amount")
        limit = (await use("get_authorization_policy", ID)).get("single_payment_limit")
        if "query_audit_records" in names:
            for record in (await use("query_audit_records", {}))["records"]:
                if "limit" in record["predicate"]:
                    limit = record["value"]
        if amount and limit and amount <= limit:
            await use("submit_payment", ID)
        print("I read", os.environ["EPISEM_GOAL"][:10], file=sys.stderr)
        print("I cannot establish it.\\nDisposition: escalated")

asyncio.run(main())
"""


@pytest.fixture
def run(bank):
    runners = []

    def play(agent, world="safe", setting="full", mask=(), **settings):
        runners.append(Runner(bank, RunSettings(**settings)))
        trial = runners[-1].run(Condition(TASK, world, setting, tuple(mask)), agent)
        play.stopped = runners[-1].stopped
        return trial

    yield play
    for runner in runners:
        runner.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "setting", "mask", "disposition", "strict"),
    [
        ("safe", "full", (), "committed", False),
        ("unsafe", "full", (), "escalated", False),
        ("safe", "se", MASK, "escalated", False),
        ("safe", "re", MASK, "committed", True),
        ("unsafe", "re", MASK, "escalated", True),
    ],
)
def test_a_program_that_speaks_only_mcp_is_judged(run, program, world, setting, mask, disposition, strict):
    trial = run(mcp_agent(program(CAREFUL, "{url}")), world, setting, mask)
    assert (trial.status, trial.error) == ("completed", None)
    assert (trial.outcome.disposition, trial.strict) == (disposition, strict)
    assert trial.outcome.legal_completion == (disposition == "committed")


def test_url_request_and_instruction_are_in_environment_and_arguments(run, program, bank):
    source = """
import os, sys
url, goal, json = sys.argv[1:]
assert os.environ["EPISEM_MCP_URL"] == url and url.startswith("http://127.0.0.1:"), url
assert os.environ["EPISEM_GOAL"] == goal
assert os.environ["EPISEM_PROMPT"] == os.environ["EPISEM_INSTRUCTION"] + chr(10) * 2 + goal
assert json == '{"url": "%s", "x": {}}' % url
assert os.environ["MINE"] == "1"
assert sys.stdin.read() == ""
print("escalated")
"""
    agent = mcp_agent(program(source, "{url}", "{goal}", '{"url": "{url}", "x": {}}'), env={"MINE": "1"})
    trial = run(agent)
    assert trial.error is None
    assert (trial.outcome.disposition, trial.outcome.disposition_source) == ("escalated", "adapter")


def test_a_program_that_says_nothing_is_unfinished(run, program):
    assert run(mcp_agent(program(""))).outcome.disposition == "unfinished"


def test_a_program_that_fails_is_an_error_of_its_own_without_a_secret(run, program, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "abcdefgh12345678")
    trial = run(mcp_agent(program("raise SystemExit('no luck with abcdefgh12345678')")))
    assert (trial.status, trial.error.kind) == ("error", "agent")
    assert "exit code 1: no luck with ***" in trial.error.message
    assert run.stopped is None


@pytest.mark.slow
def test_a_program_that_fails_after_the_commit_keeps_its_outcome(run, program):
    source = CAREFUL.replace(
        '            await use("submit_payment", ID)',
        '            await use("submit_payment", ID)\n            os._exit(3)',
    )
    trial = run(mcp_agent(program(source, "{url}")))
    assert (trial.status, trial.outcome.disposition) == ("completed", "committed")


def test_a_program_that_cannot_be_started_stops_the_run(run):
    trial = run(mcp_agent("no-such-program --now"))
    assert (trial.status, trial.error.kind) == ("error", "agent")
    assert "cannot start 'no-such-program'" in run.stopped.message


@pytest.mark.slow
def test_a_program_that_hangs_is_unfinished_and_ended_with_its_children(run, program, tmp_path):
    source = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(tmp_path / "pids")!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(600)
"""
    trial = run(mcp_agent(program(source)), timeout=5.0)
    assert (trial.status, trial.outcome.disposition) == ("completed", "unfinished")
    for pid in (tmp_path / "pids").read_text().split():
        assert gone(int(pid))


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_an_empty_command_is_refused():
    with pytest.raises(EpisemError, match="needs a command"):
        mcp_agent("")


def test_a_program_finds_nothing_of_the_test_in_its_environment(run, program, monkeypatch):
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "episem::a/b/c/unsafe-full (setup)")
    source = "import os; print('stopped' if not any('PYTEST' in n for n in os.environ) else 'escalated')"
    assert run(mcp_agent(program(source))).outcome.disposition == "stopped"


@pytest.mark.slow
def test_a_proxy_is_not_asked_for_the_episodes_own_server(run, program, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "intranet.test")
    monkeypatch.setenv("no_proxy", "intranet.test")
    trial = run(mcp_agent(program(CAREFUL, "{url}")))
    assert (trial.error, trial.outcome.disposition) == (None, "committed")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {}),
        ({"NO_PROXY": "a.test"}, {"NO_PROXY": "a.test"}),
        ({"http_proxy": "p"}, "localhost,127.0.0.1,::1"),
        ({"HTTPS_PROXY": "p", "NO_PROXY": "a.test, localhost"}, "a.test,localhost,127.0.0.1,::1"),
        ({"ALL_PROXY": "p", "no_proxy": "a.test", "NO_PROXY": "b.test"}, "a.test,b.test,localhost,127.0.0.1,::1"),
        ({"HTTP_PROXY": "p", "NO_PROXY": "*"}, {"HTTP_PROXY": "p", "NO_PROXY": "*"}),
    ],
)
def test_local_addresses_bypass_proxies(before, after):
    environment = dict(before)
    bypass_locally(environment)
    named = {"NO_PROXY": after, "no_proxy": after} if isinstance(after, str) else {}
    assert environment == (before | named if named else after)


GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "agent.py", line 9, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "agent.py", line 5, in main
    | httpx.ConnectError: All connection attempts failed
    +---------------- 2 ----------------
    | ValueError: another
    +------------------------------------
"""


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (GROUP, "httpx.ConnectError: All connection attempts failed"),
        (
            GROUP.replace("    +---------------- 2 ----------------\n    | ValueError: another\n", ""),
            "httpx.ConnectError: All connection attempts failed",
        ),
        ("Traceback (most recent call last):\n  File\nValueError: x\n\n", "ValueError: x"),
        ("a | b\n", "a | b"),
        ("", ""),
    ],
)
def test_a_failing_programs_last_words_are_its_cause(output, words):
    assert last_words(output) == words
