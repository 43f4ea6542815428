"""Every command and every piece of code in the documentation: run, or at least read."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml
from pages import DOCS, PAGES, ROOT, Block, blocks, page_name

from pytest_episem.cli import COMMANDS
from pytest_episem.plugin.options import OPTIONS

RUNNABLE = [page for page in PAGES if any(block.language == "bash" for block in blocks(page))]
FLAGS = {option.flag for option in OPTIONS}
QUIET = ("PYTEST_", "GITHUB_", "CI", "EPISEM_", "COVERAGE", "COV_")


def environment() -> dict[str, str]:
    """The environment of a reader who has just installed the package."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(QUIET)}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return kept | {"PATH": path, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONUTF8": "1"}


class Reader:
    """Follows a page block by block, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed = ""

    def follow(self, block: Block) -> None:
        for mark in ("file", "append"):
            if mark in block.marks:
                self.write(block, mark == "append")
        if block.language == "bash" and "norun" not in block.marks:
            self.run(block)
        elif "output" in block.marks:
            assert_printed(block.text.splitlines(), self.printed)

    def write(self, block: Block, append: bool) -> None:
        path = self.folder / block.marks["append" if append else "file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if append else ""
        path.write_text(before + block.text, encoding="utf-8")

    def run(self, block: Block) -> None:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.text],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self.printed = done.stdout
        assert done.returncode == int(block.marks.get("exit", 0)), f"line {block.line}: {block.text}\n{done.stdout}"


def words_of(line: str) -> str:
    """Return a line without what depends on the terminal's width: bars, and how much space there is between words."""
    return " ".join(re.sub("[█░]+", "", line).split())


def assert_printed(expected: list[str], printed: str) -> None:
    """Each run of lines between two ``…`` stands in ``printed`` without a gap, in this order."""
    lines, at = [words_of(line) for line in printed.splitlines()], 0
    for part in re.split(r"^…$", "\n".join(map(words_of, expected)), flags=re.MULTILINE):
        wanted = part.strip("\n").splitlines()
        places = range(at, len(lines) - len(wanted) + 1)
        found = next((place for place in places if lines[place : place + len(wanted)] == wanted), None)
        assert found is not None, f"not printed:\n{part}\nprinted was:\n{printed}"
        at = found + len(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=page_name)
def test_following_a_page_works(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for block in blocks(page):
        reader.follow(block)


def test_a_line_that_was_not_printed_is_noticed() -> None:
    assert_printed(["b", "…", "d"], "a\nb\nc\nd\n")
    for wrong in (["b", "d"], ["d", "…", "b"], ["x"]):
        with pytest.raises(AssertionError):
            assert_printed(wrong, "a\nb\nc\nd\n")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_what_is_not_run_says_why(page: Path) -> None:
    for block in blocks(page):
        assert block.language != "sh", f"line {block.line}: write bash"
        if "norun" in block.marks:
            assert block.language == "bash", f"line {block.line}: only bash runs"
            assert len(block.marks["norun"].split()) > 1, f"line {block.line}: norun needs a reason"
        assert set(block.marks) <= {"norun", "exit", "file", "append", "output"}, f"line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commands_use_options_that_exist(page: Path) -> None:
    for block in blocks(page):
        for command in block.commands:
            words = [word.split("=")[0] for word in shlex.split(command)]
            if words[0] == "pytest":
                unknown = {word for word in words if word.startswith("--episem-")} - FLAGS
            else:
                unknown = unknown_to_episem(words[1:])
            assert unknown == set(), f"line {block.line}: {command}"


def unknown_to_episem(words: list[str]) -> set[str]:
    if not words or words[0] not in COMMANDS:
        return set(words[:1]) - {"--version", "--help"}
    command: click.Command = importlib.import_module(f"pytest_episem.cli.{COMMANDS[words[0]].module}").command
    known = {name for parameter in command.params for name in parameter.opts}
    return {word for word in words[1:] if word.startswith("-") and word != "-"} - known


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_code_that_is_only_shown_parses(page: Path) -> None:
    for block in blocks(page):
        if "append" in block.marks:
            continue  # a part of a file; the file is used by a command
        match block.language:
            case "python":
                ast.parse(block.text)
            case "yaml":
                yaml.safe_load(block.text)
            case "toml":
                tomllib.loads(block.text)
            case "json":
                json.loads(block.text)


def test_the_two_commands_of_the_readme_are_those_of_ci() -> None:
    shown = {line for block in blocks(ROOT / "README.md") for line in block.text.splitlines() if ".venv" in line}
    assert len(shown) == 2
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    install, *whole = [line for line in shown if "'.[test]'" in line]
    assert install in script
    assert whole == []
    assert 'pytest" --episem-model=episem/careful -n 2 -q' in script


@pytest.mark.slow
def test_the_reference_is_what_the_code_says() -> None:
    command = [sys.executable, str(DOCS / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment())
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nwrite it anew: python docs/generate.py"
