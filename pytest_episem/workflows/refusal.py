"""Why the shield refused, as one line with a small timeline (workflow protocol, end of section 3).

``REFUSED charge(INV-7), new key, t=1: harmful in 3 of 6 fates. If chg-7 is in flight: t0 sent, t1 yours lands,
t2 chg-7 lands = charged twice. Ask first: query charge (free).``
"""

from __future__ import annotations

from pytest_episem.text import printable
from pytest_episem.workflows.actions import Action, Attempt, Batch, Compensate, Finish, HandOff, Query, Revalidate, Wait
from pytest_episem.workflows.certificate import unknown_obligations
from pytest_episem.workflows.model import Template
from pytest_episem.workflows.shield import admissible, fault_of, harmed, not_offered, sent
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.timeline import Request, Run, surviving
from pytest_episem.workflows.verdict import Violation


def refusal(model: Model, belief: Belief, action: Action) -> str:
    """Return why an action is refused: what was wanted, in how many fates it harms, one of them as a timeline, and what
    to ask or wait for first. Fit for any terminal."""
    head = f"REFUSED {action_text(model.template, belief, action)}, t={belief.time}"
    return printable(f"{head}: {reason(model, belief, action)}")


def reason(model: Model, belief: Belief, action: Action) -> str:
    """Return the same without naming the action, as sentences: what is wrong with it, and what to do first."""
    if isinstance(action, Finish):
        return printable(_unclaimable(model, belief, action))
    if fault_of(model, belief, action) != "unsafe":
        absent = not_offered(model.template, belief.time, action)
        return printable(f"{absent}.") if absent else "not admissible."
    bad = harmed(model, belief, action)
    count = f"harmful in {fate_count(model, [w for w, _ in bad])} of {fate_count(model, _worlds(belief))} fates"
    return printable(f"{count}. {_example(model, belief, bad)}. {advice(model, belief, action, bad)}.")


def action_text(template: Template, belief: Belief, action: Action) -> str:
    """Return an action as a person says it: ``charge(INV-7), new key``."""
    if isinstance(action, (Attempt, Compensate)):
        undo = isinstance(action, Compensate)
        used = any(r.key == action.key for r in sent(belief.entries, action.obligation, undo))
        name = call_text(template, action.obligation)
        return f"{'undo ' if undo else ''}{name}, {'same' if used else 'new'} key"
    return "hand off" if isinstance(action, HandOff) else action_words(action)


def action_words(action: Action) -> str:
    """Return an action in words, from the record alone."""
    if isinstance(action, Attempt):
        return f"attempt {action.obligation}, key {action.key}"
    if isinstance(action, Compensate):
        return f"undo {action.obligation}, key {action.key}"
    if isinstance(action, Batch):
        return f"attempt {', '.join(action.obligations)} in one request, key {action.key}"
    if isinstance(action, Query):
        return f"query {action.obligation}"
    if isinstance(action, Wait):
        return f"wait {action.instants}"
    if isinstance(action, Revalidate):
        return f"renewal of {action.approval}"
    if isinstance(action, Finish):
        return f"finish {action.claim}"
    if isinstance(action, HandOff):
        return f"hand off, unknown: {', '.join(action.unknown)}" if action.unknown else "hand off"
    return "stop"


def call_text(template: Template, obligation: str) -> str:
    """Return an obligation with its first argument, ``charge(INV-7)``."""
    args = template.obligations[obligation].args if obligation in template.obligations else {}
    return f"{obligation}({next(iter(args.values()), '')})"


def fate_count(model: Model, worlds: list[int]) -> int:
    """Return how many different fates of the history the worlds have, whatever the services do."""
    return len({tuple(model.worlds[world].fates.items()) for world in worlds})


def _worlds(belief: Belief) -> list[int]:
    return [world for world, _ in belief.members]


def _unclaimable(model: Model, belief: Belief, action: Finish) -> str:
    template = model.template
    if action.claim not in template.ends:
        return f"this workflow can only end {' or '.join(template.ends)}."
    if action.claim == "withdrawn":
        missing = [w for w, run in belief.members if not run.gone]
        what = "something stands"
    else:
        missing = [w for w, run in belief.members if not run.lasting]
        what = "the goal is missed"
    if not missing:
        return "recovery has caused a violation."
    counts = f"{what} in {fate_count(model, missing)} of {fate_count(model, _worlds(belief))} fates"
    return f"{counts}. {_open(model, belief)}{_ask_about(model, belief)}"


def _open(model: Model, belief: Belief) -> str:
    end = model.template.horizon
    open_ = [n for n in model.template.obligations if not all(run.good(n, end) for _, run in belief.members)]
    return f"Not certain: {', '.join(open_)}." if open_ else "Not certain in time for the deadline."


