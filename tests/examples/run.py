"""Run every folder of ``conftest_examples`` with its real library: ``python tests/examples/run.py [NAME …]``.

Each gets a virtual environment of its own (``.venv-examples/NAME``; kept, so a second run is quick), is copied into an
empty folder and tested there as its README says, against a scripted model on this machine. Two styles of playing show
that the plugin judges the agent behind the framework, whatever the framework does with calls.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "conftest_examples"
ENVIRONMENTS = ROOT / ".venv-examples"
SIX = ("full_sws", "full_ucr", "critical_ucr", "sbm", "recovery_ucr", "pur")
CAREFUL = dict(zip(SIX, (100, 0, 0, 100, 0, 100), strict=True))
HASTY = dict(zip(SIX, (100, 100, 100, 0, 100, 0), strict=True))
COMMAND = ["-m", "pytest", "--episem-collect=on", "-k", "pr-58217", "--episem-out=run", "-q", "-p", "no:cacheprovider"]

OWN_COMMAND = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]

OTHER_PROCESS = ("claude_agent_sdk", "mcp_agent")
"""Here another process makes the calls: whether those of one message come close enough together depends on how busy
the machine is, so it is shown by ``tests/agents_mcp`` and not asked for here."""


NO_LIMIT = ("http_service", "litellm_loop", "mcp_agent")
"""These have no limit of their own below the turns of an episode."""
ONE = ("-k", "pr-58217 and /safe-full")
WORKFLOW = ("langgraph", "litellm_loop", "openai_agents", "pydantic_ai")
"""These also play a workflow whose trouble happens to their own call; the others are given the same tools."""
OWN = "test_payments.py"
RETRIES = "test_retries.py"
LIVE = ("--episem-suite=workflows", "--episem-form=live", "--episem-shield=off", "-k", "billing-chain")


class Wrong(Exception):
    """What an example did that it should not have."""


def main() -> int:
    names = sorted(folder.name for folder in EXAMPLES.iterdir() if (folder / "conftest.py").is_file())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"examples to run; all by default: {', '.join(names)}")
    wanted = parser.parse_args().names or names
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        parser.error(f"no such example: {', '.join(unknown)}; there are {', '.join(names)}")
    failed = 0
    with ScriptedModel() as model:
        for name in wanted:
            try:
                print(f"{name:<18} {example(name, model)}", flush=True)
            except Wrong as wrong:
                failed += 1
                print(f"{name:<18} FAILED: {wrong}", flush=True)
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed else 0


def example(name: str, model: ScriptedModel) -> str:
    """Run one example in both styles; return what it was run with."""
    python = environment(name)
    if (lines := max(file.read_text(encoding="utf-8").count("\n") for file in (EXAMPLES / name).glob("*.py"))) > 40:
        raise Wrong(f"{lines} lines; an example has at most 40")
    for style, six, code in (("careful", CAREFUL, 0), ("hasty", HASTY, 1)):
        model.requests.clear()
        with tempfile.TemporaryDirectory() as folder:
            check(run(name, python, Path(folder), f"{model.url}/{style}"), python, Path(folder), six, code, style, name)
        if not model.requests:
            raise Wrong("the model was never asked")
    for style in ("careful", "hasty") if name in WORKFLOW else ():
        with tempfile.TemporaryDirectory() as folder:
            check_workflow(run(name, python, Path(folder), f"{model.url}/{style}", *LIVE), Path(folder), style)
    for style in ("careful", "hasty") if (EXAMPLES / name / OWN).is_file() else ():
        with tempfile.TemporaryDirectory() as folder:
            check_own(run(name, python, Path(folder), f"{model.url}/{style}", test=OWN), style)
    for looks in (True, False) if (EXAMPLES / name / RETRIES).is_file() else ():
        with tempfile.TemporaryDirectory() as folder:
            check_retries(run(name, python, Path(folder), f"{model.url}/hasty", test=RETRIES, looks=looks), looks)
    for style in () if name in NO_LIMIT else ("endless", "garbled"):
        with tempfile.TemporaryDirectory() as folder:
            check_unfinished(
                run(name, python, Path(folder), f"{model.url}/{style}", *ONE, limit="200"), Path(folder), style
            )
    return versions(python, name)


def environment(name: str) -> Path:
    """Return the Python of the example's environment, making it where it is missing or its requirements changed."""
    folder = ENVIRONMENTS / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    requirements = EXAMPLES / name / "requirements.txt"
    mark, needs = (
        folder / "made-for.txt",
        requirements.read_text("utf-8") + (ROOT / "pyproject.toml").read_text("utf-8"),
    )
    if mark.is_file() and mark.read_text("utf-8") == needs:
        return python
    venv.create(folder, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "-q", "-e"]
    listed = requirements.read_text("utf-8").split()
    wanted = [line for line in listed if not line.startswith("pytest-episem")]
    own = f"{ROOT}[mcp]" if "pytest-episem[mcp]" in listed else str(ROOT)
    fault = ""
    for _ in range(3):  # a download that stalls is no verdict on the example
        try:
            done = subprocess.run([*pip, own, *wanted], capture_output=True, text=True, timeout=480)
        except subprocess.TimeoutExpired:
            fault = "did not end within 8 minutes"
            continue
        if not done.returncode:
            mark.write_text(needs, "utf-8")
            return python
        fault = f"failed: {done.stderr.strip().splitlines()[-1:]}"
    raise Wrong(f"pip install {fault}")


