"""The shipped bank's datasheet says of the bank what the bank is."""

from __future__ import annotations

from pathlib import Path

import pytest
from datasheet import BEGIN, END, main, rewritten

from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import shipped_bank

SHEET = shipped_bank_dir() / "README.md"


def test_its_numbers_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, "write them anew: python tests/tools/datasheet.py"
    assert capsys.readouterr().out.endswith("README.md: current\n")


def test_its_numbers_are_the_paper_s() -> None:
    text = " ".join(SHEET.read_text(encoding="utf-8").split())
    assert "300 pairs, 600 worlds, 60 families; 1,363 maskable facts, 944 critical and 419 irrelevant" in text
    assert "3,352 nonempty sets of critical facts" in text
    assert shipped_bank().hash in text
    assert text.count("| 10 | 50 |") == 6


def test_a_changed_number_is_noticed_and_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "README.md"
    text = SHEET.read_text(encoding="utf-8")
    copy.write_text(text.replace("300 pairs", "301 pairs"), encoding="utf-8")
    assert main(["--check", "--file", str(copy)]) == 1
    assert main(["--file", str(copy)]) == 0
    assert copy.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["no marks", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_a_datasheet_without_its_marks_is_refused(text: str) -> None:
    with pytest.raises(EpisemError, match="once each"):
        rewritten(text, shipped_bank())


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--file", str(tmp_path / "none.md")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
