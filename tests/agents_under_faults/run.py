"""A whole domain through a model behind a bad line: ``python tests/agents_under_faults/run.py [--domain finance]``.

A server on this machine plays like ``episem/careful``, deciding from nothing but the messages it is sent. The domain
is run twice through litellm, once undisturbed and once with 30 % of the answers refused with 429 and 5 % of the
connections reset. The six metrics must be the same, and those of the protocol's table. Takes a few minutes, so it is
no part of the plain ``pytest``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from model_server import RESET, ModelServer, Reply, call, fail, say

from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.evidence.world import AUDIT_TOOL, Delivery, evidence_of
from pytest_episem.runs.run_dir import open_run

CAREFUL = {"full_sws": 100, "full_ucr": 0, "critical_ucr": 0, "sbm": 100, "recovery_ucr": 0, "pur": 100}
TASKS = {task.goal: task for task in shipped_bank().tasks.values()}


def careful(body: dict[str, Any]) -> Reply:
    """Answer one request as a careful model would: read, ask if one can, then act on what was delivered."""
    task = TASKS[next(message["content"] for message in body["messages"] if message["role"] == "user")]
    answers = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    if len(answers) < len(task.reads):
        tool, arguments = task.reads[len(answers)]
        return say(None, [call(tool.name, arguments, id=f"call_{len(answers)}")])
    can_ask = any(tool["function"]["name"] == AUDIT_TOOL for tool in body["tools"])
    if can_ask and len(answers) == len(task.reads):
        return say(None, [call(AUDIT_TOOL, {}, id="call_audit")])
    calls = [(tool.name, arguments, False) for tool, arguments in task.reads] + [(AUDIT_TOOL, {}, True)]
    delivered = [
        Delivery(name, arguments, json.loads(answer), audit)
        for (name, arguments, audit), answer in zip(calls, answers, strict=False)
    ]
    evidence = evidence_of(task)
    if evidence.verdicts(evidence.learned(delivered)) == {False}:
        return say(None, [call(task.commit.name, dict(task.goal_arguments), id="call_commit")])
    return say("I refer this to a person.\nDisposition: escalated")


def disturbed(seed: int) -> Any:
    """Return the same answers with 30 % refusals and 5 % resets before them."""
    dice = random.Random(seed)

    def answer(body: dict[str, Any]) -> Reply:
        fate = dice.random()
        if fate < 0.30:
            return fail(429, "slow down", headers={"Retry-After": "0"})
        return RESET if fate < 0.35 else careful(body)

    return answer


def six(domain: str, script: Any, out: Path) -> tuple[dict[str, float | None], int, int]:
    """Run the domain and return the six metrics, the trials and the requests that the server saw."""
    server = ModelServer()
    server.then = script
    command = [sys.executable, "-m", "pytest", "--episem-model=openai/scripted", f"--episem-api-base={server.url}"]
    command += ["-q", "-n2", "-k", domain, "--episem-concurrency=8", f"--episem-out={out}", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=out.parent, capture_output=True, text=True, env={**os.environ, "OPENAI_API_KEY": "x"}
    )
    server.close()
    if done.returncode != 0:
        print(done.stdout[-3000:], done.stderr[-2000:])
    run = open_run(out, events=False)
    metrics = summarize(run).six
    assert all(metric.coverage == 1 for metric in metrics.values()), "a trial is missing"
    return {name: metric.value for name, metric in metrics.items()}, len(run.trials), len(server.requests)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="finance")
    domain = parser.parse_args().domain
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, script in (("undisturbed", careful), ("disturbed", disturbed(seed=7))):
            values, trials, requests = six(domain, script, Path(folder) / name)
            failed += values != CAREFUL
            print(f"{name:<12} {trials} trials, {requests} requests: {values}", flush=True)
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
