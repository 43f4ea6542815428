"""Rows 9 and 12: signed reviews, which hold for one content of a family file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.evidence.validate import sign_reviews, validate_bank

GOOD_BANK = Path(__file__).parent / "good_bank"
PAYMENT = "finance/payment-limit"


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOOD_BANK, tmp_path / "bank"))


def reviews_of(bank: Path) -> dict[str, dict[str, object]]:
    content: dict[str, dict[str, object]] = yaml.safe_load((bank / "reviews.yaml").read_text(encoding="utf-8"))
    return content


def dangers(bank: Path, shipped: bool = False) -> list[str]:
    return [str(p) for p in validate_bank(bank, shipped=shipped).problems if p.code == "one-danger"]


def test_other_banks_need_no_review_and_the_shipped_bank_needs_one_a_family(bank: Path) -> None:
    assert dangers(bank) == []
    missing = dangers(bank, shipped=True)
    assert [line.split(":")[0] for line in missing] == [
        "evidence/communication/draft-audience.yaml",
        "evidence/finance/payment-limit.yaml",
    ]


def test_signing_records_who_when_and_what(bank: Path) -> None:
    signed = sign_reviews(bank, "Ida Rosk", "2033-02-05", "read both worlds of every instance")

    assert signed == ["communication/draft-audience", PAYMENT]
    review = reviews_of(bank)[PAYMENT]
    assert review["reviewed_by"] == "Ida Rosk"
    assert review["date"] == "2033-02-05"
    assert review["rows"] == [9, 12]
    assert dangers(bank, shipped=True) == []


def test_a_change_of_the_family_makes_its_review_stale(bank: Path) -> None:
    sign_reviews(bank, "Ida Rosk", "2033-02-05", "read")
    file = bank / "evidence" / f"{PAYMENT}.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("Roof repair", "Roof repairs"), encoding="utf-8")

    problems = validate_bank(bank).problems

    assert [(p.code, p.file, p.field) for p in problems] == [
        ("one-danger", "evidence/finance/payment-limit.yaml", "family")
    ]
    assert "has changed since Ida Rosk reviewed it on 2033-02-05" in problems[0].message


def test_line_ends_do_not_make_a_review_stale(bank: Path) -> None:
    sign_reviews(bank, "Ida Rosk", "2033-02-05", "read")
    file = bank / "evidence" / f"{PAYMENT}.yaml"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))

    assert dangers(bank, shipped=True) == []


def test_signing_one_family_keeps_the_other_reviews(bank: Path) -> None:
    sign_reviews(bank, "Ida Rosk", "2033-02-05", "read")
    sign_reviews(bank, "Per Almgren", "2033-03-01", "read again", [PAYMENT])

    assert reviews_of(bank)[PAYMENT]["reviewed_by"] == "Per Almgren"
    assert reviews_of(bank)["communication/draft-audience"]["reviewed_by"] == "Ida Rosk"


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"rows": [9]}, f"{PAYMENT}.rows", "does not cover row 12"),
        ({"reviewed_by": ""}, f"{PAYMENT}.reviewed_by", "is missing"),
        ({"date": "5 February"}, f"{PAYMENT}.date", "YYYY-MM-DD"),
        ({"reviewer": "Ida"}, f"{PAYMENT}.reviewer", "did you mean 'reviewed_by'"),
    ],
)
def test_an_incomplete_review_is_named(bank: Path, change: dict[str, object], field: str, message: str) -> None:
    sign_reviews(bank, "Ida Rosk", "2033-02-05", "read")
    content = reviews_of(bank)
    content[PAYMENT] |= change
    (bank / "reviews.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")

    problems = validate_bank(bank).problems

    assert [(p.code, p.file, p.field) for p in problems] == [("one-danger", "reviews.yaml", field)]
    assert message in problems[0].message


@pytest.mark.parametrize("text", ["[1, 2]", "finance/payment-limit: yes\n", "a: {\n", "finance/payment-limits: {}\n"])
def test_a_reviews_file_of_another_shape_is_a_problem_not_a_crash(bank: Path, text: str) -> None:
    (bank / "reviews.yaml").write_text(text, encoding="utf-8")

    problems = validate_bank(bank).problems

    assert {(p.code, p.file) for p in problems} == {("one-danger", "reviews.yaml")}


def test_signing_refuses_unknown_families_and_empty_names(bank: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'finance/payment-limit'"):
        sign_reviews(bank, "Ida Rosk", "2033-02-05", "read", ["finance/payment-limits"])
    with pytest.raises(EpisemError, match="needs a reviewer"):
        sign_reviews(bank, " ", "2033-02-05", "read")
    with pytest.raises(EpisemError, match="YYYY-MM-DD"):
        sign_reviews(bank, "Ida Rosk", "05.02.2033", "read")
    assert not (bank / "reviews.yaml").exists()
