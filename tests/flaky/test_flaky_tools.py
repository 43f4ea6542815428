"""A wrapped tool is the tool to whoever looks at it, counts what is one intent, and plays a provider with keys."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
import typing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated

import pytest

from pytest_episem import FlakyFailure, FlakyTools


def charge(invoice: Annotated[str, "its number"], amount: int = 120, *, key: str | None = None) -> dict[str, int]:
    """Charge an invoice.

    Args:
        invoice: its number.
    """
    BOOK.append(invoice)
    return {"number": len(BOOK)}


async def charge_later(invoice: str, key: str | None = None) -> dict[str, int]:
    """Charge an invoice, in a while."""
    await asyncio.sleep(0)
    return charge(invoice)


class Client:
    """A client."""

    def charge(self, invoice: str, amount: int = 120) -> dict[str, int]:
        """Charge an invoice."""
        return charge(invoice)

    def __call__(self, invoice: str) -> dict[str, int]:
        """Charge by calling."""
        return charge(invoice)


BOOK: list[str] = []


@pytest.fixture(autouse=True)
def _empty_book():
    BOOK.clear()


# What it looks like


@pytest.mark.parametrize("tool", [charge, charge_later, Client().charge], ids=["sync", "async", "method"])
def test_a_function_is_still_what_it_was_to_a_framework(tool):
    wrapped = FlakyTools("no-fault")(tool)
    assert (wrapped.__name__, wrapped.__doc__) == (tool.__name__, tool.__doc__)
    assert inspect.signature(wrapped) == inspect.signature(tool)
    assert typing.get_type_hints(wrapped, include_extras=True) == typing.get_type_hints(tool, include_extras=True)
    assert inspect.iscoroutinefunction(wrapped) == inspect.iscoroutinefunction(tool)


def test_a_partial_is_its_function_without_what_is_given():
    wrapped = FlakyTools("no-fault")(functools.partial(charge, amount=7))
    assert (wrapped.__name__, wrapped.__doc__) == ("charge", inspect.getdoc(charge))
    assert list(inspect.signature(wrapped).parameters) == ["invoice", "amount", "key"]
    assert inspect.signature(wrapped).parameters["amount"].default == 7
    assert typing.get_type_hints(wrapped)["invoice"] is str
    assert inspect.signature(wrapped).parameters["invoice"].annotation == Annotated[str, "its number"]
    assert inspect.iscoroutinefunction(FlakyTools("no-fault")(functools.partial(charge_later, key="k")))


def test_an_object_that_can_be_called_is_a_tool_under_its_class_name():
    flaky = FlakyTools("answer-lost")
    wrapped = flaky(Client())
    assert (wrapped.__name__, list(inspect.signature(wrapped).parameters)) == ("Client", ["invoice"])
    with pytest.raises(TimeoutError, match="no answer from Client"):
        wrapped("INV-7")
    assert [effect.tool for effect in flaky.effects()] == ["Client"]


def test_a_method_replaced_in_its_class_takes_its_object_along(monkeypatch):
    flaky = FlakyTools("answer-lost")
    monkeypatch.setattr(Client, "charge", flaky(Client.charge))
    with pytest.raises(TimeoutError):
        Client().charge("INV-7")
    assert Client().charge("INV-7") == {"number": 2}
    with pytest.raises(FlakyFailure, match="charge happened twice"):  # two objects, one intent
        flaky.check()
    assert flaky.effects()[0].arguments == {"invoice": "INV-7", "amount": 120}


def test_a_tools_own_exceptions_are_its_own_and_the_fault_waits_for_an_effect():
    declined = ValueError("declined")

    def pay(invoice):
        if invoice == "bad":
            raise declined
        return "paid"

    flaky = FlakyTools("answer-lost")
    wrapped = flaky(pay)
    with pytest.raises(ValueError, match="declined") as caught:
        wrapped("bad")
    assert caught.value is declined
    with pytest.raises(TimeoutError):
        wrapped("good")
    with pytest.raises(TypeError, match="unexpected keyword"):
        wrapped(invoce="good")
    flaky.check()
    assert [(effect.call, dict(effect.arguments)) for effect in flaky.effects()] == [(2, {"invoice": "good"})]


def test_what_the_tool_refused_was_not_called_for_but_something_must_be_done():
    def pay(invoice):
        if not invoice.startswith("INV-"):
            raise ValueError("no such invoice")

    flaky = FlakyTools("no-fault")
    wrapped = flaky(pay)
    with pytest.raises(ValueError, match="no such invoice"):
        wrapped("INV7")
    with pytest.raises(FlakyFailure, match="done was claimed, and nothing happened, under no-fault"):
        flaky.check("done")
    wrapped("INV-7")
    flaky.check("done")


def test_a_refusal_that_nobody_was_told_of_is_no_excuse():
    """The request came late, and was refused then; who reports it done has made that up."""

    def pay(invoice):
        if invoice == "INV-7":
            raise ValueError("closed")

    flaky = FlakyTools("effect-late", late_after=None)
    wrapped = flaky(pay)
    with pytest.raises(TimeoutError):
        wrapped("INV-7")
    wrapped("INV-8")
    with pytest.raises(FlakyFailure, match="done was claimed, and pay did not happen") as caught:
        flaky.check("done")
    assert "intent   pay(invoice='INV-7')" in str(caught.value)


# What the user says of faults


class Unavailable(Exception):
    pass


@pytest.mark.parametrize(
    "error",
    [Unavailable, Unavailable("off"), lambda given: Unavailable(given["invoice"])],
    ids=["class", "instance", "function"],
)
def test_a_lost_answer_raises_what_the_user_gave(error):
    with pytest.raises(Unavailable):
        FlakyTools("answer-lost")(charge, error=error)("INV-7")
    assert BOOK == ["INV-7"]


def test_a_false_failure_may_be_returned_and_a_false_success_computed():
    failing = FlakyTools("false-failure")(charge, failure={"status": "failed"})
    assert failing("INV-7") == {"status": "failed"}
    assert BOOK == ["INV-7"]
    succeeding = FlakyTools("false-success")(charge, success=lambda given: {"number": given["amount"]})
    assert succeeding("INV-8") == {"number": 120}
    assert BOOK == ["INV-7"]


def test_a_false_success_repeats_an_earlier_answer_where_none_was_given():
    flaky = FlakyTools("false-success")
    wrapped = flaky(charge)
    assert wrapped("INV-7") == {"number": 1}
    assert wrapped("INV-8") == {"number": 1}
    assert BOOK == ["INV-7"]
    with pytest.raises(FlakyFailure, match="done was claimed, and charge did not happen"):
        flaky.check("done")


def test_the_fault_strikes_the_call_that_was_named():
    for wrapped in (FlakyTools("request-lost")(charge, call=2), FlakyTools("request-lost", call=2)(charge)):
        BOOK.clear()
        assert wrapped("INV-7") == {"number": 1}
        with pytest.raises(TimeoutError):
            wrapped("INV-8")
        assert wrapped("INV-8") == {"number": 2}


def test_what_changed_nothing_is_no_effect():
    flaky = FlakyTools("no-fault")
    wrapped = flaky(charge, happened=lambda answer: answer["number"] == 1)
    wrapped("INV-7"), wrapped("INV-7")
    flaky.check("done")
    assert len(flaky.effects(charge, invoice="INV-7")) == 1


# Intents


@dataclass
class Order:
    lines: list[str]
    note: str = ""


@pytest.mark.parametrize(
    ("intent", "first", "second", "twice"),
    [
        (None, {"order": Order(["a"])}, {"order": Order(["a"])}, True),
        (None, {"order": Order(["a"])}, {"order": Order(["b"])}, False),
        (None, {"order": {"a": [1, 2]}}, {"order": {"a": [1, 2]}}, True),
        (None, {"order": 1, "note": "x"}, {"order": 1, "note": "y"}, False),
        (("order",), {"order": 1, "note": "x"}, {"order": 1, "note": "y"}, True),
        ("order", {"order": 1, "note": "x"}, {"order": 1, "note": "y"}, True),
        (lambda given: given["order"].lines, {"order": Order(["a"], "x")}, {"order": Order(["a"], "y")}, True),
        (None, {"order": 1, "key": "a"}, {"order": 1, "key": "b"}, True),
        (None, {"order": 1, "more": "a"}, {"order": 1, "more": "b"}, False),
    ],
)
def test_what_is_one_intent(intent, first, second, twice):
    def place(order, note="", key=None, **more):
        pass

    flaky = FlakyTools("no-fault")
    wrapped = flaky(place, key="key", intent=intent)
    wrapped(**first), wrapped(**second)
    if twice:
        with pytest.raises(FlakyFailure, match="place happened twice for one intent"):
            flaky.check()
    else:
        flaky.check("done")


def test_the_ledger_holds_what_was_sent_whatever_becomes_of_it():
    carried_out = []
    flaky = FlakyTools("effect-late")
    place = flaky(lambda lines: carried_out.append(list(lines)), name="place")
    lines = ["a"]
    with pytest.raises(TimeoutError):
        place(lines)
    lines.append("b")
    flaky.check()
    assert carried_out == [["a"]]
    assert flaky.effects("place")[0].arguments == {"lines": ["a"]}


@dataclass
class Context:
    """What a framework hands to a tool beside its arguments."""

    paid: list[str]


@pytest.mark.parametrize("fault", ["effect-late", "delivered-twice"])
def test_what_is_done_again_is_done_to_the_same_context(fault):
    flaky = FlakyTools(fault)
    pay = flaky(lambda context, invoice: context.paid.append(invoice), intent="invoice", name="pay")
    context = Context([])
    with pytest.raises(TimeoutError) if fault == "effect-late" else contextlib.nullcontext():
        pay(context, "INV-7")
    with contextlib.suppress(FlakyFailure):
        flaky.check()
    assert context.paid == ["INV-7"] * len(flaky.effects())
    assert len(flaky.effects(pay, invoice="INV-7")) == {"effect-late": 1, "delivered-twice": 2}[fault]


def test_an_argument_that_holds_itself_is_no_error_of_the_tool():
    lines: list[object] = []
    lines.append(lines)
    assert FlakyTools("no-fault")(lambda lines: len(lines), name="count")(lines) == 1


# Keys


def test_a_known_key_is_answered_as_before_and_done_once():
    flaky = FlakyTools("no-fault")
    wrapped = flaky(charge, key="key")
    first = wrapped("INV-7", key="a")
    first["number"] = 99
    second = wrapped("INV-7", key="a")
    assert second == {"number": 1}
    second["number"] = 98
    assert wrapped("INV-7", key="a") == {"number": 1}
    assert wrapped("INV-8", key="b") == {"number": 2}
    assert BOOK == ["INV-7", "INV-8"]
    flaky.check("done")


def test_a_key_used_for_something_else_leaves_that_undone():
    flaky = FlakyTools("no-fault")
    wrapped = flaky(charge, key="key")
    wrapped("INV-7", key="a"), wrapped("INV-8", key="a")
    with pytest.raises(FlakyFailure, match="done was claimed, and charge did not happen") as caught:
        flaky.check("done")
    assert "intent   charge(invoice='INV-8', amount=120)" in str(caught.value)
    assert "its key 'a' was known: not done again" in str(caught.value)


def test_a_key_may_be_within_an_argument():
    flaky = FlakyTools("delivered-twice")
    pay = flaky(
        lambda request: charge(request["invoice"]),
        key=lambda given: given["request"]["id"],
        intent=lambda given: given["request"]["invoice"],
        name="pay",
    )
    pay({"invoice": "INV-7", "id": "a"})
    assert BOOK == ["INV-7"]
    flaky.check("done")


def test_a_request_that_raised_is_not_remembered():
    tries = []

    def pay(key):
        tries.append(key)
        if len(tries) == 1:
            raise OSError("busy")

    flaky = FlakyTools("no-fault")
    wrapped = flaky(pay, key="key", intent="key")
    with pytest.raises(OSError, match="busy"):
        wrapped("a")
    wrapped("a"), wrapped("a")
    assert tries == ["a", "a"]
    flaky.check("done")


# What comes late


@pytest.mark.parametrize(("late_after", "seen"), [(1, [0, 1, 1]), (2, [0, 0, 1]), (None, [0, 0, 0])])
def test_a_late_effect_arrives_after_as_many_calls_as_was_said(late_after, seen):
    flaky = FlakyTools("effect-late", late_after=late_after)
    wrapped, paid = flaky(charge), flaky(lambda: len(BOOK), reads=True, name="paid")
    with pytest.raises(TimeoutError):
        wrapped("INV-7")
    assert [paid() for _ in range(3)] == seen
    flaky.check("done")
    assert BOOK == ["INV-7"]
    assert flaky.effects()[0].how == "late"


def test_a_late_effect_of_a_coroutine_function_waits_for_a_loop_to_arrive_in():
    flaky = FlakyTools("effect-late")
    wrapped, paid = flaky(charge_later), flaky(lambda: len(BOOK), reads=True, name="paid")
    with pytest.raises(TimeoutError):
        asyncio.run(wrapped("INV-7"))
    assert (paid(), paid()) == (0, 0)
    flaky.check("done")
    assert BOOK == ["INV-7"]


def test_a_late_effect_that_fails_in_a_loop_not_its_own_is_no_proof_of_none(pytester):
    """What raises then may be the tool's own refusal, or that its connection belongs to a loop that has ended."""
    result = pytester.makepyfile("""
import asyncio, pytest
@pytest.mark.episem_flaky("effect-late")
def test_pays(episem_flaky):
    async def agent():
        home = asyncio.get_running_loop()
        async def pay():
            if asyncio.get_running_loop() is not home:
                raise RuntimeError("attached to a different loop")
        try:
            await episem_flaky(pay)()
        except TimeoutError:
            pass
        if END:
            await episem_flaky.acheck("done")
    asyncio.run(agent())
""")
    text = result.read_text()
    for end, outcome in (("True", "passed"), ("False", "failed")):
        result.write_text(text.replace("END", end))
        ran = pytester.runpytest_inprocess("-p", "no:cacheprovider")
        ran.assert_outcomes(**{outcome: 1})
    ran.stdout.fnmatch_lines(["no verdict under effect-late: pay() was to happen late, after*acheck()`"])


