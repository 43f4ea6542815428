"""``episem validate`` on banks with workflows of the workflow suite, alone or beside the other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

FILE = "workflows/finance/billing-chain.yaml"


@pytest.fixture
def spoil(both_dir: Path, tmp_path: Path):
    """Copy the bank of both suites with one text of the billing chain's file replaced."""

    def make(old: str, new: str) -> Path:
        bank = tmp_path / "spoiled"
        shutil.copytree(both_dir, bank)
        text = (bank / FILE).read_text(encoding="utf-8")
        assert old in text
        (bank / FILE).write_text(text.replace(old, new), encoding="utf-8")
        return bank

    return make


@pytest.mark.slow
def test_a_sound_bank_of_both_suites(episem, both_dir):
    result = episem("validate", both_dir)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[-1] == "no problems (evidence suite: 5 pairs; workflow suite: 3 workflows with 9 cases)"
    assert ["finance", "2", "129", "105"] in [line.split() for line in lines]  # worlds 24 + 105
    assert ["all", "3", "133", "105"] in [line.split() for line in lines]


@pytest.mark.slow
def test_a_bank_of_the_outcome_suite_alone(episem, workflow_dir):
    result = episem("validate", workflow_dir)
    assert result.returncode == 0
    assert result.stdout.splitlines()[-1] == "no problems (workflow suite: 3 workflows with 9 cases)"
    assert "masks" not in result.stdout
    assert episem("validate", workflow_dir / "workflows").stdout.endswith(result.stdout.splitlines()[-1] + "\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "handoff: billing-oncall",
            "handof: x",
            f"{FILE}: handof: unknown key 'handof'; did you mean 'handoff'? [schema]",
        ),
        ("commit_bound: 2", "comit_bound: 2", f"{FILE}: contracts.cards.charge.comit_bound: unknown key"),
        ("support: 24", "support: 11", f"{FILE}: expect.support: says 11, the contracts give 24 [support-size]"),
        ("{effect: 0}", "{effect: 3}", f"{FILE}: landed: c1: the contract allows no such fate (effective 0 3) [truth]"),
        (
            "lost: certified",
            "lost: handed_off",
            f"{FILE}: lost: expect.joint.lost: says handed_off, the run ends completed",
        ),
    ],
)
def test_problems_name_file_case_field_and_code_and_fail(episem, spoil, old, new, problem):
    result = episem("validate", spoil(old, new))
    assert result.returncode == 1
    assert result.stdout.startswith(problem)
    assert result.stdout.splitlines()[-1].startswith("1 problem (evidence suite: 5 pairs; workflow suite: ")


@pytest.mark.slow
def test_json(episem, both_dir, spoil):
    document = json.loads(episem("validate", both_dir, "--json").stdout)
    assert (document["schema"], document["ok"], document["problems"]) == ("episem.validation/1", True, [])
    assert document["counts"]["total"]["pairs"] == 5
    assert document["workflows"]["worlds"] == {
        "finance/billing-chain": 24,
        "finance/valid-key-recovery": 105,
        "travel/trip-withdrawal": 4,
    }
    result = episem("validate", spoil("support: 24", "support: 11"), "--json")
    (problem,) = json.loads(result.stdout)["problems"]
    assert (problem["code"], problem["file"], problem["field"]) == ("support-size", FILE, "expect.support")
    assert result.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "last"),
    [
        (("--domain", "travel"), "no problems (workflow suite: 1 workflow with 3 cases)"),
        (("--domain", "finance"), "no problems (evidence suite: 5 pairs; workflow suite: 2 workflows with 6 cases)"),
        (("--family", "billing-chain"), "no problems (workflow suite: 1 workflow with 2 cases)"),
        (("--family", "finance/payment-authorization"), "no problems"),
    ],
)
def test_a_part_of_a_bank(episem, both_dir, part, last):
    assert episem("validate", both_dir, *part).stdout.splitlines()[-1] == last


def test_a_part_that_is_not_there(episem, both_dir):
    result = episem("validate", both_dir, "--family", "billing-chian")
    assert result.returncode == 2
    assert "unknown family 'billing-chian'; did you mean 'billing-chain'?" in result.stderr


@pytest.mark.slow
def test_a_file_that_nobody_would_read_is_noticed(episem, spoil):
    bank = spoil("INV-7", "INV-7")
    (bank / FILE).rename((bank / FILE).with_suffix(".yml"))
    assert f"{FILE.removesuffix('yaml')}yml: must be named .yaml [schema]" in episem("validate", bank).stdout


def test_the_codes_of_the_outcome_suite(episem):
    page = episem("validate", "--codes").stdout.split("Codes of the workflow suite\n")[1]
    codes = json.loads(episem("validate", "--codes", "--json").stdout)["workflows"]
    assert [code["name"] for code in codes] == [line.split()[0] for line in page.splitlines()]
    assert "support-empty" in {code["name"] for code in codes}
