"""Paths of the ini file, node ids from below the root, text files of other editors, and how items are dealt out."""

from __future__ import annotations

import json
import shutil

import pytest

from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.plugin.scheduler import units

PAIR = "finance/payment-authorization/pr-58217"
CAREFUL = "--episem-model=episem/careful"


def test_ini_paths_are_seen_from_the_ini_files_folder(pytester, monkeypatch):
    pytester.makeini("[pytest]\nepisem_instruction = prompts/system.txt\nepisem_bank = tasks")
    (pytester.mkdir("prompts") / "system.txt").write_text("You are an operations agent.\n", encoding="utf-8-sig")
    bank = pytester.mkdir("tasks") / "finance"
    bank.mkdir()
    shutil.copy(shipped_bank_dir() / "evidence/finance/payment-authorization.yaml", bank)
    below = pytester.mkdir("services")
    monkeypatch.chdir(below)
    result = pytester.runpytest_inprocess(CAREFUL, f"episem::{PAIR}/safe-full", "--episem-out=run")
    result.assert_outcomes(passed=1)
    header = json.loads((below / "run/run.json").read_text(encoding="utf-8"))
    assert header["settings"]["instruction"] == "You are an operations agent.\n"
    assert header["bank"]["name"] == "tasks"


def test_printed_node_ids_select_from_below_the_root(pytester, monkeypatch):
    pytester.makeini("[pytest]")
    monkeypatch.chdir(pytester.mkdir("services"))
    for start in ("", "../"):
        result = pytester.runpytest_inprocess(CAREFUL, f"{start}episem::{PAIR}/safe-full")
        result.assert_outcomes(passed=1)


def test_a_byte_order_mark_is_no_part_of_the_first_task(pytester):
    (pytester.path / "tasks.txt").write_text(f"{PAIR}\n", encoding="utf-8-sig")
    run = (CAREFUL, "--episem-tasks=tasks.txt", "--episem-setting=full")
    pytester.runpytest_inprocess(*run).assert_outcomes(passed=2)


def test_items_of_a_unit_stay_together_wherever_they_stand():
    assert list(units(["a", None, "b", "a", None])) == [[0, 3], [1], [2], [4]]
    assert list(units(["a", None, "b", "a", None], [3, 2, 0])) == [[3, 0], [2]]


@pytest.mark.slow
@pytest.mark.parametrize("dist", ["loadfile", "loadscope"])
def test_distribution_by_file_leaves_no_worker_without_a_pair(pytester, task_file, dist):
    pytester.makepyfile(test_own="def test_one(worker_id): pass\ndef test_two(worker_id): pass")
    tasks = task_file(PAIR, "documents/tenant-export/ex-0907")
    options = ("--episem-setting=full", "--episem-concurrency=1", "-v", "-n2", f"--dist={dist}")
    result = pytester.runpytest(CAREFUL, tasks, *options)
    result.assert_outcomes(passed=6)
    lines = [line for line in result.outlines if line.startswith("[gw")]
    assert {line[:5] for line in lines if "episem::" in line} == {"[gw0]", "[gw1]"}
    assert len({line[:5] for line in lines if "test_own.py" in line}) == 1


def test_a_model_that_gets_its_tools_in_a_prompt_is_told_of(pytester):
    result = pytester.runpytest_inprocess("--episem-model=ollama/x", "--co", f"episem::{PAIR}/safe-full")
    result.stdout.fnmatch_lines(["episem: ollama/* describes the tools in a prompt; ollama_chat/*"])
