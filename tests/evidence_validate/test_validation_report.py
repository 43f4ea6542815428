"""The report: what is checked when part of a bank is broken, the counts, and the plain forms."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_episem.evidence.validate import CODES, Report, validate_bank
from pytest_episem.evidence.validate.__main__ import main
from pytest_episem.evidence.validate.copies import same_value
from pytest_episem.evidence.validate.values import distinctive, real_looking
from pytest_episem.evidence.validate.wording import words_of
from pytest_episem.evidence.validate.worlds import alternatives

GOOD_BANK = Path(__file__).parent / "good_bank"
PAYMENT = "evidence/finance/payment-limit.yaml"
AUDIENCE = "evidence/communication/draft-audience.yaml"


@pytest.fixture(scope="module")
def good() -> Report:
    return validate_bank(GOOD_BANK)


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOOD_BANK, tmp_path / "bank"))


def replace(bank: Path, name: str, old: str, new: str) -> None:
    file = bank / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_counts_by_hand(good: Report) -> None:
    counts = good.counts
    # payment-limit: 3 pairs of 2 critical and 1 irrelevant; draft-audience: pairs of 2 and 3 critical, 1 irrelevant
    assert (counts.total.pairs, counts.total.critical, counts.total.irrelevant, counts.total.atoms) == (5, 11, 5, 16)
    assert counts.total.masks == 4 * 3 + 7
    assert counts.cardinality == {2: 4, 3: 1}
    assert counts.domains["communication"].masks == 3 + 7
    assert counts.families["finance/payment-limit"].pairs == 3


def test_the_printed_counts_hold_every_number(good: Report) -> None:
    text = "\n".join(good.counts.lines())
    assert "5 pairs, 10 worlds, 2 domains, 2 families" in text
    assert "16 maskable atoms: 11 critical, 5 irrelevant" in text
    assert "19 critical masks (sum of 2^c - 1)" in text
    assert "communication" in text


def test_the_report_is_plain_json(bank: Path) -> None:
    replace(bank, PAYMENT, "limit: 50120", "limit: 42000")
    report = validate_bank(bank)

    content = json.loads(json.dumps(report.to_dict()))

    assert content["ok"] is False
    assert content["version"] == "0.1.0"
    assert content["hash"] == report.hash
    assert content["problems"] == [
        {
            "code": "twins",
            "file": PAYMENT,
            "instance": "pm-1171",
            "field": "rule.prohibited",
            "message": "the rule prohibits the goal's commit in the safe world, where it must permit it",
        }
    ]
    assert content["counts"]["total"]["pairs"] == 5


def test_what_loads_is_checked_when_another_file_does_not(bank: Path) -> None:
    replace(bank, AUDIENCE, "goal: Please", "gaol: Please")
    replace(bank, PAYMENT, "limit: 50120", "limit: 42000")

    codes = [(p.code, p.file) for p in validate_bank(bank).problems]

    assert ("twins", PAYMENT) in codes
    assert {code for code, file in codes if file == AUDIENCE} == {"schema"}


def test_what_loads_is_checked_when_another_instance_does_not(bank: Path) -> None:
    replace(bank, PAYMENT, "parts: 2", "parts: null")
    replace(bank, PAYMENT, "limit: 75460", "limit: 60000")

    found = [(p.code, p.instance) for p in validate_bank(bank).problems]

    assert found == [("schema", "pm-1171"), ("twins", "pm-1209")]


def test_a_part_is_checked_against_the_whole(bank: Path) -> None:
    replace(bank, PAYMENT, "limit: 75460}", "limit: 77001}")
    replace(bank, PAYMENT, "limit: 50120", "limit: 42000")
    replace(bank, AUDIENCE, "colour: teal}", "colour: teal, seats: 77001}")
    replace(bank, AUDIENCE, "colour: workspace.colour,", "colour: workspace.colour, seats: workspace.seats,")

    problems = validate_bank(bank, only="communication/draft-audience").problems

    assert [(p.code, p.instance) for p in problems] == [("shared-value", "harbour-notes")]


@pytest.mark.parametrize("only", ["finances", "finance/payment-limits"])
def test_an_unknown_part_names_the_nearest(only: str) -> None:
    [problem] = validate_bank(GOOD_BANK, only=only).problems
    assert problem.code == "schema"
    assert f"did you mean {only.rstrip('s')!r}?" in problem.message


def test_an_empty_directory_is_a_problem(tmp_path: Path) -> None:
    [problem] = validate_bank(tmp_path).problems
    assert "no family file" in problem.message


def test_the_bank_may_lie_in_the_directory_itself(bank: Path) -> None:
    assert validate_bank(bank / "evidence").ok


def test_messages_name_no_directory_of_this_machine(bank: Path) -> None:
    replace(bank, PAYMENT, "parts: 2", "parts: 2, parts: 3")
    (bank / AUDIENCE).write_text("family: [", encoding="utf-8")

    problems = validate_bank(bank).problems

    assert {p.file for p in problems} == {PAYMENT, AUDIENCE}
    assert not any(str(bank) in str(p) for p in problems)


def test_the_codes_cover_the_sixteen_rows_once_each_but_for_row_four() -> None:
    rows = [code.row for code in CODES.values()]
    assert sorted(rows) == sorted([*range(1, 17), 4])
    assert [code.row for code in CODES.values() if code.human] == [9, 12]


def test_the_module_prints_and_returns_one_for_a_bad_bank(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(bank)]) == 0
    assert "no problems" in capsys.readouterr().out
    replace(bank, PAYMENT, "limit: 50120", "limit: 42000")
    assert main([str(bank), "--domain", "finance", "--family", "payment-limit"]) == 1
    assert "[twins]" in capsys.readouterr().out
    assert main([str(bank), "--family", "communication/draft-audience"]) == 0
    with pytest.raises(SystemExit) as end:
        main([str(bank), "--family", "payment-limit"])
    assert end.value.code == 2
    assert "--family needs --domain, or is written domain/family" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("is_safe", ["is", "safe"]),
        ("Test-run", ["test", "run"]),
        ("unsafely tested", ["unsafely", "tested"]),
        ("RISK2", ["risk"]),
        ("maskedField", ["masked", "field"]),
        ("safetwin unsafeworld", ["safe", "twin", "unsafe", "world"]),
        ("safety testament", ["safety", "testament"]),
    ],
)
def test_words_are_whole_and_split_at_signs(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (999, ""),
        (1000, "amount"),
        (True, ""),
        ("EUR", ""),
        ("read-only", ""),
        ("approved", ""),
        ("Approved by the board", ""),
        ("Halvard Freight", "name"),
        ("PR-58217", "id"),
        ("0426", "id"),
        ("09:30", ""),
        ("+02:00", ""),
        ("2033-02-11", "date"),
        ("2033-02-11T09:00:00Z", "date"),
    ],
)
def test_what_must_be_one_instance_s_own(value: object, kind: str) -> None:
    assert distinctive(value) == kind


@pytest.mark.parametrize(
    "text",
    [
        "write to a@example.com or b@desk.example.org",
        "https://files.vantor.example/x",
        "call 555-0142",
        "+1 202 555 0142",
        "192.0.2.17 and 10.4.0.1/16",
        "2033-02-11T09:00:00+02:00",
        "4539578763621487",  # the check digit is wrong
        "report.pdf",
    ],
)
def test_reserved_ranges_pass(text: str) -> None:
    assert list(real_looking(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "a@vantor.com",
        "https://vantor.io/x",
        "+49 30 1234567",
        "(212) 736-5000",
        "8.8.8.8",
        "4111 1111 1111 1111",  # a well-known number of the card companies' own documentation
        "GB82 WEST 1234 5698 7654 32",  # the example of the account number standard
    ],
)
def test_what_may_be_real_is_named(text: str) -> None:
    assert len(list(real_looking(text))) == 1


def test_alternatives_are_split_outside_brackets_and_texts() -> None:
    assert alternatives("a == b || (c || d) && e != '||'") == ["a == b", "(c || d) && e != '||'"]


def test_values_are_the_same_only_with_their_type() -> None:
    assert same_value(["b", "a"], ["a", "b"])
    assert not same_value(["b", "a"], ["a", "b"], ordered=True)
    assert not same_value("10", 10)
    assert not same_value(True, 1)
    assert not same_value("10", "100")
