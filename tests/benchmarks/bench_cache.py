"""How many requests the answer cache saves over a whole run that begins with an empty cache. More than half is wanted.

Not collected by pytest: ``python tests/benchmarks/bench_cache.py [--together] [DOMAIN …]``. A model that plays like
``episem/careful`` answers in this process, one call a message, or with ``--together`` all reads in its first; keys,
single flight and files are the real ones.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_episem.agents.cache import AnswerCache
from pytest_episem.agents.messages import Answer
from pytest_episem.agents.model import ModelAgent
from pytest_episem.agents.reply import Reply
from pytest_episem.agents.requests import Sender
from pytest_episem.episode import Call, Episode
from pytest_episem.evidence.bank import Bank, Task, shipped_bank
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.evidence.trial import Trial
from pytest_episem.runs.rollout import RunSettings
from pytest_episem.runs.runner import Runner

PLACE = Path(__file__).parents[1] / "helpers" / "careful_model.py"


def careful_model(tasks: Sequence[Task], together: bool) -> Any:
    """Return the scripted model of the agents' tests."""
    spec = importlib.util.spec_from_file_location("episem_careful_model", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CarefulModel(tasks, together)


class Scripted(Sender):
    """A sender whose provider is a function."""

    def __init__(self, model: Any, cache: AnswerCache) -> None:
        super().__init__("openai/scripted", {"temperature": 0}, "http://127.0.0.1/v1", cache=cache)
        self.script = model
        self.sent = 0

    async def _ask(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], episode: Episode
    ) -> Reply:
        self.sent += 1
        await asyncio.sleep(0.001)  # long enough for the same request to be asked meanwhile
        text, calls = self.script({"messages": messages, "tools": tools})
        made = tuple(Call(call["function"]["name"], call["function"]["arguments"], call["id"]) for call in calls)
        message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        episode.usage.requests += 1
        return Reply(Answer(made, text or "", "", "tool_calls" if calls else "stop", message))


def run(bank: Bank, tasks: Sequence[Task], directory: Path, together: bool) -> tuple[list[Trial], int]:
    """Run everything of ``tasks``, boundary searches included; return the trials and how many requests were sent."""
    agent = ModelAgent("openai/scripted", api_base="http://127.0.0.1/v1")
    agent._sender = sender = Scripted(careful_model(tasks, together), AnswerCache(directory))
    runner = Runner(bank, RunSettings(concurrency=8))
    for task in tasks:
        runner.submit([*fixed_conditions(task.id, task.critical, task.irrelevant), task], agent)
    for task in tasks:
        for condition in fixed_conditions(task.id, task.critical, task.irrelevant):
            runner.run(condition, agent)
        runner.search(task, agent)
    runner.close()
    return list(runner.trials.values()), sender.sent


def lines(name: str, trials: Sequence[Trial]) -> Iterator[str]:
    """Yield what was saved, all in all and by setting."""
    for setting in ("all", "full", "se", "re"):
        some = [trial for trial in trials if setting in ("all", trial.condition.setting)]
        asked = sum(trial.usage.requests for trial in some)
        cached = sum(trial.usage.cached_requests for trial in some)
        sent = f"{asked:7,} requests, {asked - cached:7,} sent, {100 * cached / asked:5.1f} % saved"
        yield f"{name:14} {setting:5} {len(some):6,} rollouts {sent}"


def main(arguments: Sequence[str]) -> None:
    domains = [name for name in arguments if name != "--together"]
    bank = shipped_bank()
    trials: list[Trial] = []
    for domain in domains or sorted({task.domain for task in bank.tasks.values()}):
        tasks = [task for task in bank.tasks.values() if task.domain == domain]
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as directory:
            found, sent = run(bank, tasks, Path(directory), "--together" in arguments)
            kept = sum(file.stat().st_size for file in Path(directory).rglob("*.json"))
        assert all(trial.completed for trial in found), Counter(t.error.kind for t in found if t.error)
        assert sent == sum(trial.usage.requests - trial.usage.cached_requests for trial in found)
        print("\n".join(lines(domain, found)), flush=True)
        print(f"{'':14} {time.perf_counter() - started:.0f} s, {kept / 1e6:.0f} MB of answers", flush=True)
        trials += found
    print("\n".join(lines("everything", trials)))


if __name__ == "__main__":
    main(sys.argv[1:])
