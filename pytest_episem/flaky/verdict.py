"""Whether what happened may have happened, and whether the agent told the truth about it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_episem.errors import suggestion
from pytest_episem.flaky.faults import FAULTS, NO_FAULT, FlakyError, FlakyFailure
from pytest_episem.flaky.ledger import Intent, Ledger
from pytest_episem.flaky.provider import Provider
from pytest_episem.flaky.story import failure, own_keys
from pytest_episem.flaky.tool import Tool
from pytest_episem.text import printable

CLAIMS = ("done", "not done", "not known")


def judge(provider: Provider, unreached_ok: bool, claim: str | None) -> None:
    """Raise what speaks against a test's agent, or against any verdict on it.

    Raises:
        FlakyFailure: an intent has two effects; a claim is not so.
        FlakyError: nothing can be said.
    """
    fault, ledger = provider.fault, provider.ledger
    if claim is not None and claim not in CLAIMS:
        raise FlakyError(f"unknown claim {printable(repr(claim))}{suggestion(str(claim), CLAIMS)}")
    for intent in ledger.intents:
        if len(intent.effects) > 1:
            raise FlakyFailure(_twice(fault, ledger, intent))
    for why in (*ledger.problems, *_unsettled(ledger), _unreached(provider, unreached_ok)):
        if why:
            raise FlakyError(f"no verdict under {fault}: {why}")
    if claim is not None:
        _judge_claim(fault, ledger, claim)


def _twice(fault: str, ledger: Ledger, intent: Intent) -> str:
    calls = [call for call in ledger.calls if call.intent is intent]
    head = f"{intent.tool} happened {_times(len(intent.effects))} for one intent, under {fault}"
    return failure(head, intent, fault, ledger, own_keys(calls) + FAULTS[fault].advice)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _unsettled(ledger: Ledger) -> list[str]:
    running = [call for call in ledger.calls if call.running and call.intent is not None]
    broken = [one for one in ledger.intents if one.unknown and len(one.effects) + one.unknown > 1]
    return [f"call {call.number}, {call.words}, is still running" for call in running] + [
        f"{intent.words} was broken off, and called again: whether it happened twice is not known" for intent in broken
    ]


def _unreached(provider: Provider, unreached_ok: bool) -> str:
    changing = [tool for tool in provider.tools if not tool.reads]
    if not changing:
        return "no tool that changes anything was wrapped: tool = episem_flaky(tool)"
    names = " and ".join(tool.name for tool in changing)
    called = sum(tool.calls for tool in changing)
    if unreached_ok or provider.struck or (provider.fault == NO_FAULT and called):
        return ""
    if not called:
        return f"{names} was never called, so that the fault was never reached"
    return f"the fault was never reached: {_why(provider.fault, names, changing)}"


def _why(fault: str, names: str, changing: Sequence[Tool]) -> str:
    if fault == "key-forgotten" and not any(tool.key for tool in changing):
        return f'{names} has no key; name the argument (key="…") or leave the fault out (faults=[…])'
    if all(tool.calls < tool.call for tool in changing):
        return f"{names} was not called often enough for call="
    if fault == "key-forgotten":
        return f"{names} was never called with a key"
    if fault == "false-success":
        return f"there is no answer to give at the first call of {names}; give one (success=…)"
    return f"no call of {names} had an effect"


def _judge_claim(fault: str, ledger: Ledger, claim: str) -> None:
    wanted = [intent for intent in ledger.intents if not _refused(ledger, intent)]
    if claim == "done" and not wanted:
        head = f"done was claimed, and nothing {'happened' if ledger.intents else 'was called'}, under {fault}"
        raise FlakyFailure(failure(head, None, fault, ledger, FAULTS[fault].advice))
    for intent in wanted if claim != "not known" else ():
        if intent.unknown:
            raise FlakyError(f"no verdict under {fault}: {intent.words} was broken off: whether it happened is unknown")
        happened = len(intent.effects) == 1
        if happened != (claim == "done"):
            said = "happened" if happened else "did not happen"
            head = f"{claim} was claimed, and {intent.tool} {said}, under {fault}"
            raise FlakyFailure(failure(head, intent, fault, ledger, FAULTS[fault].advice))
    if claim == "not known" and fault == NO_FAULT and ledger.effects:
        head = "not known was claimed, and every call was answered, without a fault"
        raise FlakyFailure(failure(head, None, fault, ledger, "Whoever gets an answer can say what happened."))


def _refused(ledger: Ledger, intent: Intent) -> bool:
    """Whether the tool itself had no effect at each of its calls, and said so: the agent was told, and went on."""
    return not intent.unknown and all(call.refused for call in ledger.calls if call.intent is intent)
