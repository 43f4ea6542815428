"""``episem_flaky`` in a session: an item a fault, no option, no trace where nothing fails, and a text for strangers."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import pytest_episem.plugin.flaky  # noqa: F401  (pytester forgets what was imported inside a run)

TEST = """
import pytest

def pay(charge, tries, key):
    for number in range(tries):
        try:
            return charge("INV-7", 120, idempotency_key=key or f"key-{number}")
        except (TimeoutError, RuntimeError):
            pass

@pytest.fixture
def charge(episem_flaky):
    paid = []
    def charge_card(invoice, amount, idempotency_key=None):
        paid.append(invoice)
        return {"id": f"ch_{len(paid)}"}
    return episem_flaky(charge_card, key="idempotency_key", success={"id": "ch_1"})

def test_once(charge):
    pay(charge, 1, "INV-7")

@pytest.mark.episem_flaky("answer-lost", "effect-late")
def test_twice(charge):
    pay(charge, 2, None)
"""
FAULTS = (
    "no-fault", "answer-lost", "request-lost", "effect-late", "delivered-twice", "key-forgotten", "false-failure",
    "false-success",
)  # fmt: skip
# Line by line from what the two calls are and what each fault does to the first.
ANSWER_LOST = """\
charge_card happened twice for one intent, under answer-lost

intent   charge_card(invoice='INV-7', amount=120)
fault    answer-lost: it happens, and the answer is lost

calls, in order:
  1  charge_card(invoice='INV-7', amount=120, idempotency_key='key-0')
     -> the fault: happened (effect 1); raised TimeoutError: no answer from
        charge_card
  2  charge_card(invoice='INV-7', amount=120, idempotency_key='key-1')
     -> happened (effect 2); answered {'id': 'ch_2'}

effects, in order:
  1  by call 1: charge_card(invoice='INV-7', amount=120,
       idempotency_key='key-0')
  2  by call 2: charge_card(invoice='INV-7', amount=120,
       idempotency_key='key-1')

The keys of its calls differ ('key-0', 'key-1'): nobody could see that they are
one. Look whether it happened before calling again, or call again with the same
key."""


def run(pytester: pytest.Pytester, *arguments: str, source: str = TEST) -> pytest.RunResult:
    pytester.makepyfile(test_own=source)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def test_each_fault_is_an_item_by_its_name(pytester):
    listed = run(pytester, "--collect-only", "-q")
    ids = [line for line in listed.outlines if "::" in line]
    assert ids == [f"test_own.py::test_once[{fault}]" for fault in FAULTS] + [
        "test_own.py::test_twice[answer-lost]",
        "test_own.py::test_twice[effect-late]",
    ]
    run(pytester, "-k", "answer-lost").assert_outcomes(passed=1, failed=1, deselected=8)
    run(pytester, "-m", "episem_flaky", "-k", "test_once").assert_outcomes(passed=8, deselected=2)
    run(pytester, "test_own.py::test_once[key-forgotten]").assert_outcomes(passed=1)


def test_a_session_with_nothing_else_is_pytests_own(pytester):
    result = run(pytester, "-k", "test_once", "-v")
    assert result.ret == 0
    result.assert_outcomes(passed=8, deselected=2)
    text = "\n".join(
        line for line in result.outlines if not line.startswith(("plugins:", "metadata:", "test_own.py::"))
    )
    assert "episem" not in text
    assert "ledger" not in text
    made = {path.name for path in pytester.path.iterdir() if not path.name.startswith("runpytest-")}
    assert made <= {"test_own.py", "__pycache__"}


def test_the_text_explains_itself_to_a_stranger(pytester):
    result = run(pytester, "-k", "test_twice")
    result.assert_outcomes(failed=2, deselected=8)
    assert ANSWER_LOST in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert "still under way" in result.stdout.str()


def test_the_text_keeps_to_80_columns_and_escapes_what_agents_write(pytester):
    source = TEST.replace('"INV-7", 120', '"INV-7" + "\\x1b[31m" + "é " * 200 + "x" * 300, 120')
    result = run(pytester, "-k", "test_twice and answer-lost", source=source)
    lines = result.outlines[result.outlines.index("charge_card happened twice for one intent, under answer-lost") :]
    body = lines[: next(at for at, line in enumerate(lines) if line.startswith("===="))]
    assert len(body) > 20
    assert max(map(len, body)) <= 80
    assert "\x1b" not in result.stdout.str()


def test_secrets_of_the_environment_are_not_shown(pytester, monkeypatch):
    monkeypatch.setenv("PAYMENTS_API_KEY", "pk-9d8f7a6b5c4d3e2f1a0b")
    result = run(pytester, "-k", "test_twice", source=TEST.replace('"INV-7", 120', '"pk-9d8f7a6b5c4d3e2f1a0b", 120'))
    assert "happened twice" in result.stdout.str()
    assert "pk-9d8f7a6b5c4d3e2f1a0b" not in result.stdout.str()


def test_on_ci_a_failure_is_one_line_in_the_summary_and_in_junit(pytester, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = run(pytester, "-k", "test_twice and answer-lost", "--junit-xml=junit.xml")
    head = "charge_card happened twice for one intent, under answer-lost"
    assert f"FAILED test_own.py::test_twice[answer-lost] - Failed: {head}" in result.outlines
    tree = ElementTree.parse(pytester.path / "junit.xml")
    assert [found.get("message") for found in tree.iter("failure")] == [f"Failed: {head}"]


@pytest.mark.slow
def test_workers_of_xdist_run_the_same_items(pytester):
    pytester.makepyfile(test_own=TEST)
    result = pytester.runpytest_subprocess("-n2", "-p", "no:cacheprovider", "-q")
    result.assert_outcomes(passed=8, failed=2)
    assert ANSWER_LOST in result.stdout.str()
    assert not (pytester.path / ".episem").exists()


@pytest.mark.slow
def test_a_wrong_marker_is_told_once_a_worker_and_runs_nothing(pytester):
    pytester.makepyfile(test_own=TEST.replace('"answer-lost"', '"answer-last"'))
    result = pytester.runpytest_subprocess("-n1", "-p", "no:cacheprovider", "-q")
    assert result.ret != 0
    assert "unknown fault 'answer-last'; did you mean 'answer-lost'?" in result.stdout.str()


def test_beside_the_shipped_suite_they_are_tests_of_ones_own_and_no_condition(pytester, task_file):
    pair = task_file("finance/payment-authorization/pr-58217")
    pytester.makepyfile(test_own=TEST.replace("def test_twice", "def no_test_twice"))
    asked = ("--episem-model=episem/careful", pair, "--episem-out=run", "-q")
    result = pytester.runpytest_inprocess(*asked, "--collect-only")
    collected = [line for line in result.outlines if "::" in line]
    assert sum(line.startswith("test_own.py::") for line in collected) == 8
    shipped = len(collected) - 8
    assert shipped > 0
    result = pytester.runpytest_inprocess(*asked)
    result.assert_outcomes(passed=len(collected))
    lines = (pytester.path / "run" / "trials.jsonl").read_text(encoding="ascii").splitlines()
    assert lines
    assert not any("test_once" in line for line in lines)


def test_a_rerun_begins_with_an_empty_ledger(pytester):
    source = TEST.replace("def test_once(charge):", "seen = []\ndef test_once(charge):\n    seen.append(1)").replace(
        'pay(charge, 1, "INV-7")', 'pay(charge, 1, "INV-7")\n    assert len(seen) > 1'
    )
    run(pytester, "-k", "test_once and no-fault", "--reruns=1", source=source).assert_outcomes(passed=1, deselected=9)
