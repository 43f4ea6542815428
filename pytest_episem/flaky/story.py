"""What a failure says: the fault, what was called, what really happened, and what would have helped."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pytest_episem.flaky.faults import FAULTS
from pytest_episem.flaky.ledger import Call, Intent, Ledger
from pytest_episem.flaky.values import shown
from pytest_episem.scrub import fit_to_print

WIDTH = 80


def story(fault: str, ledger: Ledger) -> str:
    """Return what was called and what happened, at most 80 columns wide."""
    return fit_to_print("\n".join(_story(fault, ledger)))


def failure(head: str, intent: Intent | None, fault: str, ledger: Ledger, advice: str) -> str:
    """Return the text of a failure: its first line says it all, the rest shows it."""
    wanted = _wrapped(f"intent   {intent.words}", 9) if intent else []
    lines = [*textwrap.wrap(head, WIDTH), "", *wanted, *_story(fault, ledger), "", *textwrap.wrap(advice, WIDTH)]
    return fit_to_print("\n".join(lines))


def own_keys(calls: list[Call]) -> str:
    """Return a sentence on calls of one intent whose keys differ or are missing; ``""`` where that explains nothing."""
    keys = [call.key for call in calls]
    if len(keys) < 2 or all(key == keys[0] for key in keys):
        return ""
    words = ", ".join("none" if key is None else shown(key) for key in keys)
    return f"The keys of its calls differ ({words}): nobody could see that they are one. "


def _story(fault: str, ledger: Ledger) -> Iterator[str]:
    yield from _wrapped(f"fault    {fault}: {FAULTS[fault].befalls}", 9)
    yield from ("", "calls, in order:")
    for call in ledger.calls:
        yield from _wrapped(f"{call.number:>3}  {call.words}", 7)
        mark = "the fault: " if call.struck else ""
        came = "; ".join(call.came) or ("still running" if call.running else "ended")
        yield from _wrapped(f"     -> {mark}{came}", 8)
    yield from ([] if ledger.calls else ["  none"])
    yield from ("", "effects, in order:")
    for effect in ledger.effects:
        how = f", {effect.how}" if effect.how else ""
        words = ledger.calls[effect.call - 1].words
        yield from _wrapped(f"{effect.number:>3}  by call {effect.call}{how}: {words}", 7)
    yield from ([] if ledger.effects else ["  none"])


def _wrapped(line: str, indent: int) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)
