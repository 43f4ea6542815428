"""``episem show`` of workflows, on the billing chain: the invoice is out, the charge timed out, the receipt waits.

By hand: the charge arrives at once or never and takes effect within 2 instants or never, so six fates (never arrived,
rejected, accepted for nothing, effect at 0, 1 or 2), each with new charges served after 0, 1 or 2 or refused: 24
worlds. In *landed* it took effect at 0: ask (free), send the receipt (1). In *lost* it never arrived: ask, charge (3),
send the receipt (1).
"""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def show(episem, workflow_dir):
    def run(*arguments: str, name: str = "billing-chain", **environment: str) -> str:
        result = episem("show", name, "--bank", workflow_dir, *arguments, **environment)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def section(page: str, heading: str) -> list[str]:
    """The lines of a section without their indent, up to the empty line after it."""
    lines = page.split(f"\n{heading}\n")[1].split("\n\n")[0].splitlines()
    return [" ".join(line.split()) for line in lines]


def test_what_is_public(show):
    page = show()
    assert section(page, "Clock")[0].startswith("It is t1, the deadline is t6; only waiting moves time.")
    assert section(page, "Approved work")[1] == ("charge cards.charge(id=INV-7, eur=120), fee 3; only after invoice")
    assert section(page, "What happened so far") == [
        "t0 invoice(INV-7), key inv-7: settled at 0",
        "t0 charge(INV-7), key chg-7: no answer (timeout)",
    ]
    promises = section(page, "What the providers promise")
    assert "in time arrives at once or never; takes effect within 2 instants or never" in promises
    assert section(page, "What nobody knows") == [
        "chg-7: never arrived, rejected, accepted without any effect or effect at t0 to t2",
        "new requests, cards.charge: effect 0 to 2 instants later or rejected",
        "6 fates of the history, 24 worlds fit every answer so far.",
    ]
    assert section(page, "Cases")[0].startswith("landed, lost; and world-0 to world-23")
    assert "What is true" not in page


def test_approvals_and_undoing(show):
    page = show(name="trip-withdrawal")
    assert section(page, "Approvals") == [
        "trip-904 valid from t0 until just before t1; a renewal holds 3 instants, may be refused, fee 1"
    ]
    assert any(
        line.startswith("undoing possible before t4, fee 1;") for line in section(page, "What the providers promise")
    )
    assert "A finish may claim completed or withdrawn" in page


def test_a_case_shows_its_truth_and_every_controller(show):
    page = show("--case", "lost")
    assert section(page, "What is true in lost") == [
        "chg-7: never arrived",
        "new requests, cards.charge: effect at once",
    ]
    assert section(page, "The ledger if nobody does anything") == ["t0 invoice by inv-7"]
    runs = section(page, "What each controller does")
    assert runs[:2] == ["stop", "1. t1 stop"]
    assert runs[-4:] == [
        "1. t1 query charge: chg-7 absent",
        "2. t1 charge(INV-7), new key: settled at 1 (fee 3)",
        "3. t1 receipt(INV-7), new key: settled at 1 (fee 1)",
        "4. t1 finish completed",
    ]
    ends = section(page, "How it ends")
    assert ends[1] == "stop 0 0 0 missed unknown: ended without a claim"
    assert ends[-1] == "joint 4 3 0 reached completed, certified"


@pytest.mark.slow
def test_a_world_of_the_support_is_a_case_too(show):
    pages = {section(show("--case", f"world-{number}"), f"What is true in world-{number}")[0] for number in range(24)}
    assert pages == {
        "chg-7: never arrived",
        "chg-7: rejected",
        "chg-7: accepted without any effect",
        *(f"chg-7: effect at t{instant}" for instant in range(3)),
    }


def test_json(show):
    document = json.loads(show("--case", "landed", "--json"))
    assert document["schema"] == "episem.show-workflow/1"
    assert (document["worlds"], document["fates"], document["cases"]) == (24, 6, ["landed", "lost"])
    assert document["template"]["id"] == "finance/billing-chain"
    assert document["case"]["world"]["fates"]["c1"]["lands"] == 0
    verdict = document["case"]["runs"]["joint"]["trajectory"]["verdict"]
    assert (verdict["terminal"], verdict["fee"], verdict["actions"]) == ("completed", 1, 2)
    assert "case" not in json.loads(show("--json"))


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_a_page_keeps_to_its_width_without_escapes(show, columns):
    lines = show("--case", "landed", COLUMNS=columns).splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert not any("\x1b" in line or line != line.rstrip() for line in lines)


def test_a_pipe_never_wraps(show):
    assert "  chg-7: never arrived, rejected, accepted without any effect or effect at t0 to t2\n" in show()


def test_what_a_bank_says_is_escaped(episem, workflow_dir, tmp_path):
    text = (workflow_dir / "workflows" / "finance" / "billing-chain.yaml").read_text(encoding="utf-8")
    file = tmp_path / "odd" / "workflows" / "finance" / "billing-chain.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text.replace("args: {id: INV-7}", 'args: {id: "I\\e[31m[bold]7"}'), encoding="utf-8")
    for command in ("show", "play"):
        page = episem(command, "billing-chain", "--bank", tmp_path / "odd", "--case", "landed").stdout
        assert "\x1b" not in page
        assert "I\\x1b[31m[bold]7" in page
