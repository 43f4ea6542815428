"""No pass by accident: nothing wrapped, nothing reached, nothing checked, names that are none."""

from __future__ import annotations

import pytest

ONE_TEST = """
import pytest, payments
MARK
def test_pays(episem_flaky):
    bank = payments.Bank()
    BODY
"""


def source(body: str, mark: str = "") -> str:
    return ONE_TEST.replace("BODY", body.replace("\n", "\n    ")).replace("MARK", mark and f"@pytest.mark.{mark}")


CHARGE = 'charge = episem_flaky(bank.charge, key="key")\n'


@pytest.mark.parametrize(
    ("body", "fault", "words"),
    [
        ("pass", "no-fault", "no tool that changes anything was wrapped"),
        ("find = episem_flaky(bank.find, reads=True)\nfind('a')", "answer-lost", "no tool that changes anything"),
        (CHARGE, "no-fault", "charge was never called"),
        (CHARGE, "answer-lost", "charge was never called, so that the fault was never reached"),
        (CHARGE + "charge('a', 1)", "false-success", "no answer to give at the first call of charge; give one"),
        (CHARGE + "charge('a', 1)", "key-forgotten", "charge was never called with a key"),
        ("episem_flaky(bank.charge)('a', 1)", "key-forgotten", "charge has no key; name the argument"),
        ("episem_flaky(bank.charge, call=2)('a', 1)", "request-lost", "not called often enough for call="),
        ("episem_flaky(bank.charge, happened=lambda answer: False)('a', 1)", "answer-lost", "no call of charge had an"),
    ],
)
def test_a_fault_that_was_never_reached_is_no_pass(run, body, fault, words):
    ran = run(source(body, f"episem_flaky({fault!r})"))
    name = f"test_pays[{fault}]"
    assert ran.outcomes == {name: "failed"}
    assert "\n" not in ran.texts[name].strip()
    assert ran.texts[name].startswith(f"no verdict under {fault}: ")
    assert words in ran.texts[name]


def test_unreached_may_be_allowed_and_nothing_wrapped_may_not(run):
    allowed = "episem_flaky('answer-lost', unreached_ok=True)"
    assert run(source(CHARGE, allowed)).outcomes == {"test_pays[answer-lost]": "passed"}
    assert run(source("pass", allowed)).outcomes == {"test_pays[answer-lost]": "failed"}


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("episem_flaky('answer-lots')", "unknown fault 'answer-lots'; did you mean 'answer-lost'?"),
        ("episem_flaky(faults=['no-fault', 'nothing'])", "unknown fault 'nothing'"),
        ("episem_flaky(faults=[])", "faults= is empty, and nothing would be tested"),
        ("episem_flaky('no-fault', 'no-fault')", "the fault 'no-fault' is named twice"),
        ("episem_flaky('no-fault', faults=['no-fault'])", "names faults twice"),
        ("episem_flaky(fault='no-fault')", "unknown argument 'fault'; did you mean 'faults'?"),
        ("episem_flaky(call=0)", "call counts from 1, and is 0"),
        ("episem_flaky(late_after=0)", "late_after counts calls from 1, or is None for the end, and is 0"),
    ],
)
def test_a_marker_that_cannot_be_is_one_line_and_no_item(run, mark, words):
    ran = run(source(CHARGE, mark))
    assert ran.outcomes == {}
    assert ran.exit == 2
    assert f"test_own.py::test_pays: @pytest.mark.episem_flaky: {words}" in ran.output
    assert "Traceback" not in ran.output
    assert "_hookexec" not in ran.output


def test_the_marker_without_the_fixture_is_refused(run):
    ran = run("import pytest\n@pytest.mark.episem_flaky\ndef test_pays(): pass")
    assert ran.exit == 2
    assert "test_own.py::test_pays: has @pytest.mark.episem_flaky and does not take the fixture" in ran.output


def test_a_marker_of_a_module_or_class_may_stand_over_other_tests_too(run):
    text = (
        "import pytest, payments\npytestmark = pytest.mark.episem_flaky('answer-lost', 'request-lost')\n"
        "def test_other(): pass\nclass TestIt:\n    def test_pays(self, episem_flaky):\n"
        "        payments.gives_up(episem_flaky(payments.Bank().charge), None)\n"
    )
    assert run(text).outcomes == {
        "test_other": "passed",
        "test_pays[answer-lost]": "passed",
        "test_pays[request-lost]": "passed",
    }


def test_the_check_is_not_to_be_forgotten_and_late_effects_arrive_for_it(run):
    body = CHARGE + "payments.retries_blindly(charge, None)"
    ran = run(source(body, "episem_flaky('effect-late', late_after=None)"))
    assert ran.first_line("test_pays[effect-late]") == "charge happened twice for one intent, under effect-late"
    assert "by call 1, late: " in ran.texts["test_pays[effect-late]"]


def test_a_test_that_fails_by_itself_keeps_its_failure_and_shows_the_ledger(run):
    body = CHARGE + "try: charge('INV-7', 120)\nexcept TimeoutError: pass\nassert bank.paid == []"
    ran = run(source(body, "episem_flaky('answer-lost')"))
    assert "assert ['INV-7'] == []" in ran.texts["test_pays[answer-lost]"]
    assert "1  by call 1: charge(invoice='INV-7', amount=120, key=None)" in ran.output


