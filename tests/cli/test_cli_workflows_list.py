"""``episem list`` and names on the command line, where a bank holds workflows of the workflow suite.

The worlds of the three workflows, counted by hand: billing-chain 6 fates x 4 services = 24; valid-key-recovery 5 x 3
x 7 = 105 (never arrived, rejected, accepted for nothing, effect at 0 or 1; served after 0 or 1, or refused; no second
trouble, or the first or second request lost or landing silently after 0 or 1); trip-withdrawal 2 fates x 2 renewals
= 4.
"""

from __future__ import annotations

import json

import pytest

CHAIN = "finance/billing-chain"


def test_one_line_a_workflow(episem, workflow_dir):
    lines = episem("list", "--suite", "workflows", "--bank", workflow_dir).stdout.splitlines()
    assert [line.split(maxsplit=2) for line in lines[:4]] == [
        ["workflow", "worlds", "cases"],
        [CHAIN, "24", "landed, lost"],
        ["finance/valid-key-recovery", "105", "landed, lost, lost-again, answer-lost-again"],
        ["travel/trip-withdrawal", "4", "renewed, room-held, nothing-held"],
    ]
    assert lines[-1] == "3 workflows, 2 domains, 9 cases, 133 worlds; bank recoveries 0.2"


def test_a_selection_is_matched_with_the_names_of_the_items(episem, workflow_dir):
    lines = episem("list", "--bank", workflow_dir, "-k", "workflows and chain/lost").stdout.splitlines()
    assert lines[1].split() == [CHAIN, "24", "lost"]
    assert lines[-1].startswith("1 workflow, 1 domain, 1 case, 24 worlds;")
    nothing = episem("list", "--bank", workflow_dir, "-k", "cloud").stdout
    assert nothing == "no workflow of bank recoveries is selected\n"


def test_json(episem, both_dir):
    arguments = ("list", "--bank", both_dir, "--json", "-k", "billing-chain or pr-58217")
    document = json.loads(episem(*arguments, "--suite", "all").stdout)
    assert document["schema"] == "episem.list/1"
    assert [line["task"] for line in document["tasks"]] == ["finance/payment-authorization/pr-58217"]
    (line,) = document["workflows"]["workflows"]
    assert (line["workflow"], line["domain"], line["worlds"], line["cases"]) == (
        CHAIN,
        "finance",
        24,
        ["landed", "lost"],
    )
    assert document["workflows"]["bank"]["name"] == "both"
    assert "workflows" not in json.loads(episem(*arguments).stdout)
    assert "tasks" not in json.loads(episem(*arguments, "--suite", "workflows").stdout)


def test_both_suites_stand_under_their_names(episem, both_dir):
    page = episem("list", "--bank", both_dir, "--suite", "all").stdout
    evidence, workflows = page.split("Workflow suite\n")
    assert "5 tasks, 1 family" in evidence
    assert "3 workflows, 2 domains" in workflows


def test_the_other_suite_is_told_of_in_a_line(episem, both_dir, bank_dir):
    assert episem("list", "--bank", both_dir).stdout.splitlines()[-1] == (
        "and 3 workflows of the workflow suite: episem list --suite workflows"
    )
    selected = episem("list", "--bank", both_dir, "-k", "billing or trip").stdout
    assert selected.startswith("no task of bank both is selected\n")
    assert selected.endswith(
        "and 2 workflows of the workflow suite: episem list --suite workflows -k 'billing or trip'\n"
    )
    assert "workflow suite" not in episem("list", "--bank", both_dir, "-k", "pr-58217").stdout
    assert "workflow suite" not in episem("list", "--bank", bank_dir).stdout


def test_a_suite_that_a_bank_does_not_hold(episem, bank_dir, workflow_dir):
    for bank, suite in ((bank_dir, "workflows"), (workflow_dir, "evidence")):
        result = episem("list", "--bank", bank, "--suite", suite)
        assert result.returncode == 2
        assert result.stderr == f"episem: {bank}: holds nothing of the {suite.removesuffix('s')} suite\n"


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_names_stay_whole_at_any_width(episem, workflow_dir, columns):
    lines = episem("list", "--bank", workflow_dir, COLUMNS=str(columns)).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    assert any(line.startswith("finance/valid-key-recovery ") for line in lines)


@pytest.mark.parametrize(
    "name",
    [
        "billing-chain",
        CHAIN,
        f"workflows/{CHAIN}",
        f"episem::workflows/{CHAIN}",
        f"{CHAIN}/landed",
        "billing-chain/landed",
        f"episem::workflows/{CHAIN}/landed",
    ],
)
def test_how_a_workflow_may_be_named(episem, both_dir, name):
    page = episem("show", name, "--bank", both_dir).stdout
    assert page.startswith(f"{CHAIN}\n")
    assert ("What is true in landed" in page) == name.endswith("landed")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("biling-chain",), f"unknown task or workflow 'biling-chain'; did you mean '{CHAIN}'?"),
        (("finance/biling-chain",), f"did you mean '{CHAIN}'?"),
        (("pr-58218",), "did you mean 'finance/payment-authorization/pr-58217'?"),
        (("zzz",), "unknown task or workflow 'zzz'; 'episem list --suite all' names all"),
        (("billing-chain", "--case", "lannded"), "unknown case 'lannded'; did you mean 'landed'?"),
        (("billing-chain/lannded",), "unknown case 'lannded'; did you mean 'landed'?"),
        (("billing-chain", "--case", "world-24"), "unknown case 'world-24'; did you mean 'world-"),
        (("billing-chain", "--world", "safe"), f"--world means nothing for {CHAIN}, which is of the workflow suite"),
        (("pr-58217", "--case", "landed"), "pr-58217, which is of the evidence suite"),
    ],
)
def test_a_wrong_name_is_one_line_with_the_nearest(episem, both_dir, arguments, complaint):
    for command in ("show", "play"):
        result = episem(command, *arguments, "--bank", both_dir)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert complaint in result.stderr


def test_a_name_that_two_things_have_is_refused(episem, workflow_dir, tmp_path):
    other = tmp_path / "other" / "workflows" / "travel" / "billing-chain.yaml"
    other.parent.mkdir(parents=True)
    other.write_text((workflow_dir / "workflows" / f"{CHAIN}.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    banks = ("--bank", workflow_dir, "--bank", tmp_path / "other")
    result = episem("show", "billing-chain", *banks)
    assert result.stderr == f"episem: 'billing-chain' could be any of {CHAIN}, travel/billing-chain\n"
    assert episem("show", "travel/billing-chain", *banks).stdout.startswith("travel/billing-chain\n")
    assert "is in two banks" in episem("list", "--bank", workflow_dir, "--bank", workflow_dir).stderr


def test_what_is_of_a_task_means_nothing_for_a_workflow_that_is_served(episem, both_dir):
    result = episem("serve", "billing-chain", "--world", "safe", "--bank", both_dir)
    assert result.returncode == 2
    assert result.stderr == f"episem: --world means nothing for {CHAIN}, which is of the workflow suite\n"
