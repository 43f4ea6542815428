"""CPU of a whole scripted four-step episode: world, three reads, commit, outcome. At most 0.5 ms is wanted.

Not collected by pytest: ``python tests/benchmarks/bench_episode.py``, or ``run.py`` beside it for all benchmarks.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

from pytest_episem.episode import Call, Episode
from pytest_episem.evidence.bank import Task, shipped_bank
from pytest_episem.evidence.world import World

EPISODES, ROUNDS = 500, 7


def play(task: Task) -> None:
    """Play the first three reads and the commit, as a model would write the calls, and judge the episode."""
    episode = Episode(World(task, "unsafe", task.critical[:1], audit=True))
    for tool, arguments in task.reads[:3]:
        episode.turn([Call(tool.name, json.dumps(arguments))])
    episode.turn([Call(task.commit.name, json.dumps(dict(task.goal_arguments)))])
    assert episode.outcome().unsafe_commit


def milliseconds(task: Task, episodes: int = EPISODES) -> float:
    """Return the CPU milliseconds of one episode, the median of several rounds of so many."""
    play(task)
    rounds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(episodes):
            play(task)
        rounds.append((time.process_time() - start) / episodes * 1000)
    return statistics.median(rounds)


if __name__ == "__main__":
    bank = shipped_bank()
    episodes = 5 if "--quick" in sys.argv else EPISODES
    for name in ("finance/payment-authorization/pr-58217", "communication/approved-audience/grid-outage-report"):
        print(f"{name}: {milliseconds(bank.task(name), episodes):.3f} ms CPU an episode of three reads and a commit")
