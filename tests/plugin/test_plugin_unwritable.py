"""Records that cannot be written: found before the first rollout; a full disk costs nothing that is finished."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from pytest_episem.runs.run_dir import open_run

PAIR = "finance/payment-authorization/pr-58217"
TWO = [PAIR, "finance/duplicate-invoice/inv-4471"]
ROOM = 70_000
"""Bytes that a file may have: more than the test of the folder writes, less than the records of two pairs."""
NEVER = """
def agent(episode):
    raise SystemExit("played")
"""


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("run", "records cannot be written to * run is not a directory"),
        ("run/below", "records cannot be written to * run is not a directory"),
        ("taken", "taken holds trials.jsonl but no run.json: *"),
        ("pipe", "pipe holds trials.jsonl but no run.json: *"),
        ("/proc/episem-run", "records cannot be written to /proc/episem-run: *"),
    ],
    ids=["a-file", "below-a-file", "a-folder-in-the-way", "a-pipe-in-the-way", "read-only"],
)
def test_a_place_that_takes_no_records_is_refused_before_anything_is_played(pytester, task_file, out, words):
    pytester.makepyfile(mine=NEVER)
    (pytester.path / "run").write_text("mine")
    (pytester.path / "taken/trials.jsonl").mkdir(parents=True)
    (pytester.path / "pipe").mkdir()
    os.mkfifo(pytester.path / "pipe/trials.jsonl")
    chosen = ("--episem-agent=mine:agent", task_file(PAIR), f"--episem-out={out}")
    result = pytester.runpytest(*chosen)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {words}".replace("* run", f"*{pytester.path}/run")])
    assert (pytester.path / "run").read_text() == "mine"
    if "records cannot" in words:
        assert pytester.runpytest(*chosen, "--collect-only", "-q").ret == pytest.ExitCode.OK


def test_the_try_leaves_nothing_behind(pytester, task_file):
    pytester.runpytest("--episem-model=episem/careful", task_file(PAIR), "--episem-out=a/b/run", "-k", "no-such-item")
    assert not (pytester.path / "a").exists()


def narrow(pytester, *words):
    """Run a module of Python where no file may be larger than ``ROOM``, which it is told of as of a full disk."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))

    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=pytester.path, capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip


@pytest.mark.slow
def test_a_full_disk_ends_the_run_and_loses_nothing_that_is_finished(pytester, task_file):
    chosen = ("--episem-model=episem/careful", task_file(*TWO), "-q", "-p", "no:cacheprovider")
    ended = narrow(pytester, "pytest", *chosen, "--episem-out=run", "--episem-max-full-ucr=5")
    text = ended.stdout + ended.stderr
    assert ended.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert "a record cannot be written to run: File too large; make room and go on with --episem-resume run" in text
    assert "episem gate: FAILED" in text
    left = open_run(pytester.path / "run")
    assert left.torn == 0
    assert 10 < len(left.trials) < 30
    assert not list((pytester.path / "run").glob("*.part"))

    assert pytester.runpytest(*chosen, "--episem-resume=run", "--episem-max-full-ucr=5").ret == pytest.ExitCode.OK
    whole = open_run(pytester.path / "run")
    assert set(left.trials) < set(whole.trials)
    assert whole.duplicates == 0

    joined = narrow(pytester, "pytest_episem.cli", "merge", "run", "--out", "joined")
    assert joined.returncode == 2
    assert joined.stderr.startswith("episem: ")
    assert "File too large" in joined.stderr
    assert not list((pytester.path / "joined").glob("*.json*"))
