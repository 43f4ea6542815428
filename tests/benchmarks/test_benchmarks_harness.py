"""The benchmarks themselves, on a tiny size, without a network and without looking at how fast anything was."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    """Import a file of this folder under a name that nothing else has."""
    if f"episem_benchmarks_{name}" not in sys.modules:
        spec = importlib.util.spec_from_file_location(f"episem_benchmarks_{name}", HERE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[f"episem_benchmarks_{name}"]


measure = load("measure")


def script(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=measure.environment())


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, dict[str, int]]]:
    """Run our own part of the benchmarks; return the table and the figures."""
    folder = tmp_path_factory.mktemp("benchmarks")
    parts = ("engine", "whole", "latency", "start")
    done = script(
        "--quick", "--here", "--only", *parts, "--out", folder / "table.md", "--json", folder / "figures.json"
    )
    assert done.returncode == 0, done.stderr
    return (folder / "table.md").read_text("utf-8"), json.loads((folder / "figures.json").read_text("utf-8"))


def test_the_table_has_a_line_for_every_figure(session):
    table, figures = session
    lines = [line for line in table.splitlines() if line.startswith("|")]
    assert all(line.count("|") == 6 for line in lines)
    groups = [line.split("**")[1] for line in lines if "**" in line]
    assert groups == ["engine", "whole", "latency", "start"]
    shown = [line.split(" | ")[0].lstrip("| ") for line in lines[2:] if "**" not in line]
    assert shown == [row["what"] for group in groups for row in figures["rows"][group]]
    assert len(shown) == 2 + 6 + 11 + 3


def test_tiny_sizes_are_not_judged(session):
    table, _ = session
    assert "not judged" in table
    assert "met |" not in table
    assert "missed |" not in table


def test_both_sides_run_as_many_items(session):
    _, figures = session
    counts = figures["counts"]
    items = counts["whole, collection alone, ours"]
    assert items > 0
    assert [counts[f"whole, {part}, bare"] for part in ("collection alone", "-n 0", "-n 2")] == [items] * 3
    assert counts["whole, -n 0, ours"] == counts["whole, -n 2, ours"] >= items - 2, (
        "two boundary items run no fixed trial"
    )


def test_the_endpoint_counts_four_requests_a_trial(session):
    _, figures = session
    counts = figures["counts"]
    sides = ("-n 0 --episem-concurrency 64", "-n 2 --episem-concurrency 16", "litellm alone in one process")
    trials = {counts[f"latency, {side}, trials"] for side in sides}
    assert len(trials) == 1
    assert [counts[f"latency, {side}, requests"] for side in sides] == [4 * trials.pop()] * 3


def test_a_page_with_marks_keeps_what_stands_around_the_table(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    run = load("run")
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{run.BEGIN}\nold\n{run.END}\n\nafter\n", "utf-8")
    run.write(page, "new\n")
    assert page.read_text("utf-8") == f"before\n\n{run.BEGIN}\n\nnew\n\n{run.END}\n\nafter\n"
    run.write(page, "newer\n")
    assert page.read_text("utf-8") == f"before\n\n{run.BEGIN}\n\nnewer\n\n{run.END}\n\nafter\n"


@pytest.mark.parametrize("part", ["--quick", "--only=start"])
def test_a_page_is_not_given_a_part_of_the_table(tmp_path, part):
    page = tmp_path / "page.md"
    page.write_text("<!-- table: python tests/benchmarks/run.py -->\n<!-- end of table -->\n", "utf-8")
    done = script("--here", part, "--out", page)
    assert done.returncode == 2
    assert "leave out --only and --quick" in done.stderr


def test_cpu_of_grandchildren_counts_also_of_those_that_outlive_their_parent(tmp_path):
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    waited = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    assert measure.run([sys.executable, "-c", waited], tmp_path, os.environ).cpu >= 0.3
    if sys.platform == "linux":
        left = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}], stdout=-3, stderr=-3)"
        assert measure.run([sys.executable, "-c", left], tmp_path, os.environ).cpu >= 0.3


def test_a_command_that_fails_is_no_measurement(tmp_path):
    with pytest.raises(measure.Failed, match="exit code 3"):
        measure.run([sys.executable, "-c", "raise SystemExit(3)"], tmp_path, os.environ)


def test_sides_take_turns_and_counts_may_not_change():
    order: list[str] = []
    counts = iter([5, 6])

    def side(name: str, count: int) -> object:
        order.append(name)
        return measure.Ran(1.0, 1.0, "", count)

    sides = {"a": lambda: side("a", 1), "b": lambda: side("b", 2)}
    ran = measure.alternate(2, sides, ["b"])
    assert order == ["b", "a", "b", "a", "b"]
    assert {name: len(runs) for name, runs in ran.items()} == {"a": 2, "b": 2}
    with pytest.raises(measure.Failed, match="counts differ"):
        measure.alternate(2, {"a": lambda: side("a", next(counts))})


def test_arithmetic_is_done_on_the_minimum_and_on_the_median():
    many, few = measure.Figure.of([5.0, 3.0, 9.0]), measure.Figure.of([1.0, 1.0, 2.0])
    assert many == measure.Figure(3.0, 5.0)
    slope = (many - few) / 2
    assert slope == measure.Figure(1.0, 2.0)
    assert slope / measure.Figure(4.0, 4.0) == measure.Figure(0.25, 0.5)
    assert f"{slope:.1f}" == "1.0 (2.0)"


def test_a_target_is_met_by_a_ratio_that_is_not_above_it_and_means_something(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    comparisons = load("comparisons")
    for ratio, met in ((1.2, True), (1.21, False), (-0.5, None)):
        row = comparisons.Row("x", "", "", measure.Figure(ratio, ratio), 1.2)
        assert row.met is met
    assert comparisons.Row("x", "", "", measure.Figure(1.0, 1.0)).met is None


def test_the_endpoint_knows_every_task(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    bank = load("endpoint").shipped_bank()
    scripts = load("endpoint").scripts()
    assert len(scripts) == len(bank.tasks) == 300
    for task in bank.tasks.values():
        bodies = [json.loads(answer.partition(b"\r\n\r\n")[2]) for answer in scripts[task.goal]]
        made = [body["choices"][0]["message"]["tool_calls"][0]["function"]["name"] for body in bodies]
        assert made[-1] == task.commit.name
        assert len(made) == 4
        assert task.commit.name not in made[:3]
