"""``episem worth``: what is lost without a promise, in cases where that can be said by hand."""

from __future__ import annotations

import json

import pytest


def lines(result) -> dict[tuple[str, str], str]:
    """The table: by operation and promise, what is lost."""
    found = {}
    for line in result.stdout.splitlines():
        parts = [part for part in line.strip().split("  ") if part]
        if len(parts) == 3 and parts[0] != "operation":
            found[parts[0], parts[1].strip()] = parts[2].strip()
    return found


@pytest.mark.slow
def test_what_a_charge_that_cannot_be_asked_about_costs(episem):
    """A charge in flight may be charged again only if it is known not to come: asking says so, and so does a bound on
    its arrival. A receipt instead of a final answer can be followed by a question, which costs two actions more."""
    result = episem("worth", "billing-chain")
    assert result.returncode == 0
    found = lines(result)
    assert found["cards.charge", "can be asked"] == "landed: certified -> handed off; lost: certified -> handed off"
    assert found["cards.charge", "arrives in time or never"] == "lost: certified -> handed off"
    assert found["cards.charge", "answers are final"].startswith("costs fee 5, 7 actions, ")
    assert found["mail.receipt", "answers are final"] == "nothing changes"


@pytest.mark.slow
def test_as_json_every_case_with_and_without(episem):
    document = json.loads(episem("worth", "finance/billing-chain", "--json").stdout)
    assert (document["schema"], document["workflow"]) == ("episem.worth/1", "finance/billing-chain")
    asked = next(
        one for one in document["promises"] if (one["operation"], one["capability"]) == ("cards.charge", "query")
    )
    assert asked["change"] == "ending"
    assert [case["case"] for case in asked["cases"]] == ["landed", "lost"]
    assert {case["with"]["terminal"] for case in asked["cases"]} == {"completed"}
    assert {case["without"]["terminal"] for case in asked["cases"]} == {"handed_off"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pr-58217", "is no workflow"),
        ("billing-chain/lost", "is no workflow"),
        ("biling-chain", "billing-chain"),
    ],
)
def test_what_is_no_workflow_is_one_line(episem, name, words):
    result = episem("worth", name)
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
