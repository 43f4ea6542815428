"""``episem list``: ids, sizes, and how much of a bank a selection leaves."""

from __future__ import annotations

import json

TASK = "finance/payment-authorization/pr-58217"
# Five instances with two critical facts; three of them state the cost centre alone, two a telephone extension too.
# 2 + 4 x (2 + 1) = 14 and 2 + 4 x (2 + 2) = 18 conditions: 3 x 14 + 2 x 18 = 78.


def test_one_line_a_task(episem, bank_dir):
    lines = episem("list", "--bank", bank_dir).stdout.splitlines()
    assert lines[0].split() == ["task", "critical", "irrelevant", "conditions"]
    assert lines[1].split() == [TASK, "2", "1", "14"]
    assert lines[4].split() == ["finance/payment-authorization/pr-62075", "2", "2", "18"]
    assert lines[-1] == ("5 tasks, 1 family, 1 domain, 78 fixed conditions, 5 boundary searches; bank small 0.1")


def test_a_selection_counts_the_items_pytest_would_run(episem, bank_dir):
    lines = episem("list", "--bank", bank_dir, "-k", "58217 and -se").stdout.splitlines()
    assert lines[1].split() == [TASK, "2", "1", "6"]  # three facts, each in both worlds
    assert lines[-1].startswith("1 task, 1 family, 1 domain, 6 fixed conditions, 0 boundary searches;")


def test_a_selection_of_nothing_says_so(episem, bank_dir):
    result = episem("list", "--bank", bank_dir, "-k", "travel")
    assert (result.returncode, result.stdout) == (0, "no task of bank small is selected\n")


def test_families(episem, bank_dir):
    lines = episem("list", "--bank", bank_dir, "--families").stdout.splitlines()
    assert lines[0].split() == ["family", "tasks", "critical", "irrelevant", "conditions"]
    assert lines[1].split() == ["finance/payment-authorization", "5", "2", "1-2", "78"]


def test_json(episem, bank_dir):
    document = json.loads(episem("list", "--bank", bank_dir, "-k", "58217", "--json").stdout)
    assert document["schema"] == "episem.list/1"
    assert document["bank"]["name"] == "small"
    assert document["tasks"] == [
        {
            "task": TASK,
            "domain": "finance",
            "family": "payment-authorization",
            "critical": 2,
            "irrelevant": 1,
            "conditions": 14,
            "boundary": 1,
        }
    ]


def test_the_same_task_in_two_banks_is_refused(episem, bank_dir):
    result = episem("list", "--bank", bank_dir, "--bank", bank_dir)
    assert result.returncode == 2
    assert "is in two banks" in result.stderr
