"""The comparisons: what runs on each side, and the lines of the table that come of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from environments import Environments
from measure import Failed, Figure, Ran, alternate, cpu, environment, run, wall

HERE = Path(__file__).resolve().parent
STEPS = 4
"""Answers of the model in a scripted rollout: three reads and the commit."""
SAFE = ("-k", "/safe-")
"""The items of the safe world, which commits pass. ``/boundary`` items have none in their name."""


@dataclass(frozen=True)
class Size:
    """How much is run. Pairs are tasks of the shipped bank; ``pairs`` 0 is all of them."""

    rounds: int
    starts: int
    pairs: int
    rollout_pairs: tuple[int, int]
    latency_pairs: int
    latency: float
    workers: int
    shapes: tuple[tuple[int, int], ...]
    warm: bool
    """Whether each command runs once before it is measured."""


FULL = Size(3, 11, 0, (10, 60), 100, 0.2, 16, ((0, 64), (4, 16)), True)
QUICK = Size(1, 2, 2, (1, 3), 2, 0.02, 2, ((0, 64), (2, 16)), False)


@dataclass(frozen=True)
class Row:
    """A line of the table: our figure, the other one, ours over the other, and the largest ratio that is wanted."""

    what: str
    ours: str
    other: str
    ratio: Figure | None = None
    target: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the least disturbed rounds met the target; ``None`` if they say nothing."""
        if self.ratio is None or self.target is None or not self.ratio.minimum > 0:
            return None
        return self.ratio.minimum <= self.target


@dataclass
class Bench:
    """Where and how much is measured."""

    size: Size
    environments: Environments
    work: Path
    counts: dict[str, int] = field(default_factory=dict)
    """What was counted, by name: trials, items, requests."""

    def __post_init__(self) -> None:
        self.folder("suite")

    def folder(self, name: str, tests: str | None = None) -> Path:
        """Return a folder to run pytest in, with a configuration that says nothing, and maybe a file of tests."""
        folder = self.work / name
        folder.mkdir(exist_ok=True)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        if tests is not None:
            (folder / "test_bare.py").write_text(tests, encoding="utf-8")
        return folder

    @property
    def own(self) -> Path:
        return self.environments.python("own")

    def pytest(
        self, *options: str, folder: str = "suite", plugin: bool = True, codes: Sequence[int] = (0,), **env: str
    ) -> Ran:
        """Run pytest with xdist, with or without our plugin, and no other that may be installed.

        The count is that of the items.
        """
        plugins = ["-p", "xdist", "-p", "episem" if plugin else "no:episem"]
        variables = environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONPATH=str(HERE), **env)
        ran = run([self.own, "-m", "pytest", "-q", *plugins, *options], self.work / folder, variables, codes)
        ended = ran.output.rpartition("\n\n")[2] if "--collect-only" in options else ran.output.splitlines()[-1]
        items = sum(map(int, re.findall(r"(\d+) (?:passed|failed|tests? collected)", ended)))
        return replace(ran, count=items, items=items)

    def suite(self, *options: str, **env: str) -> Ran:
        """Run items of the suite; the count is that of the recorded trials. Failing items are results, too."""
        out = self.work / "run"
        shutil.rmtree(out, ignore_errors=True)
        ran = self.pytest(f"--episem-out={out}", *options, codes=(0, 1), **env)
        trials = [json.loads(line) for line in (out / "trials.jsonl").read_text(encoding="utf-8").splitlines()]
        done = sum(trial["status"] == "completed" for trial in trials)
        if done != len(trials):
            raise Failed(f"{len(trials) - done} of {len(trials)} trials have no outcome:\n{ran.output[-3000:]}")
        return replace(ran, count=done)

    def script(self, name: str, script: str, *arguments: str | Path, **env: str) -> Ran:
        """Run a script of this folder in an environment; the count is what it prints as ``trials``."""
        ran = run([self.environments.python(name), HERE / script, *arguments], self.work, environment(**env))
        found = re.search(r'^\{"trials": (\d+)\}$', ran.output, re.MULTILINE)
        return replace(ran, count=int(found[1]) if found else 0)

    def code(self, code: str) -> float:
        """Run Python code in our environment that prints seconds; return them."""
        return float(run([self.own, "-c", code], self.work, environment()).output)


# 1. One episode -----------------------------------------------------------------------------------------------------


