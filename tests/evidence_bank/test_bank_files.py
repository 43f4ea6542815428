"""What stands in a file's place: pipes, devices, links, sizes. Each refusal is one line, and nothing waits."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from bank_files import SMALL

from pytest_episem.agents.answer_store import AnswerStore, Damaged
from pytest_episem.banks.problem import BankError
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import load_bank
from pytest_episem.evidence.validate.run import validate_bank
from pytest_episem.runs.lines import LineWriter
from pytest_episem.runs.run import RunHeader
from pytest_episem.runs.store import read_trials
from pytest_episem.verdicts.baseline import Baseline
from pytest_episem.workflows.bank.load import load_workflows


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "bank"))


def pipe(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def test_a_pipe_in_a_bank_is_refused_by_name(bank: Path) -> None:
    pipe(bank / "library" / "x.yaml")
    with pytest.raises(BankError) as raised:
        load_bank(bank)
    assert "x.yaml: cannot be read: is no regular file" in str(raised.value)
    assert any(
        "x.yaml" in str(problem) and "no regular file" in str(problem) for problem in validate_bank(bank).problems
    )


def test_a_device_in_a_bank_is_refused(bank: Path) -> None:
    (bank / "library" / "x.yaml").symlink_to("/dev/zero")
    with pytest.raises(BankError, match="no regular file"):
        load_bank(bank)


def test_a_pipe_among_workflows_is_refused(tmp_path: Path) -> None:
    pipe(tmp_path / "workflows" / "library" / "x.yaml")
    with pytest.raises(BankError, match="no regular file"):
        load_workflows(tmp_path)


def test_a_pipe_for_a_version_or_a_review_waits_for_nobody(bank: Path) -> None:
    for name in ("VERSION", "reviews.yaml"):
        (bank / name).unlink(missing_ok=True)
        pipe(bank / name)
    assert load_bank(bank).version == "unversioned"
    validate_bank(bank)


def test_a_link_that_leaves_the_bank_is_refused_and_one_inside_is_followed(bank: Path, tmp_path: Path) -> None:
    room = bank / "library" / "room.yaml"
    aside = bank / "aside.yaml"
    room.rename(aside)
    room.symlink_to(aside)
    assert load_bank(bank)
    secret = tmp_path / "secret.yaml"
    aside.rename(secret)
    room.unlink()
    room.symlink_to(secret)
    with pytest.raises(BankError, match=r"room\.yaml: links out of the bank"):
        load_bank(bank)


def test_a_file_too_large_is_refused(bank: Path) -> None:
    with (bank / "library" / "room.yaml").open("a", encoding="utf-8") as file:
        file.write("# " + "x" * 500_000)
    with pytest.raises(BankError, match="larger than 500,000 bytes"):
        load_bank(bank)


def test_pipes_in_place_of_records_baselines_and_answers_are_errors(tmp_path: Path) -> None:
    pipe(tmp_path / "run" / "run.json")
    trials = pipe(tmp_path / "run" / "trials.jsonl")
    store = AnswerStore(tmp_path / "cache")
    pipe(store.path("ab" * 32))
    for read in (
        lambda: RunHeader.load(tmp_path / "run"),
        lambda: read_trials(trials),
        lambda: Baseline.load(trials),
    ):
        with pytest.raises(EpisemError, match="no regular file"):
            read()
    with pytest.raises(Damaged, match="no regular file"):
        store.read("ab" * 32)
    with pytest.raises(OSError, match="no regular file"), LineWriter(trials):
        pass