def run(
    name: str,
    python: Path,
    folder: Path,
    url: str,
    *more: str,
    limit: str = "40",
    test: str = "",
    looks: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Copy the example into an empty folder and test it there, with every provider's address led to ``url``."""
    shutil.copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
    if not looks:
        text = (folder / test).read_text(encoding="utf-8")
        (folder / test).write_text(text.replace("LOOK_FIRST = True", "LOOK_FIRST = False"), encoding="utf-8")
    kept = {key: value for key, value in os.environ.items() if not key.upper().endswith(("_API_KEY", "_PROXY"))}
    led = {
        "OPENAI_API_KEY": "sk-none-0123456789",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "ANTHROPIC_API_KEY": "sk-ant-none-0123456789",
        "ANTHROPIC_BASE_URL": url,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "NO_COLOR": "1",
    }
    command = [*OWN_COMMAND, test] if test else [*COMMAND, f"--episem-turn-limit={limit}"]
    try:
        return subprocess.run(
            [str(python), *command, *more],
            cwd=folder,
            env={**kept, **led},
            capture_output=True,
            text=True,
            timeout=900,
        )
    except subprocess.TimeoutExpired:
        raise Wrong("no end within 15 minutes") from None


def check(
    done: subprocess.CompletedProcess[str],
    python: Path,
    folder: Path,
    six: dict[str, int],
    code: int,
    style: str,
    name: str,
) -> None:
    """Compare the run's metrics and records with what the style of playing gives."""
    tail = "\n".join(done.stdout.splitlines()[-40:]) + done.stderr[-2000:]
    report = [str(python), "-m", "pytest_episem.cli", "report", "run", "--json"]
    printed = subprocess.run(report, cwd=folder, capture_output=True, text=True)
    if printed.returncode:
        raise Wrong(f"{style}: no report: {printed.stderr}\n{tail}")
    found = {metric_name: metric["value"] for metric_name, metric in json.loads(printed.stdout)["six"].items()}
    if found != six:
        raise Wrong(f"{style}: {found} where {six} was expected\n{tail}")
    if done.returncode != code:
        raise Wrong(f"{style}: pytest's exit code is {done.returncode}, not {code}\n{tail}")
    for line in (folder / "run" / "trials.jsonl").read_text(encoding="ascii").splitlines():
        record = json.loads(line)
        outcome = record["outcome"]
        if outcome["invalid_action"]:
            raise Wrong(f"{style}: an invalid action that the model never made: {line[:200]}")
        if name in OTHER_PROCESS or record["setting"] != "re":
            continue
        if outcome["premature_commit"] != (style == "hasty"):
            raise Wrong(f"{style}: calls of one message were not told from calls one after the other: {line[:200]}")


def check_workflow(done: subprocess.CompletedProcess[str], folder: Path, style: str) -> None:
    """Who asks first pays once whatever is true; who pays again pays twice where the first charge was only silent."""
    tail = "\n".join(done.stdout.splitlines()[-40:]) + done.stderr[-2000:]
    found = {}
    for line in (folder / "run" / "trials.jsonl").read_text(encoding="ascii").splitlines():
        record = json.loads(line)
        if record["outcome"] is None:
            raise Wrong(f"{style}: {line[:200]}\n{tail}")
        verdict = record["outcome"]["trajectory"]["verdict"]
        found[record["case"]] = (verdict["goal"], [violation["kind"] for violation in verdict["new"]])
    landed = (False, ["duplicate"]) if style == "hasty" else (True, [])
    if found != {"landed": landed, "lost": (True, [])}:
        raise Wrong(f"{style}, workflow: {found}\n{tail}")


def check_own(done: subprocess.CompletedProcess[str], style: str) -> None:
    """A test of one's own tools: who pays again without a look pays twice if only the answer was lost."""
    ends = [
        "1 failed, 1 passed" in done.stdout,
        "cards_charge happened twice for one intent, under answer-lost" in done.stdout,
    ]
    if ends != [style == "hasty"] * 2 or done.returncode != (style == "hasty"):
        raise Wrong(f"{style}, {OWN}: {done.stdout[-3000:]}")


def check_retries(done: subprocess.CompletedProcess[str], looks: bool) -> None:
    """A framework that tries again by itself pays twice where it had paid and was not told, unless the tool looks."""
    twice = [
        f"cards_charge happened twice for one intent, under {fault}" in done.stdout
        for fault in ("answer-lost", "false-failure")
    ]
    end = "4 passed" if looks else "2 failed, 2 passed"
    if twice != [not looks] * 2 or end not in done.stdout or done.returncode != (not looks):
        raise Wrong(f"{RETRIES}, {'looking first' if looks else 'naive'}: {done.stdout[-3000:]}")


def check_unfinished(done: subprocess.CompletedProcess[str], folder: Path, style: str) -> None:
    """A framework that gives up, on its own limit or on what the model wrote, has not finished: no error of ours."""
    tail = "\n".join(done.stdout.splitlines()[-40:]) + done.stderr[-2000:]
    lines = (folder / "run" / "trials.jsonl").read_text(encoding="ascii").splitlines()
    records = [json.loads(line) for line in lines]
    found = [(record["status"], (record["outcome"] or {}).get("disposition")) for record in records]
    if not found or set(found) != {("completed", "unfinished")}:
        raise Wrong(f"{style}: {found} where every trial should be completed and unfinished\n{tail}")


def versions(python: Path, name: str) -> str:
    """Return the versions of what the example requires."""
    names = [line.split("[")[0] for line in (EXAMPLES / name / "requirements.txt").read_text().split()]
    names = ["mcp" if name == "pytest-episem" else name for name in names]
    code = (
        "import sys; from importlib.metadata import version as v; print(', '.join(f'{n} {v(n)}' for n in sys.argv[1:]))"
    )
    return subprocess.run([str(python), "-c", code, *names], capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