def _ask_about(model: Model, belief: Belief) -> str:
    """The cheapest question that could settle the first thing that is fulfilled in some worlds and not in others."""
    end = model.template.horizon
    for name in unknown_obligations(model, belief):
        ask = question(model, belief, {world for world, run in belief.members if not run.good(name, end)})
        if ask is not None:
            return f" Ask first: {ask}."
    return ""


def _example(model: Model, belief: Belief, bad: list[tuple[int, Run]]) -> str:
    """The harmed world that shows most: where requests are served soonest, and of those the last violation."""
    before = dict(belief.members)
    cases = [(min(run.violations - before[world].violations), world, run) for world, run in bad]
    services = model.worlds[0].services
    violation, _, run = max(
        cases, key=lambda case: (-sum(model.worlds[case[1]].services[line].delay for line in services), case[0].at)
    )
    past = _culprit(run, violation)
    parts = _timeline(run, violation, past)
    condition = f"If {past.key} {_condition(run, past, belief.time)}: " if past is not None else ""
    return f"{condition}{', '.join(parts)} = {_harm(model.template, run, violation)}"


def _culprit(run: Run, violation: Violation) -> Request | None:
    """The past request whose fate makes the harm: the one that lands wrongly, or the one that was there first."""
    past = [e for e in run.entries if isinstance(e, Request) and not e.recovery]
    own = [e for e in past if e.id == violation.request and e.obligation == violation.obligation]
    same = [e for e in past if e.obligation == violation.obligation and not e.undo]
    return next(iter(own or same[::-1]), None)


def _condition(run: Run, past: Request, now: int) -> str:
    trace = run.traces[run.entries.index(past)]
    if trace is not None and trace.settled is not None:
        return "has landed" if trace.settled <= now else "is in flight"
    return "never arrived" if past.fate.arrives is None else "had no effect"


def _timeline(run: Run, violation: Violation, past: Request | None) -> list[str]:
    events: list[tuple[int, int, str]] = []
    for index, (entry, trace) in enumerate(zip(run.entries, run.traces, strict=True)):
        if trace is None or not isinstance(entry, Request) or trace.settled is None:
            continue
        if entry is past:
            events.append((entry.fate.arrives or 0, -1, "sent"))
        if entry is past or (entry.recovery and entry.obligation == violation.obligation):
            events.append((trace.settled, index, f"{'yours' if entry.recovery else entry.key} lands"))
    return [f"t{at} {what}" for at, _, what in sorted(events) if at <= violation.at]


def _harm(template: Template, run: Run, violation: Violation) -> str:
    name = violation.obligation
    if violation.kind == "duplicate":
        return f"{done_text(template, name)} twice"
    if violation.kind == "unauthorised":
        return f"{done_text(template, name)} without a valid approval"
    if violation.kind == "undo_nothing":
        return f"nothing of {name} left to undo"
    if violation.kind == "undo_needed":
        users = [n for n, o in template.obligations.items() if name in o.after and run.count(n, violation.at)]
        return f"{name} undone under {' and '.join(users)}"
    needed = template.obligations[name].after
    absent = [n for n in needed if not any(e.obligation == n and surviving(e, violation.at) for e in run.ledger)]
    return f"{done_text(template, name)} without {' and '.join(absent or needed)}"


def done_text(template: Template, obligation: str) -> str:
    """Return the past participle of an obligation: as its template says, else formed by rule."""
    told = template.obligations[obligation].done
    return told or (f"{obligation}d" if obligation.endswith("e") else f"{obligation}ed")


def advice(model: Model, belief: Belief, action: Action, bad: list[tuple[int, Run]]) -> str:
    """Return what to do first: the cheapest question that could rule the harm out, else how long to wait, else whom to
    hand the case to."""
    ask = question(model, belief, {world for world, _ in bad})
    if ask is not None:
        return f"Ask first: {ask}"
    for instants in range(1, model.template.deadline - belief.time + 1):
        later = model.step(belief, Wait(instants))[""]
        if admissible(model, later, action):
            return f"Wait first: {instants}"
        still = {world for world, _ in harmed(model, later, action)} if later.time < model.template.deadline else set()
        ask = question(model, later, still)
        if ask is not None:
            return f"Wait first: {instants}, then {ask}"
    if len(bad) == len(belief):
        return "Now it is wrong whatever is true"
    taker = model.template.handoff
    return f"Nothing public can tell: hand off to {taker}" if taker else "Nothing public can tell"


def question(model: Model, belief: Belief, bad: set[int]) -> str | None:
    """Return the cheapest query with an answer that leaves none of the ``bad`` worlds, with its fee."""
    if belief.time >= model.template.deadline:
        return None
    found = []
    for name in model.template.obligations:
        query = Query(name)
        if model.template.contract(name).query is None:
            continue
        branches = model.step(belief, query).values()
        if bad and any(not bad & {world for world, _ in branch.members} for branch in branches):
            found.append((model.fee(query), name))
    if not found:
        return None
    fee, name = min(found)
    return f"query {name} ({'free' if fee == 0 else f'fee {fee}'})"