def engine(bench: Bench) -> Iterator[Row]:
    """CPU of one scripted episode in a loop, without records and without pytest."""
    found: dict[str, list[float]] = {}
    for _ in range(bench.size.rounds):
        printed = bench.script("own", "bench_episode.py", *(["--quick"] if bench.size is QUICK else [])).output
        for task, milliseconds in re.findall(r"^(\S+): (\S+) ms", printed, re.MULTILINE):
            found.setdefault(task, []).append(float(milliseconds))
    for task, values in found.items():
        figure = Figure.of(values)
        yield Row(f"one episode, {task}", f"{figure:.3f} ms", "at most 0.5 ms wanted", figure / 0.5, 1)


# 2. A scripted rollout, in three engines ----------------------------------------------------------------------------


def rollout(bench: Bench) -> Iterator[Row]:
    """CPU and time of a whole run of scripted four-step rollouts, for two sizes."""
    script = bench.work / "rollout.json"
    bench.script("own", "rollout_own.py", script)
    with endpoint(bench, 0.05) as url:
        yield from _rollouts(bench, script, url)


def _rollouts(bench: Bench, script: Path, url: str) -> Iterator[Row]:
    def logs() -> Path:
        shutil.rmtree(bench.work / "logs", ignore_errors=True)
        return bench.work / "logs"

    def scripted(pairs: int, *more: str) -> Ran:
        return bench.suite("--episem-agent=rollout_own:scripted", f"--episem-sample={pairs}", *more)

    def model(pairs: int) -> Ran:
        options = ("--episem-model=openai/scripted", f"--episem-api-base={url}/v1", "--episem-concurrency=64")
        return bench.suite(*options, f"--episem-sample={pairs}", *SAFE, OPENAI_API_KEY="none")

    def inspect(trials: int, mode: str) -> Ran:
        return bench.script("inspect_ai", "rollout_inspect.py", script, str(trials), logs(), mode, LOCAL_API_KEY="none")

    few, many = ({"ours": scripted(pairs, *SAFE).count} for pairs in bench.size.rollout_pairs)
    sides: dict[str, Callable[[], Ran]] = {}
    for size, pairs, trials in zip(("few", "many"), bench.size.rollout_pairs, (few["ours"], many["ours"]), strict=True):
        sides |= {
            f"ours {size}": lambda pairs=pairs: scripted(pairs, *SAFE),
            f"inspect_ai {size}": lambda trials=trials: inspect(trials, "least"),
            f"AgentDojo {size}": lambda trials=trials: bench.script(
                "agentdojo", "rollout_agentdojo.py", str(trials), logs()
            ),
            f"inspect_ai, its default log {size}": lambda trials=trials: inspect(trials, "defaults"),
            f"ours, two of three failing {size}": lambda pairs=pairs: scripted(pairs),
            f"ours, HTTP {size}": lambda pairs=pairs: model(pairs),
            f"inspect_ai, HTTP {size}": lambda trials=trials: inspect(trials, f"{url}/v1"),
        }
    ran = alternate(bench.size.rounds, sides, [name for name in sides if bench.size.warm and name.endswith("few")])
    bench.counts |= {f"rollout, {name}": runs[0].count for name, runs in ran.items()}
    yield from _rollout_rows(ran)


def _rollout_rows(ran: dict[str, list[Ran]]) -> Iterator[Row]:
    def slope(name: str) -> Figure:
        few, many = ran[f"{name} few"], ran[f"{name} many"]
        return (cpu(many) - cpu(few)) / (many[0].count - few[0].count)

    trials = ran["ours many"][0].count
    for other, target in (("inspect_ai", 1 / 25), ("AgentDojo", 1 / 4), ("inspect_ai, its default log", None)):
        mine, theirs = slope("ours"), slope(other)
        yield Row(f"CPU of a further trial: {other}", ms(mine), ms(theirs), mine / theirs, target)
        mine, theirs = cpu(ran["ours many"]), cpu(ran[f"{other} many"])
        yield Row(f"CPU of a run of {trials} trials: {other}", secs(mine), secs(theirs), mine / theirs)
        mine, theirs = wall(ran["ours many"]), wall(ran[f"{other} many"])
        yield Row(f"time of a run of {trials} trials: {other}", secs(mine), secs(theirs), mine / theirs)
    mine, theirs = slope("ours, two of three failing"), slope("inspect_ai")
    yield Row("CPU of a further trial, two of three failing: inspect_ai", ms(mine), ms(theirs), mine / theirs)
    theirs = slope("AgentDojo")
    yield Row("CPU of a further trial, two of three failing: AgentDojo", ms(mine), ms(theirs), mine / theirs)
    mine, theirs = slope("ours, HTTP"), slope("inspect_ai, HTTP")
    yield Row("CPU of a further trial, model behind HTTP: inspect_ai", ms(mine), ms(theirs), mine / theirs)


