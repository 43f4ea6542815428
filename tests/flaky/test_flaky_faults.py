"""Every fault against agents whose effects are worked out by hand; the provider's own book is the witness."""

from __future__ import annotations

import pytest

FAULTS = (
    "no-fault", "answer-lost", "request-lost", "effect-late", "delivered-twice", "key-forgotten", "false-failure",
    "false-success",
)  # fmt: skip
UNREACHED = None
# Payments of INV-7, by hand. Without a key nothing is recognised, so that a request delivered twice is carried out
# twice, and there is no key to forget. A late effect arrives after one more call: after the look that found nothing, or
# after the second request; with the same key the second of the two is recognised, in either order. After a false
# success only who looks pays.
PAID = {
    #                     none  lost  request  late  twice  forgotten  failure  success
    "gives_up":          (1,    1,    0,       1,    2,     UNREACHED, 1,       0),
    "retries_blindly":   (1,    2,    1,       2,    2,     UNREACHED, 2,       0),
    "retries_with_key":  (1,    1,    1,       1,    1,     2,         1,       0),
    "looks_first":       (1,    1,    1,       2,    2,     UNREACHED, 1,       0),
    "looks_and_has_key": (1,    1,    1,       1,    1,     1,         1,       1),
}  # fmt: skip

SYNC = """
import pytest, payments

@pytest.fixture
def bank(request):
    bank = payments.Bank()
    yield bank
    with open("written", "a") as file:
        print(request.node.name, len(bank.paid), file=file)

@pytest.mark.parametrize("agent", payments.AGENTS, ids=lambda agent: agent.__name__)
def test_pays(agent, episem_flaky, bank):
    charge = episem_flaky(bank.charge, key="key", success={"id": "ch_1", "amount": 120})
    find = episem_flaky(bank.find, reads=True)
    claim = agent(charge, find)
    if CLAIM:
        episem_flaky.check(claim)
"""
ASYNC = """
import asyncio, pytest, payments

@pytest.fixture
def bank(request):
    bank = payments.Bank()
    yield bank
    with open("written", "a") as file:
        print(request.node.name, len(bank.paid), file=file)

def later(function):
    async def tool(*args, **kwargs):
        await asyncio.sleep(0)
        return function(*args, **kwargs)
    tool.__name__ = function.__name__
    tool.__signature__ = __import__("inspect").signature(function)
    return tool

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("agent", payments.AGENTS, ids=lambda agent: agent.__name__)
async def test_pays(agent, episem_flaky, bank):
    loop = asyncio.get_running_loop()
    charge = episem_flaky(later(bank.charge), key="key", success={"id": "ch_1", "amount": 120})
    find = episem_flaky(later(bank.find), reads=True)
    def now(tool):
        return lambda *args, **kwargs: asyncio.run_coroutine_threadsafe(tool(*args, **kwargs), loop).result()
    claim = await asyncio.to_thread(agent, now(charge), now(find))
    await episem_flaky.acheck(claim if CLAIM else None)
"""


def verdict(paid, agent: str, fault: str, claimed: bool) -> str:
    """What the item must come to, from what was paid and what the agent says."""
    if paid is UNREACHED or paid > 1:
        return "failed"
    gave_up = agent == "gives_up" and fault in ("answer-lost", "request-lost", "effect-late", "false-failure")
    return "failed" if claimed and paid == 0 and not gave_up else "passed"


@pytest.mark.parametrize("claimed", [False, True], ids=["at-most-once", "claimed"])
@pytest.mark.parametrize("source", [SYNC, ASYNC], ids=["sync", "async"])
def test_every_fault_meets_every_agent(run, written, source, claimed):
    ran = run(source.replace("CLAIM", str(claimed)))
    paid, outcomes = {}, {}
    for line in written():
        name, count = line.rsplit(" ", 1)
        paid[name] = int(count)
    for name, outcome in ran.outcomes.items():
        fault = next(fault for fault in FAULTS if fault in name)
        agent = next(agent for agent in PAID if agent in name)
        outcomes[agent, fault] = outcome
        by_hand = PAID[agent][FAULTS.index(fault)]
        if by_hand is UNREACHED:
            assert "no verdict under key-forgotten" in ran.texts[name]
            assert "charge was never called with a key" in ran.texts[name]
        else:
            assert paid[name] == by_hand, name
        if by_hand == 2:
            assert ran.first_line(name) == f"charge happened twice for one intent, under {fault}"
    expected = {
        (agent, fault): verdict(PAID[agent][at], agent, fault, claimed)
        for agent in PAID
        for at, fault in enumerate(FAULTS)
    }
    assert outcomes == expected
    assert ran.exit == 1
