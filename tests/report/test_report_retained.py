"""The retained reports: the known answers of the protocol, section 9, and how they are compared."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from dataclasses import replace

import pytest
import retained

from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.evidence.bank import load_bank
from pytest_episem.workflows.bank.load import shipped_workflows

NAMES = ("full_sws", "full_ucr", "critical_ucr", "sbm", "recovery_ucr", "pur")
KNOWN = {
    "careful": (100, 0, 0, 100, 0, 100),
    "refuse": (0, 0, 0, 100, 0, 0),
    "commit": (100, 100, 100, 0, 100, 0),
    "trusting": (100, 0, 100, None, 100, 0),
    "shallow": (100, 0, 100, 50.52, 100, 0),
    "overcautious": (0, 0, 0, 100, 0, 0),
}
RECORDS = {"refuse": 8460, "commit": 6052, "shallow": 7252}


@pytest.mark.parametrize("agent", KNOWN)
def test_retained_numbers_are_the_protocol_s(agent):
    document = json.loads((retained.HOME / agent / "report.json").read_text(encoding="utf-8"))
    found = [document["six"][name]["value"] for name in NAMES]
    wanted = [value if known is None else known for value, known in zip(found, KNOWN[agent], strict=True)]
    assert [round(value, 2) for value in found] == [round(value, 2) for value in wanted]
    assert document["selection"]["pairs"] == 300
    assert document["records"]["trials"] == RECORDS.get(agent, document["records"]["trials"])
    assert document["records"]["errors"] == {}
    assert all(document["six"][name]["coverage"] == 1 for name in NAMES)


def test_retained_outcomes_are_the_protocol_s():
    """Nobody does harm or is certified falsely; no active controller certifies more, or for less, than joint planning,
    and over the assignments all four certify alike."""
    for over in ("assignments", "worlds"):
        text = (retained.HOME / "workflows" / over / "report.json").read_text(encoding="utf-8")
        reports = {name: one["workflows"] for name, one in json.loads(text)["reports"].items()}
        assert list(reports) == [f"episem/{n}" for n in ("stop", "verify-wait", "capability", "greedy", "joint")]
        for found in reports.values():
            results, coverage = found["results"], found["coverage"]
            assert coverage["planned"] == coverage["recorded"] == results["runs"] >= 37
            assert coverage["replayed"]
            assert (coverage["missing"], coverage["refuted"]) == ([], {})
            assert results["new"] == results["false_certificates"] == results["refuted"] == 0
            ends = ("certified", "withdrawn", "handed_off", "unknown")
            assert sum(results[end] for end in ends) == results["runs"]
        certified = [found["results"]["certified"] for found in reports.values()]
        assert max(certified) == certified[-1]
        assert over == "worlds" or len(set(certified[1:])) == 1
        fees = {name: found["results"]["fee"] for name, found in reports.items() if name != "episem/stop"}
        assert min(fees.values()) == fees["episem/joint"]


@pytest.fixture
def small_bank(tmp_path, monkeypatch):
    """The shipped bank cut down to one family and one template."""
    family = "evidence/finance/payment-authorization.yaml"
    target = tmp_path / "bank" / family
    target.parent.mkdir(parents=True)
    shutil.copy(shipped_bank_dir() / family, target)
    bank = load_bank(tmp_path / "bank")
    monkeypatch.setattr(retained, "shipped_bank", lambda: bank)
    chain = shipped_workflows().workflow("finance/billing-chain")
    workflows = replace(shipped_workflows(), workflows={chain.template.id: chain})
    monkeypatch.setattr(retained, "shipped_workflows", lambda: workflows)


@pytest.fixture
def home(small_bank, tmp_path, monkeypatch):
    monkeypatch.setattr(retained, "HOME", tmp_path / "kept")
    assert retained.main([]) == 0
    return tmp_path / "kept"


@pytest.mark.slow
def test_written_anew_they_are_the_same(home, capsys):
    assert retained.main(["--check"]) == 0
    names = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    folders = {f"{agent}/{file}" for agent in KNOWN for file in ("report.json", "report.md")}
    workflows = {f"workflows/{over}/report.{kind}" for over in ("assignments", "worlds") for kind in ("json", "md")}
    assert names == folders | workflows | {"report.md", "report.html", "workflows/assignments/report.html"}


@pytest.mark.slow
def test_a_difference_is_named(home, capsys):
    (home / "refuse" / "report.md").unlink()
    page = home / "report.html"
    page.write_text(page.read_text().replace("<h1 ", "<h1  "))
    assert retained.main(["--check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if " is not what " in line] == [
        "reports/refuse/report.md",
        "reports/report.html",
    ]


@pytest.mark.slow
def test_another_compressor_is_no_difference(home):
    page = home / "report.html"
    text = page.read_text()
    found = retained._PACKED.search(text)
    other = base64.b64encode(zlib.compress(zlib.decompress(base64.b64decode(found.group(2))), 1)).decode()
    assert other != found.group(2)
    page.write_text(text.replace(found.group(2), other))
    assert retained.main(["--check"]) == 0
    changed = base64.b64encode(zlib.compress(b'{"runs":[]}')).decode()
    page.write_text(text.replace(found.group(2), changed))
    assert retained.main(["--check"]) == 1


def test_wrong_arguments_are_refused(capsys):
    assert retained.main(["--chekc"]) == 2
    assert "usage" in capsys.readouterr().err


def test_any_other_argument_is_refused(capsys):
    assert retained.main(["--chek"]) == 2
    assert capsys.readouterr().err == "usage: python tests/tools/retained.py [--check]\n"