# 3. The whole benchmark, and pytest alone ---------------------------------------------------------------------------


def whole(bench: Bench) -> Iterator[Row]:
    """The shipped suite with a built-in agent against as many empty tests."""
    careful = ["--episem-model=episem/careful", *([f"--episem-sample={bench.size.pairs}"] if bench.size.pairs else [])]
    items = bench.pytest(*careful, "--collect-only").count
    bench.folder(
        "bare",
        f'import pytest\n\n\n@pytest.mark.parametrize("number", range({items}))\ndef test_nothing(number):\n    pass\n',
    )
    workers = f"-n{bench.size.workers}"
    for label, options in (("collection alone", ["--collect-only"]), ("-n 0", []), (f"-n {workers[2:]}", [workers])):
        collect = "--collect-only" in options

        def ours(options: list[str] = options, collect: bool = collect) -> Ran:
            return (bench.pytest if collect else bench.suite)(*careful, *options)

        def others(options: list[str] = options) -> Ran:
            return bench.pytest(*options, folder="bare", plugin=False)

        ran = alternate(bench.size.rounds, {"ours": ours, "bare": others}, ("ours", "bare") if bench.size.warm else ())
        mine, bares = ran["ours"], ran["bare"]
        if {one.items for one in mine + bares} != {items}:
            raise Failed(f"{label}: not {items} items each: {[one.items for one in mine + bares]}")
        bench.counts |= {f"whole, {label}, ours": mine[0].count, f"whole, {label}, bare": bares[0].count}
        what = f"{items} items, {label}" + ("" if collect else f", {mine[0].count} trials")
        yield Row(f"CPU: {what}", secs(cpu(mine)), f"bare pytest {secs(cpu(bares))}", cpu(mine) / cpu(bares))
        yield Row(f"time: {what}", secs(wall(mine)), f"bare pytest {secs(wall(bares))}", wall(mine) / wall(bares))


# 4. An endpoint that takes its time ---------------------------------------------------------------------------------


