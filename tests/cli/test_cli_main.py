"""The command as a whole: help, version, what it imports, and how every fault ends."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = ("list", "show", "play", "validate", "sign", "report", "compare", "merge")
HEAVY = ("litellm", "numpy", "pydantic", "rich", "yaml", "cel", "pytest")


def test_help_lists_every_command_and_how_to_start(episem_process):
    result = episem_process("--help")
    assert result.returncode == 0
    assert result.stderr == ""
    listed = [line.split()[0] for line in result.stdout.split("Commands:")[1].splitlines() if line[2:3].strip()]
    assert tuple(word for word in listed if word in COMMANDS) == COMMANDS
    assert "episem play finance/payment-authorization/pr-58217" in result.stdout
    assert "pytest --episem-model=NAME" in result.stdout


def test_without_a_command_the_help_is_shown(episem):
    assert episem().stdout == episem("--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_with_an_example(episem, command):
    result = episem(command, "-h")
    assert result.returncode == 0
    assert result.stdout.startswith(f"Usage: episem {command}")
    assert f"episem {command}" in result.stdout.split("Example")[1]


def test_version(episem_process):
    result = episem_process("--version")
    assert (result.returncode, result.stdout) == (0, "episem 0.1.0\n")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(option):
    code = (
        "import sys\n"
        "from pytest_episem.cli import main\n"
        f"assert main([{option!r}]) == 0\n"
        f"print('heavy:', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.splitlines()[-1] == "heavy: []"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["shwo"], "episem: unknown command 'shwo'; did you mean 'show'?"),
        (["--vresion"], "episem: No such option '--vresion'."),
        (["show"], "episem: Missing argument 'NAME' (see 'episem show --help')"),
        (["show", "t", "--world", "sunny"], "episem: Invalid value for '--world': 'sunny' is not one of"),
        (["show", "t", "--bank", "nowhere"], "episem: nowhere: no such directory"),
        (["play", "t", "--seed", "-1"], "episem: Invalid value for '--seed'"),
        (["list", "-k", "a and"], "episem: -k 'a and': "),
        (["validate", "nowhere"], "episem: nowhere: no such directory"),
        (["sign", "nowhere", "--reviewer", "A", "--note", "b"], "episem: nowhere: no such directory"),
        (["sign", "."], "episem: Missing option '--reviewer' (see 'episem sign --help')"),
        (["report", "nowhere"], "episem: nowhere: not a run directory, it holds no run.json"),
        (["report"], "episem: Missing argument 'DIR...' (see 'episem report --help')"),
        (["compare", "nowhere"], "episem: Missing argument 'B' (see 'episem compare --help')"),
        (["compare", "one", "two"], "episem: one: not a run directory, it holds no run.json"),
        (["merge", "nowhere", "--out", "there"], "episem: nowhere: not a run directory, it holds no run.json"),
        (["merge", "nowhere"], "episem: Missing option '--out' (see 'episem merge --help')"),
    ],
)
def test_a_fault_is_one_line_and_exit_code_two(episem_process, arguments, complaint):
    result = episem_process(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith(complaint)
    assert result.stderr.count("\n") == 1


def test_a_bank_that_does_not_load_is_one_line_without_control_characters(episem, tmp_path):
    file = tmp_path / "bad" / "finance" / "odd.yaml"
    file.parent.mkdir(parents=True)
    file.write_text('family: "a\\e[31mb"\n', encoding="ascii")
    result = episem("list", "--bank", tmp_path / "bad")
    assert result.returncode == 2
    assert result.stderr.startswith("episem: ")
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr


def test_a_directory_that_cannot_be_written_is_one_line(episem, make_run, tmp_path):
    run = make_run(tmp_path / "run", "episem/refuse")
    (tmp_path / "file").write_text("", encoding="ascii")
    result = episem("report", run, "--out", tmp_path / "file" / "below")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "below" in result.stderr


def test_output_that_nobody_reads_ends_quietly(bank_dir):
    reader, writer = os.pipe()
    os.close(reader)
    arguments = [sys.executable, "-m", "pytest_episem.cli", "list", "--bank", str(bank_dir)]
    result = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert result.returncode == 141
    assert result.stderr == b""


def test_an_interrupt_is_one_line_and_exit_code_130(bank_dir):
    arguments = [sys.executable, "-m", "pytest_episem.cli", "play", "pr-58217", "--bank", str(bank_dir)]
    pipe = subprocess.PIPE
    # Started from a script's background job, the tests inherit an ignored SIGINT; a user's shell does not do that.
    listening = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True, preexec_fn=listening) as process:
        assert process.stdout is not None
        while "'help' says how" not in process.stdout.readline():  # it now waits for the person
            pass
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complaint.strip() == "episem: interrupted"


def test_a_fault_of_ours_names_itself_in_one_line(monkeypatch, capsys):
    from pytest_episem import cli

    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.delenv("EPISEM_DEBUG", raising=False)
    monkeypatch.setattr(cli.episem, "main", broken)
    assert cli.main([]) == 3
    error = capsys.readouterr().err
    assert error.startswith("episem: internal error, ZeroDivisionError: two lines")
    assert error.count("\n") == 1


def test_a_terminal_that_lacks_a_character_gets_an_escape_instead_of_a_crash(episem_process, bank_dir: Path):
    result = episem_process("show", "pr-58217", "--bank", bank_dir, PYTHONIOENCODING="latin-1")
    assert (result.returncode, result.stderr) == (0, "")
    assert "or you \\u2026" in result.stdout


@pytest.mark.slow
def test_a_whole_session_as_users_start_it(episem_process, bank_dir, make_run, tmp_path):
    make_run(tmp_path / "one", "episem/trusting")
    task = "finance/payment-authorization/pr-58217"
    typed = "submit_payment request_id=PR-58217\n"
    world = ("--world", "unsafe", "--setting", "full")
    for arguments, shown in (
        (("list", "--bank", bank_dir), f"{task} "),
        (("show", task, "--bank", bank_dir), "unsafe 30000 · safe 50000   <- authorization-limit"),
        (("play", task, "--bank", bank_dir, *world), "failed: unsafe commit"),
        (("validate", bank_dir), "no problems"),
        (("report", "one", "--format", "json"), "episem/trusting"),
        (("merge", "one", "--out", "two"), "run one of episem/trusting"),
        (("compare", "one", "two"), "No task moved"),
    ):
        result = episem_process(*arguments, stdin=typed)
        assert (result.returncode, result.stderr) == (0, "")
        assert shown in result.stdout
