"""Commands that are printed work as they stand, for banks other than the shipped one too."""

from __future__ import annotations

import base64
import json
import re
import zlib

import pytest

from pytest_episem.report.trials import embed
from pytest_episem.report.words import banks_of
from pytest_episem.runs.run_dir import open_run

TASK = "finance/payment-authorization/pr-58217"


def commands(page: str) -> list[list[str]]:
    """Every command of ours that stands in a page, as words."""
    return [line.split() for line in re.findall(r"episem (?:show|play) [^<\n]+", page)]


def test_what_playing_prints_shows_and_plays_the_same_again(episem, bank_dir):
    given = ("--bank", bank_dir, "--world", "unsafe", "--setting", "full")
    page = episem("play", TASK, *given, stdin="stop\n").stdout
    shown, played = commands(page)
    assert shown[-2:] == played[-2:] == ["--bank", str(bank_dir)]
    assert episem(*shown[1:]).returncode == 0
    assert (
        episem(*played[1:], stdin="stop\n").stdout.split("How it was judged")[1] == page.split("How it was judged")[1]
    )


def test_the_shipped_bank_needs_no_name(episem):
    page = episem("play", TASK, "--world", "unsafe", "--setting", "full", stdin="stop\n").stdout
    assert "--bank" not in page


def test_a_report_names_the_folder_of_the_run_s_bank(episem, make_run, bank_dir, tmp_path):
    run = make_run(tmp_path / "run", "episem/commit")
    assert episem("report", run, "--format", "md", "--bank", bank_dir).returncode == 0
    found = commands((run / "report.md").read_text(encoding="utf-8"))
    assert found
    assert all(words[-2:] == ["--bank", "small"] for words in found)


def test_the_page_s_commands_name_it_too(make_run, tmp_path):
    run = open_run(make_run(tmp_path / "run", "episem/commit"))
    index = json.loads(zlib.decompress(base64.b64decode(embed(["a run"], [run], []).index)))
    (head,) = index["runs"]
    assert (head["shown_in"], head["run_in"]) == (" --bank small", "--episem-bank=small ")


@pytest.mark.parametrize(
    ("bank", "names"),
    [("shipped", []), ("small", ["small"]), ("shipped+small", ["shipped", "small"]), ("two words", ["two words"])],
)
def test_the_names_in_a_run_s_bank(bank, names):
    assert banks_of(bank) == names