@contextmanager
def endpoint(bench: Bench, seconds: float) -> Iterator[str]:
    """Serve the scripted model in a process of its own; yields its URL."""
    command = [str(bench.own), str(HERE / "endpoint.py"), str(seconds)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.terminate()
        server.wait()


def counts(url: str) -> dict[str, Any]:
    """Return what the endpoint counted since the last time."""
    with urllib.request.urlopen(f"{url}/count", timeout=30) as answer:
        return json.load(answer)  # type: ignore[no-any-return]


ALONE = "litellm alone in one process"


def latency(bench: Bench) -> Iterator[Row]:
    """Time of a run against an endpoint with a fixed latency, over what its requests alone would take; and of litellm
    alone with as many of them."""
    size, script = bench.size, bench.work / "rollout.json"
    bench.script("own", "rollout_own.py", script)
    served: dict[str, list[dict[str, Any]]] = {}
    with endpoint(bench, size.latency) as url:
        options = ["--episem-model=openai/scripted", f"--episem-api-base={url}/v1"]
        options += [f"--episem-sample={size.latency_pairs}"]

        def counted(name: str, ran: Ran) -> Ran:
            served.setdefault(name, []).append(counts(url))
            bench.counts[f"latency, {name}, trials"] = ran.count
            return ran

        def ours(shape: tuple[int, int]) -> Ran:
            many = [f"-n{shape[0]}", f"--episem-concurrency={shape[1]}"]
            return counted(shape_name(shape), bench.suite(*options, *many, OPENAI_API_KEY="none"))

        def alone() -> Ran:
            trials = str(bench.counts[f"latency, {shape_name(size.shapes[0])}, trials"])
            many = str(at_once(size.shapes[0]))
            return counted(ALONE, bench.script("own", "rollout_litellm.py", script, f"{url}/v1", trials, many))

        sides = {shape_name(shape): lambda shape=shape: ours(shape) for shape in size.shapes} | {ALONE: alone}
        ran = alternate(size.rounds, sides)
    for shape in size.shapes:
        yield from _latency_rows(bench, shape_name(shape), at_once(shape), ran, served, 1.2)
    yield from _latency_rows(bench, ALONE, at_once(size.shapes[0]), ran, served, None)
    for shape in size.shapes:
        mine, theirs = wall(ran[shape_name(shape)]), wall(ran[ALONE])
        yield Row(f"time: {shape_name(shape)} against {ALONE}", secs(mine), secs(theirs), mine / theirs)


def _latency_rows(
    bench: Bench,
    name: str,
    side_by_side: int,
    ran: dict[str, list[Ran]],
    counted: dict[str, list[dict[str, Any]]],
    target: float | None,
) -> Iterator[Row]:
    runs, served = ran[name], counted[name]
    requests, least = STEPS * runs[0].count, min(one["requests"] for one in served)
    if any(one["refused"] for one in served) or least < requests:
        raise Failed(f"{name}: {runs[0].count} trials of {STEPS} requests, at the endpoint {served}")
    again = max(one["requests"] for one in served) - requests
    bench.counts[f"latency, {name}, requests"] = least
    ideal = requests * bench.size.latency / side_by_side
    between = Figure.of([one["seconds"] for one in served])
    load = Figure.of([one["cpu_seconds"] for one in served])
    most = max(one["most_at_once"] for one in served)
    what = f"{requests} requests of {bench.size.latency * 1000:.0f} ms, {name}"
    yield Row(f"time: {what}", secs(wall(runs)), f"ideal {ideal:.1f} s", wall(runs) / ideal, target)
    yield Row(f"first request to last answer: {what}", secs(between), f"ideal {ideal:.1f} s", between / ideal)
    client, tried = cpu(runs) / requests, f", up to {again} tried again" if again else ""
    yield Row(f"CPU of a request: {what}", ms(client), f"the endpoint {ms(load / requests)}; {most} at once{tried}")


def at_once(shape: tuple[int, int]) -> int:
    """Return how many requests a run of this shape has under way."""
    return max(shape[0], 1) * shape[1]


def shape_name(shape: tuple[int, int]) -> str:
    """Return how a run is parallel, as its options say it."""
    return f"-n {shape[0]} --episem-concurrency {shape[1]}"


# 5. Starting --------------------------------------------------------------------------------------------------------

_IMPORT = """
import time, pytest, _pytest.terminal
start = time.process_time()
import pytest_episem.plugin
print(time.process_time() - start)
"""
_BANK = """
import time
from pytest_episem.evidence.bank import shipped_bank
start = time.process_time()
shipped_bank()
print(time.process_time() - start)
"""


def start(bench: Bench) -> Iterator[Row]:
    """What the plugin costs a session that does not ask for it, and what reading the bank costs one that does."""
    bench.folder("one", "def test_nothing():\n    pass\n")
    sides = {
        "with": lambda: bench.pytest("-p", "no:cacheprovider", folder="one"),
        "without": lambda: bench.pytest("-p", "no:cacheprovider", folder="one", plugin=False),
    }
    ran = alternate(bench.size.starts, sides, list(sides))
    imported = Figure.of([bench.code(_IMPORT) for _ in range(bench.size.starts)])
    loaded = Figure.of([bench.code(_BANK) for _ in range(bench.size.starts)])
    yield Row("import of the plugin, not asked for", ms(imported), "at most 5 ms wanted", imported / 0.005, 1)
    yield Row(
        "CPU: pytest with one empty test, plugin not asked for",
        ms(cpu(ran["with"])),
        f"bare pytest {ms(cpu(ran['without']))}",
        cpu(ran["with"]) / cpu(ran["without"]),
    )
    yield Row("reading the shipped bank, 300 pairs", ms(loaded), "")


def ms(figure: Figure) -> str:
    return f"{figure * 1000:.2f} ms"


def secs(figure: Figure) -> str:
    return f"{figure:.2f} s"


COMPARISONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "engine": engine,
    "rollout": rollout,
    "whole": whole,
    "latency": latency,
    "start": start,
}
