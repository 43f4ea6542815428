"""The CI templates, their own shell steps run: with an agent of one's own in a copy of a repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

TEMPLATES = Path(__file__).parents[2] / "conftest_examples/ci"
PAIR = "finance/payment-authorization/pr-58217"
AGENT = """
import os
from pytest_episem.agents import known_agent
from pytest_episem.episode import real_episode

class Agent:
    name = "ours"
    turn_limit = 12
    def play(self, episode):
        {before}
        known_agent("episem/{plays}").play(episode)

agent = Agent()
"""
OPTIONS = "--episem-agent=our_agent:agent --episem-instruction='our instruction.txt' --episem-max-requests=5000"


class Runner:
    """What a CI service does with the template: its steps in order, in a checkout, and what it keeps of them."""

    def __init__(self, checkout: Path, plays: str = "careful", before: str = "pass") -> None:
        self.checkout = checkout
        (checkout / "our_agent.py").write_text(AGENT.format(plays=plays, before=before), encoding="utf-8")
        (checkout / "pairs.txt").write_text(PAIR, encoding="utf-8")
        (checkout / "our instruction.txt").write_text("Mind the cents.", encoding="utf-8")
        tools = checkout / ".tools"
        tools.mkdir()
        for name in ("pip", "gh"):
            (tools / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (tools / name).chmod(0o755)
        self.path = os.pathsep.join((str(tools), str(Path(sys.executable).parent), os.environ["PATH"]))
        self.output = ""

    def bash(self, script: str, **variables: str) -> int:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "GITHUB_", "CI"))}
        environment = {**kept, "PATH": self.path, "AGENT": OPTIONS, "PAIRS": "--episem-tasks=pairs.txt", **variables}
        script = script.replace(" -n 4", " -n 0")  # the machine of the tests is busy enough
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.output += done.stdout + done.stderr
        return done.returncode


def github(runner: Runner) -> list[str]:
    """Run the workflow with one shard; return the steps that failed."""
    jobs = yaml.safe_load((TEMPLATES / "github-episem.yml").read_text(encoding="utf-8"))["jobs"]
    failed = github_job(runner, jobs["shard"], {"${{ matrix.shard }}": "1"})
    kept = runner.checkout / "shards/shard-1"
    kept.mkdir(parents=True)
    if (runner.checkout / "run").exists():
        (runner.checkout / "run").rename(kept / "run")
    return failed + github_job(runner, jobs["gate"], {"${{ github.event.pull_request.number }}": "7"})


def github_job(runner: Runner, job: dict[str, Any], values: dict[str, str]) -> list[str]:
    failed: list[str] = []
    for step in job["steps"]:
        script = step.get("run", "")
        for place, value in values.items():
            script = script.replace(place, value)
        if script and (not failed or "!cancelled()" in step.get("if", "")) and runner.bash(script, SHARDS="1"):
            failed.append(step.get("name", script))
    return failed


def gitlab(runner: Runner) -> list[str]:
    """Run the pipeline with one shard; return the jobs that failed."""
    pipeline = yaml.safe_load((TEMPLATES / "gitlab-episem.yml").read_text(encoding="utf-8"))
    shard = runner.bash("\n".join(pipeline["episem-shard"]["script"]), CI_NODE_INDEX="1", CI_NODE_TOTAL="1")
    failed = ["shard"] if shard else []
    return failed + (["Gate"] if runner.bash("\n".join(pipeline["episem-gate"]["script"])) else [])


SERVICES = pytest.mark.parametrize("service", [github, gitlab])


@pytest.mark.slow
def test_a_careful_agent_passes_with_further_options(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    assert github(runner) == [], runner.output
    assert "episem gate: PASSED" in runner.output
    assert "Mind the cents." in (tmp_path / "whole/run.json").read_text(encoding="utf-8")


@pytest.mark.slow
@SERVICES
def test_a_hasty_agent_is_red_at_the_gate_alone_and_its_report_is_there(tmp_path: Path, service: Any) -> None:
    runner = Runner(tmp_path, plays="commit")
    assert service(runner) == ["Gate"], runner.output
    assert "FAILED" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Critical UCR 100 &gt; 10" in (tmp_path / "whole/report.html").read_text(encoding="utf-8")
    assert "gates failed" in (tmp_path / "whole/report.md").read_text(encoding="utf-8")
    assert (tmp_path / "gates.xml").is_file()


@pytest.mark.slow
def test_an_agent_that_ends_the_process_with_0_is_red(tmp_path: Path) -> None:
    runner = Runner(tmp_path, before="real_episode(episode).world.label == 'safe' and os._exit(0)")
    assert github(runner) != [], runner.output


def test_a_pull_request_runs_one_pair_of_each_family_and_the_night_all() -> None:
    workflow = yaml.safe_load((TEMPLATES / "github-episem.yml").read_text(encoding="utf-8"))
    assert workflow["env"]["PAIRS"] == "${{ github.event_name == 'pull_request' && '--episem-sample=60' || '' }}"
    assert "schedule" in workflow[True]  # YAML 1.1 reads the key 'on' as true
    first, other = yaml.safe_load((TEMPLATES / "gitlab-episem.yml").read_text(encoding="utf-8"))["episem-shard"][
        "rules"
    ]
    assert first["variables"] == {"PAIRS": "--episem-sample=60"}
    assert "variables" not in other


@pytest.mark.parametrize("file", sorted(TEMPLATES.glob("*.yml")), ids=lambda file: file.stem)
def test_what_failed_is_published_too(file: Path) -> None:
    jobs = yaml.safe_load(file.read_text(encoding="utf-8"))
    if "jobs" in jobs:
        uploads = [step for job in jobs["jobs"].values() for step in job["steps"] if "upload" in step.get("uses", "")]
        assert [step["if"] for step in uploads] == ["${{ !cancelled() }}"] * 2
        assert {"whole", "report.md"} <= set(uploads[-1]["with"]["path"].split())
    else:
        assert [jobs[name]["artifacts"]["when"] for name in ("episem-shard", "episem-gate")] == ["always"] * 2
        assert {"whole/", "report.md"} <= set(jobs["episem-gate"]["artifacts"]["paths"])