# Many at once


def test_calls_of_many_threads_are_counted_once_each_and_one_of_them_is_struck():
    flaky = FlakyTools("answer-lost")
    start = threading.Barrier(16)

    def pay(invoice):
        return invoice

    wrapped = flaky(pay)

    def one(number):
        start.wait()
        try:
            return wrapped(number)
        except TimeoutError:
            return "lost"

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(16)))
    assert answers.count("lost") == 1
    assert [effect.number for effect in flaky.effects()] == list(range(1, 17))
    assert sorted(effect.call for effect in flaky.effects()) == list(range(1, 17))
    flaky.check("done")


def test_requests_with_one_key_at_the_same_time_are_carried_out_once_in_threads():
    flaky = FlakyTools("no-fault")
    begun, go = threading.Event(), threading.Event()

    def pay(key):
        begun.set()
        go.wait()
        BOOK.append(key)
        return len(BOOK)

    wrapped = flaky(pay, key="key", intent="key")
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(wrapped, "a")
        begun.wait()
        others = [pool.submit(wrapped, "a") for _ in range(7)]
        go.set()
        assert [one.result() for one in (first, *others)] == [1] * 8
    flaky.check("done")


def test_requests_with_one_key_at_the_same_time_are_carried_out_once_in_asyncio():
    flaky = FlakyTools("no-fault")
    wrapped = flaky(charge_later, key="key")

    async def agent():
        return await asyncio.gather(*(wrapped("INV-7", key="a") for _ in range(8)))

    assert asyncio.run(agent()) == [{"number": 1}] * 8
    flaky.check("done")


def test_parallel_calls_without_a_key_pay_twice():
    flaky = FlakyTools("no-fault")
    wrapped = flaky(charge_later, key="key")

    async def agent():
        return await asyncio.gather(wrapped("INV-7"), wrapped("INV-7"))

    asyncio.run(agent())
    with pytest.raises(FlakyFailure, match="charge_later happened twice for one intent, under no-fault"):
        flaky.check()
