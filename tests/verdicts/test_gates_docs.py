"""What the docs and the ready CI files say exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from pytest_episem.cli.gate import command
from pytest_episem.plugin.options import OPTIONS

ROOT = Path(__file__).parents[2]
CI = sorted((ROOT / "conftest_examples/ci").glob("*.yml"))
PAGES = [ROOT / "docs/gates.md", ROOT / "docs/choosing-thresholds.md"]


@pytest.mark.parametrize("path", [*CI, *PAGES], ids=lambda path: path.name)
def test_every_option_that_is_named_exists(path):
    text = path.read_text(encoding="utf-8")
    flags = {option.flag for option in OPTIONS}
    named = set(re.findall(r"--episem-[a-z-]*[a-z]", text))
    assert named - flags == set()
    gate_flags = {flag for parameter in command.params for flag in parameter.opts}
    for line in re.findall(r"episem gate (?:\\\n|.)*", text):
        assert set(re.findall(r"(?<= )--[a-z-]+", line)) - gate_flags == set(), line


def test_every_gate_stands_in_the_table():
    text = PAGES[0].read_text(encoding="utf-8")
    for option in OPTIONS:
        if option.gate:
            assert f"| `{option.flag}` | `{option.dest}` |" in text


def test_every_pairing_that_is_tested_stands_in_the_table():
    tests = (ROOT / "tests/verdicts/test_gates_pairings.py").read_text(encoding="utf-8")
    names = re.findall(r'^    "([^"]+)": \(', tests, re.MULTILINE)
    assert len(names) > 20
    table = PAGES[0].read_text(encoding="utf-8").split("## Together with")[1]
    for name in names:
        if name != "plain":
            assert name.split(" -n")[0].split(" -x")[0].split(" ")[-1].strip("-") in table, name


def test_the_github_workflow_runs_as_many_shards_as_it_divides_by():
    workflow = yaml.safe_load(CI[0].read_text(encoding="utf-8"))
    shards = workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    assert shards == list(range(1, workflow["env"]["SHARDS"] + 1))
    assert workflow["jobs"]["gate"]["needs"] == "shard"