def test_a_fixture_of_ones_own_may_wrap_and_a_fixture_asked_for_by_name_may_not(run):
    through = (
        "import pytest, payments\n@pytest.fixture\ndef charge(episem_flaky):\n"
        "    return episem_flaky(payments.Bank().charge)\n@pytest.mark.episem_flaky('answer-lost')\n"
    )
    good = through + "def test_pays(charge): payments.retries_blindly(charge, None)"
    assert run(good).first_line("test_pays[answer-lost]").startswith("charge happened twice")
    bad = "def test_pays(request): request.getfixturevalue('episem_flaky')"
    assert "episem_flaky has no fault here: let the test function" in run(bad).texts["test_pays"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("episem_flaky(bank.charge, key='keys')", "charge has no argument 'keys'; did you mean 'key'?"),
        ("episem_flaky(bank.charge, intent=('invoic',))", "charge has no argument 'invoic'; did you mean 'invoice'?"),
        ("episem_flaky(bank.charge, intent=())", "charge: intent=() would make every call the same"),
        ("episem_flaky(bank.charge, call=0)", "charge: call counts from 1, and is 0"),
        ("episem_flaky(bank.charge, key=lambda given: given['key'])", "name those too: intent="),
        ("episem_flaky('charge')", "'charge' is not a function: wrap the function itself"),
        ("def items(): yield\nepisem_flaky(items)", "items is a generator"),
        ("episem_flaky(bank.charge)\nepisem_flaky(payments.Bank().charge)", "two tools are named charge"),
        (CHARGE + "charge('a', 1)\nepisem_flaky.check('finished')", "unknown claim 'finished'; allowed: done, not"),
        (
            CHARGE + "charge('a', 1)\nepisem_flaky.effects('chrge')",
            "no tool 'chrge' was wrapped; did you mean 'charge'?",
        ),
        (
            CHARGE + "charge('a', 1)\nepisem_flaky.effects(charge, invoce='a')",
            "no argument 'invoce' in charge",
        ),
    ],
)
def test_a_wrong_use_is_one_line(run, body, words):
    ran = run(source(body, "episem_flaky('no-fault')"))
    assert words in ran.texts["test_pays[no-fault]"]
    assert len(ran.texts["test_pays[no-fault]"].strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "class Order: pass\ndef pay(order): pass\npay = episem_flaky(pay)\npay(Order())\npay(Order())",
            "pay: whether two calls mean the same cannot be told by an object of Order; name what tells it",
        ),
        (
            "from dataclasses import dataclass\nclass Line: pass\n@dataclass\nclass Order: line: Line\n"
            "def pay(order): pass\nepisem_flaky(pay)(Order(Line()))",
            "cannot be told by an object of Line",
        ),
        (
            "from dataclasses import dataclass\n@dataclass(eq=False)\nclass Order: n: int\n"
            "def pay(order): pass\nepisem_flaky(pay)(Order(1))",
            "cannot be told by an object of Order",
        ),
        (
            "import numpy\ndef pay(lines): pass\npay = episem_flaky(pay)\n"
            "pay(numpy.array([1, 2]))\npay(numpy.array([1, 2]))",
            "pay: whether two calls mean the same cannot be told: ValueError: ",
        ),
        (
            "import asyncio\ndef pay(): return asyncio.sleep(0)\nasyncio.run(episem_flaky(pay)())",
            "pay is a plain function and returned something to be awaited",
        ),
        (
            "episem_flaky(bank.charge, happened=lambda answer: answer['paid'])('a', 1)",
            "charge: happened= raised KeyError: 'paid'",
        ),
        (
            "import threading\ngo = threading.Event()\ndef pay(): go.wait()\npay = episem_flaky(pay)\n"
            "thread = threading.Thread(target=pay)\nthread.start()\ntry: episem_flaky.check()\nfinally: go.set()",
            "call 1, pay(), is still running",
        ),
    ],
)
def test_what_nobody_can_count_gives_no_verdict(run, body, words):
    ran = run(source(body, "episem_flaky('no-fault')"))
    assert ran.first_line("test_pays[no-fault]").startswith("no verdict under no-fault: ")
    assert words in ran.texts["test_pays[no-fault]"]


def test_a_call_that_was_broken_off_may_have_happened(run):
    ran = run("""
import asyncio, pytest
from pytest_episem import FlakyError
@pytest.mark.episem_flaky("no-fault")
@pytest.mark.parametrize("again", [False, True])
def test_pays(again, episem_flaky):
    async def pay(): await asyncio.sleep(3600 if not episem_flaky.effects() and not tried else 0)
    tried = []
    pay = episem_flaky(pay)
    async def agent():
        task = asyncio.ensure_future(pay())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        tried.append(1)
        if again:
            await pay()
    asyncio.run(agent())
    if not again:
        for claim in ("done", "not done"):
            with pytest.raises(FlakyError, match="was broken off: whether it happened is unknown"):
                episem_flaky.check(claim)
        episem_flaky.check("not known")
""")
    assert ran.outcomes == {"test_pays[no-fault-False]": "passed", "test_pays[no-fault-True]": "failed"}
    assert "pay() was broken off, and called again" in ran.texts["test_pays[no-fault-True]"]


def test_what_was_claimed_is_held_against_what_happened(run):
    ran = run(
        source(
            CHARGE + "if said_first: charge('INV-7', 1)\nepisem_flaky.check(claim)",
            "parametrize('said_first, claim', [(True, 'done'), (True, 'not done'), (True, 'not known'), "
            "(False, 'done')])\n@pytest.mark.episem_flaky('no-fault', unreached_ok=True)",
        ).replace("test_pays(", "test_pays(said_first, claim, ")
    )
    assert ran.outcomes == {
        "test_pays[no-fault-True-done]": "passed",
        "test_pays[no-fault-True-not done]": "failed",
        "test_pays[no-fault-True-not known]": "failed",
        "test_pays[no-fault-False-done]": "failed",
    }
    assert ran.first_line("test_pays[no-fault-True-not done]") == (
        "not done was claimed, and charge happened, under no-fault"
    )
    assert (
        ran.first_line("test_pays[no-fault-False-done]") == "done was claimed, and nothing was called, under no-fault"
    )
