"""Workers that are elsewhere: in another folder, with another bank or ini file, as on another machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

SMALL = Path(__file__).parents[1] / "evidence_bank" / "small_bank"
AGENT = """
import pytest
from pytest_episem.agents import known_agent

@pytest.fixture(scope="session")
def episem_agent():
    return known_agent("episem/careful")
"""
OWN = """
def test_own(episem_rollout, episem_oracle):
    episem_oracle.check(episem_rollout)
"""
CARD = "library/card/c-1"


@pytest.fixture
def there(pytester: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the worker; it and the controller's hold the same bank, tests and ini file."""
    there = tmp_path_factory.mktemp("there")
    for folder in (pytester.path, there):
        shutil.copytree(SMALL, folder / "bank")
        (folder / "pytest.ini").write_text("[pytest]\nepisem_bank = bank\n", encoding="utf-8")
    return there


def tx(there: Path) -> tuple[str, ...]:
    return "-d", f"--tx=popen//chdir={there}", "-p", "no:rerunfailures"


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest("--episem-model=episem/careful", f"-k{CARD}", "--episem-out=out", *args)


@pytest.mark.slow
def test_a_worker_like_the_controller_gives_the_run(pytester, there):
    result = run(pytester, *tx(there), "--episem-min-pur=100")
    assert result.ret == 0
    assert "episem gate: PASSED (1 of 4 pairs, library): PUR 100 >= 100" in result.outlines
    assert not list(there.glob("out")) + list(there.glob(".episem"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more", "difference"),
    [
        ("pytest.ini", "episem_turn_limit = 7\n", "turn limit: none in the controller, 7 in the worker"),
        ("bank/library/card.yaml", "# other bytes\n", "bank hash: "),
        ("tasks.txt", "library/loan/m-17\n", "chosen tasks: "),
    ],
)
def test_a_worker_that_would_run_something_else_is_refused(pytester, there, name, more, difference):
    for folder in (pytester.path, there):
        (folder / "tasks.txt").write_text(f"{CARD}\nlibrary/room/reading-room\n", encoding="utf-8")
    with (there / name).open("a", encoding="utf-8") as file:
        file.write(more)
    result = run(pytester, "--episem-tasks=tasks.txt", *tx(there))
    assert result.ret == 4
    (line,) = (line for line in result.errlines if line.startswith("ERROR: "))
    assert line.startswith("ERROR: worker gw0 (popen//chdir=")
    assert f"runs something else than the controller: {difference}" in line
    assert not (pytester.path / "out").exists()


@pytest.mark.slow
def test_a_worker_of_a_session_that_asked_for_nothing_is_refused_at_its_first_item(pytester, there):
    """Only the test found by the worker asks for us, so that the controller knows of it when the worker reports."""
    for folder in (pytester.path, there):
        (folder / "conftest.py").write_text(AGENT, encoding="utf-8")
        (folder / "test_own.py").write_text(OWN, encoding="utf-8")
    with (there / "bank/library/card.yaml").open("a", encoding="utf-8") as file:
        file.write("# other bytes\n")
    result = pytester.runpytest("-kc-1", *tx(there))
    assert result.ret == 4
    assert any("runs something else than the controller: bank hash: " in line for line in result.errlines)
    assert not (pytester.path / ".episem").exists()


def test_a_worker_that_cannot_start_ends_the_run(pytester, there):
    """xdist would start one after the other, without end."""
    (there / "conftest.py").write_text("raise ValueError('not here')\n", encoding="utf-8")
    result = run(pytester, *tx(there))
    assert result.ret == 4
    assert any(line.startswith("ERROR: worker gw0 (popen//chdir=") for line in result.errlines)


def test_tx_without_d_would_run_everything_here(pytester, there):
    result = run(pytester, "--tx=popen")
    assert result.ret == 4
    assert "ERROR: --tx alone starts no worker, and everything would run here: add -d" in result.errlines
