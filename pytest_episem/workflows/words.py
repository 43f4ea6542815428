"""Hidden truths and verdicts in plain words: one wording for failure texts, pages and reports.

Everything here is text from a bank or a record and is not escaped; whoever prints it does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_episem.workflows.model import PastQuery, PastRequest, Template
from pytest_episem.workflows.refusal import call_text, done_text
from pytest_episem.workflows.verdict import Verdict, Violation
from pytest_episem.workflows.world import Again, Fate, Service, World

ENDINGS = {
    "completed": "completed, certified",
    "withdrawn": "withdrawn, certified",
    "handed_off": "handed off",
    "unknown": "unknown: ended without a claim",
    "claim": "claimed by the agent alone",
}


def listed(parts: Sequence[str], word: str = "and") -> str:
    """Return ``a, b and c``."""
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def obligation_text(template: Template, name: str) -> str:
    """Return an approved piece of work: ``charge(INV-7) after invoice, approval duty-1``."""
    obligation = template.obligations[name]
    after = f" after {listed(obligation.after)}" if obligation.after else ""
    return f"{call_text(template, name)}{after}{f', approval {obligation.approval}' if obligation.approval else ''}"


def history_text(template: Template, entry: PastRequest | PastQuery) -> str:
    """Return an entry of the history without its instant: what was sent, under which key, and the answer."""
    if isinstance(entry, PastQuery):
        return f"query {entry.asks}: {entry.answer}"
    answer = entry.answer if entry.at is None else f"{entry.answer} at {entry.at}"
    return f"{sent_text(template, entry)}, key {entry.key}: {'no answer (timeout)' if answer == 'timeout' else answer}"


def sent_text(template: Template, request: PastRequest) -> str:
    """Return what a past request asked for: ``charge(INV-7)``, with ``undo`` before a compensation."""
    names = listed([call_text(template, name) for name in request.does])
    return f"undo {names}" if request.undoes else names


def unknown_texts(template: Template, worlds: Sequence[World]) -> list[str]:
    """Return what differs between worlds, a line for each: fates of past requests, services, ages, renewals."""
    return [line for _, line in _open(template, worlds, worlds)]


def truth_texts(template: Template, truth: World, worlds: Sequence[World]) -> list[str]:
    """Return the same lines for one of the worlds alone."""
    return [line for _, line in _open(template, worlds, [truth])]


def _open(template: Template, worlds: Sequence[World], told: Sequence[World]) -> Iterator[tuple[str, str]]:
    for kind, words in (
        ("fates", _fates),
        ("services", _services),
        ("lags", _lags),
        ("renewals", _renewals),
        ("again", _again),
    ):
        for name in getattr(worlds[0], kind):
            if len({getattr(world, kind)[name] for world in worlds}) > 1:
                values = [getattr(world, kind)[name] for world in told if name in getattr(world, kind)]
                yield name, words(template, name, list(dict.fromkeys(values)))
    if len({world.last_first for world in worlds}) > 1:
        firsts = dict.fromkeys("last" if world.last_first else "first" for world in told)
        yield "", f"of things due at one instant comes first: what was sent {listed(list(firsts), 'or')}"


def _fates(template: Template, name: str, fates: Sequence[Fate]) -> str:
    key = next(request.key for request in template.requests if request.id == name)
    return f"{key}: {fates_text(template, fates)}"


def fates_text(template: Template, fates: Iterable[Fate]) -> str:
    """Return the different fates that one request may have: ``never arrived, rejected, or effect at t0 or t1``."""
    parts: list[str] = []
    landed: dict[int | None, list[int]] = {}
    for fate in dict.fromkeys(fates):
        if fate.kind == "effective" and fate.lands is not None and fate.lands <= template.deadline:
            landed.setdefault(fate.prefix, []).append(fate.lands)
        else:
            parts.append(_without_instant(fate))
    for prefix, instants in landed.items():
        parts.append(f"{_effect(prefix)} at {_range(instants, 't')}")
    return listed(list(dict.fromkeys(parts)), "or")


def _without_instant(fate: Fate) -> str:
    if fate.kind == "effective":
        return f"{_effect(fate.prefix)} only after the deadline"
    words = {"never_arrived": "never arrived", "rejected": "rejected", "never_effective": "accepted without any effect"}
    return words[fate.kind]


def _effect(prefix: int | None) -> str:
    return "effect" if prefix is None else f"effect of its first {'item' if prefix == 1 else f'{prefix} items'} alone"


def _range(numbers: Iterable[int], mark: str = "") -> str:
    """``0 to 3``, ``t0 or t1``, ``t0, t1 or t5``."""
    found = sorted(set(numbers))
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{mark}{found[0]} to {mark}{found[-1]}"
    return listed([f"{mark}{number}" for number in found], "or")


def _services(template: Template, name: str, services: Sequence[Service]) -> str:
    delays = [service.delay for service in services if service.kind == "lands"]
    soon = [delay for delay in delays if delay <= template.deadline - template.start]
    parts = [f"effect {_range(soon)} instants later" if any(soon) else "effect at once"] if soon else []
    parts += ["effect only after the deadline"] if len(soon) < len(delays) else []
    others = {
        "unsaid": "effect but the answer is a rejection",
        "refused": "rejected",
        "lost": "accepted without any effect",
    }
    parts += dict.fromkeys(others[service.kind] for service in services if service.kind in others)
    return f"new requests, {name}: {listed(parts, 'or')}"


def _lags(template: Template, name: str, lags: Sequence[int]) -> str:
    high = max(lags)
    if high > template.deadline:
        age = "of any age" if len(lags) > 1 else "too old to show anything"
    else:
        age = f"{_range(lags)} instants old"
    return f"what a query shows, {name}: {age}"


def _renewals(template: Template, name: str, answers: Sequence[bool]) -> str:
    return f"renewal of {name}: {listed(['granted' if answer else 'refused' for answer in answers], 'or')}"


def _again(template: Template, name: str, modes: Sequence[Again]) -> str:
    parts: list[str] = []
    for attempt, word in ((1, "first"), (2, "second")):
        own = [mode for mode in modes if mode.attempt == attempt]
        parts += [f"the {word} is lost"] if any(mode.kind == "lost" for mode in own) else []
        delays = [mode.lands for mode in own if mode.kind == "landed"]
        soon = [delay for delay in delays if delay <= template.deadline - template.start]
        if soon:
            lands = f"{_range(soon)} instants later" if any(soon) else "at once"
            parts.append(f"the {word} gets no answer and has its effect {lands}")
        parts += [f"the {word} gets no answer and has its effect late"] if len(soon) < len(delays) else []
    parts += ["none is lost"] if any(mode.kind == "none" for mode in modes) else []
    return f"new requests, {name}: {listed(parts, 'or')}"


def violation_text(template: Template, violation: Violation) -> str:
    """Return what was wrong, said of the work: ``charged twice``."""
    name = violation.obligation
    if violation.kind == "duplicate":
        return f"{done_text(template, name)} twice"
    if violation.kind == "unauthorised":
        return f"{done_text(template, name)} without a valid approval"
    if violation.kind == "undo_nothing":
        return f"{name} undone where there was nothing to undo"
    if violation.kind == "undo_needed":
        return f"{name} undone while something needs it"
    return f"{done_text(template, name)} before {listed(template.obligations[name].after)}"


_KINDS = {
    "duplicate": "{0} done twice",
    "unauthorised": "{0} done without a valid approval",
    "order": "{0} done before what it depends on",
    "undo_nothing": "{0} undone where there was nothing to undo",
    "undo_needed": "{0} undone while something needs it",
}


def harm_text(violation: Violation) -> str:
    """Return the same without a template: ``charge done twice, at t1``."""
    return f"{_KINDS[violation.kind].format(violation.obligation)}, at t{violation.at}"


def verdict_text(verdict: Verdict) -> str:
    """Return how a run ended and what it cost, in a line."""
    goal = "goal reached" if verdict.goal else "goal missed"
    claim = "; what it claimed is false" if verdict.claim_holds is False else ""
    return f"{ENDINGS[verdict.terminal]}{claim}; {goal}; {cost_text(verdict)}"


def cost_text(verdict: Verdict) -> str:
    """Return ``fee 3, 2 actions, 1 instant``."""
    return f"fee {verdict.fee}, {counted(verdict.actions, 'action')}, {counted(verdict.time, 'instant')}"


def counted(number: int, one: str) -> str:
    """Return ``1 action`` or ``2 actions``."""
    return f"{number} {one if number == 1 else f'{one}s'}"
