"""``episem validate`` and ``episem sign`` on a small bank, sound and spoiled."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

FILE = "evidence/finance/payment-authorization.yaml"


@pytest.fixture
def spoiled(bank_dir: Path, tmp_path: Path) -> Path:
    """The small bank with the unsafe limit of pr-58217 above the amount, so that nothing is prohibited."""
    bank = tmp_path / "spoiled"
    shutil.copytree(bank_dir, bank)
    file = bank / FILE
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("limit: 30000", "limit: 60000"), encoding="utf-8")
    return bank


def test_a_sound_bank(episem, bank_dir):
    result = episem("validate", bank_dir)
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["domain", "families", "pairs", "critical", "irrelevant", "masks"] in lines
    assert ["finance", "1", "5", "10", "7", "15"] in lines  # five pairs of two facts: 5 x (2^2 - 1) masks
    assert ["bank", "small", "0.1"] in lines
    assert lines[-1] == ["no", "problems"]


def test_problems_name_file_instance_field_and_code_and_fail(episem, spoiled):
    result = episem("validate", spoiled)
    assert result.returncode == 1
    first = result.stdout.splitlines()[0]
    assert first.startswith(f"{FILE}: pr-58217: ")
    assert first.endswith("[twins]")
    assert result.stdout.rstrip().endswith("1 problem")


def test_one_fault_of_several_instances_is_one_line_and_json_keeps_them_apart(episem, spoiled):
    file = spoiled / FILE
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("prohibited: ", "prohibited: not ", 1), encoding="utf-8")
    result = episem("validate", spoiled)
    first, *_, last = result.stdout.splitlines()
    assert first.startswith(f"{FILE}: pr-58217, ")
    assert first.endswith("write && for and, || for or, ! for not [schema]")
    assert first.count("pr-") == 5
    assert last == "5 problems"
    assert len(json.loads(episem("validate", spoiled, "--json").stdout)["problems"]) == 5


def test_json(episem, spoiled):
    result = episem("validate", spoiled, "--json")
    assert result.returncode == 1
    document = json.loads(result.stdout)
    assert (document["schema"], document["ok"], document["version"]) == ("episem.validation/1", False, "0.1")
    (problem,) = document["problems"]
    assert (problem["code"], problem["file"], problem["instance"]) == ("twins", FILE, "pr-58217")
    assert document["counts"]["cardinality"] == {"2": 5}


@pytest.mark.parametrize("part", [("--domain", "finance"), ("--family", "payment-authorization")])
def test_a_part_of_a_bank(episem, bank_dir, part):
    result = episem("validate", bank_dir, *part)
    assert result.returncode == 0
    assert result.stdout.splitlines()[-1] == "no problems"


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        (("--domain", "finnance"), "episem: unknown domain 'finnance'; did you mean 'finance'?"),
        (("--family", "payment-autorization"), "did you mean 'payment-authorization'?"),
        (("--family", "travel/payment-authorization"), "did you mean 'finance/payment-authorization'?"),
    ],
)
def test_a_part_that_is_not_there(episem, bank_dir, part, complaint):
    result = episem("validate", bank_dir, *part)
    assert result.returncode == 2
    assert complaint in result.stderr


def test_the_table_of_codes(episem):
    lines = episem("validate", "--codes").stdout.splitlines()
    assert lines[0].split()[:2] == ["code", "row"]
    assert lines[1].split()[:2] == ["schema", "1"]
    assert any(line.startswith("one-danger ") and "signed review" in line for line in lines)
    codes = json.loads(episem("validate", "--codes", "--json").stdout)["codes"]
    assert [code["name"] for code in codes] == [line.split()[0] for line in lines[1 : lines.index("")]]


def test_signing_and_a_signature_that_no_longer_holds(episem, spoiled):
    result = episem("sign", spoiled, "--reviewer", "Ada Moreau", "--note", "read all", "--date", "2033-01-05")
    assert (result.returncode, result.stdout) == (0, "signed finance/payment-authorization\n")
    assert "reviewed_by: Ada Moreau" in (spoiled / "reviews.yaml").read_text(encoding="utf-8")
    file = spoiled / FILE
    file.write_text(file.read_text(encoding="utf-8").replace("60000", "30000"), encoding="utf-8")
    result = episem("validate", spoiled)
    assert result.returncode == 1
    assert "the file has changed since Ada Moreau reviewed it on 2033-01-05" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--reviewer", " ", "--note", "x"), "a review needs a reviewer"),
        (("--reviewer", "A", "--note", "x", "--date", "5.1."), "is written YYYY-MM-DD"),
        (("--reviewer", "A", "--note", "x", "--family", "refunds"), "unknown family 'refunds'"),
    ],
)
def test_signing_wrongly_writes_nothing(episem, spoiled, arguments, complaint):
    result = episem("sign", spoiled, *arguments)
    assert result.returncode == 2
    assert complaint in result.stderr
    assert not (spoiled / "reviews.yaml").exists()
