"""What each declared capability is worth: take it away and plan again (workflow protocol, section 4).

Decisions where the protocol is silent: a capability is removed from one operation at a time; for a final response the
operation then gives receipts that prove nothing more; for authorization the judged instant changes from acceptance to
effect or back. A hidden truth keeps its fates; a service that no longer exists becomes the nearest that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_episem.workflows.bank.load import Workflow
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.fates import again_of, fates_of, lags_of, lines, nearest_fate, services_of
from pytest_episem.workflows.model import AuthorizationTerms, Contract, PastQuery, PastRequest, Template
from pytest_episem.workflows.support import EmptySupport, LargeSupport, Model
from pytest_episem.workflows.verdict import Verdict
from pytest_episem.workflows.world import Again, Service, World

Change = Literal["ending", "cost", "nothing", "not measured"]

NODE_LIMIT = 150
MAX_WORLDS = 1_000
"""Above the first the search for a decision is cut off; above the second a poorer template is not measured."""


@dataclass(frozen=True, slots=True)
class Capability:
    """A promise that a contract may make: whether it is made, and the contract without it."""

    name: str
    declared: Callable[[Contract], bool]
    without: Callable[[Contract], Contract]


def _other_instant(contract: Contract) -> Contract:
    terms = contract.authorization
    assert terms is not None
    judged: Literal["acceptance", "effect"] = "effect" if terms.judged == "acceptance" else "acceptance"
    return replace(contract, authorization=AuthorizationTerms(judged=judged, enforced=terms.enforced))


def _remembers(contract: Contract) -> bool:
    undo = contract.compensation
    return contract.deduplication is not None or (undo is not None and undo.deduplication is not None)


def _forgetful(contract: Contract) -> Contract:
    undo = contract.compensation
    undo = replace(undo, deduplication=None) if undo is not None else None
    return replace(contract, deduplication=None, compensation=undo)


CAPABILITIES = (
    Capability("deduplication", _remembers, _forgetful),
    Capability("query", lambda c: c.query is not None, lambda c: replace(c, query=None)),
    Capability("arrival", lambda c: c.arrival is not None, lambda c: replace(c, arrival=None)),
    Capability("commit_bound", lambda c: c.commit_bound is not None, lambda c: replace(c, commit_bound=None)),
    Capability(
        "final response", lambda c: c.response == "final", lambda c: replace(c, response="receipt", settles=None)
    ),
    Capability("compensation", lambda c: c.compensation is not None, lambda c: replace(c, compensation=None)),
    Capability("authorization", lambda c: c.authorization is not None, _other_instant),
)


@dataclass(frozen=True, slots=True)
class Worth:
    """What removing one capability from one operation changes, over the template's assignments.

    ``cases`` holds each with joint planning's verdict as it is and without the capability; empty if not measured.
    """

    template: str
    op: str
    capability: str
    change: Change
    cases: tuple[tuple[str, Verdict, Verdict], ...] = ()


def decides_an_ending(capability: Capability, workflows: Iterable[Workflow]) -> bool:
    """Return whether some ending of some workflow changes without a capability; the search ends at the first."""
    return any(worth.change == "ending" for workflow in workflows for worth in worths(workflow, [capability]))


def worths(workflow: Workflow, capabilities: Iterable[Capability] = CAPABILITIES) -> Iterator[Worth]:
    """Yield the worth of every one of some capabilities that a workflow's contracts declare."""
    template, capabilities = workflow.template, list(capabilities)
    if not any(
        capability.declared(contract) for contract in template.contracts.values() for capability in capabilities
    ):
        return
    now = _verdicts(template, workflow.assignments.values())
    for op, contract in template.contracts.items():
        for capability in capabilities:
            if capability.declared(contract):
                variant = without(template, op, capability)
                then = None
                if now is not None and variant is not None:
                    then = _verdicts(variant, [_carried(variant, world) for world in workflow.assignments.values()])
                cases = zip(workflow.assignments, now or (), then or (), strict=False)
                yield Worth(template.id, op, capability.name, _change(now or [], then), tuple(cases))


def without(template: Template, op: str, capability: Capability) -> Template | None:
    """Return a template with one promise less, or ``None`` where its history makes no sense without it."""
    ops = {name: obligation.op for name, obligation in template.obligations.items()}
    history = template.history
    if capability.name == "query":
        history = tuple(h for h in history if not (isinstance(h, PastQuery) and ops[h.asks] == op))
    if capability.name == "compensation" and any(
        isinstance(h, PastRequest) and h.undoes and ops[h.does[0]] == op for h in history
    ):
        return None
    contracts = {**template.contracts, op: capability.without(template.contracts[op])}
    return replace(template, contracts=contracts, history=history)


def measurable(template: Template) -> Model | None:
    """Return the support of a template, or ``None`` if it is empty or too large to plan over."""
    try:
        model = Model(template)
    except (EmptySupport, LargeSupport):
        return None
    return model if len(model.worlds) <= MAX_WORLDS else None


def _carried(variant: Template, world: World) -> World:
    services = {
        line: _nearest(services_of(variant, channel), world.services[line]) for line, channel in lines(variant).items()
    }
    lags = {op: lag for op, lag in world.lags.items() if lags_of(variant, op)}
    fates = {past.id: nearest_fate(fates_of(variant, past), world.fates[past.id]) for past in variant.requests}
    again = {op: _alike(again_of(variant, op), mode) for op, mode in world.again.items()}
    return replace(world, fates=fates, services=services, lags=lags, again=again)


def _alike(allowed: Sequence[Again], mode: Again) -> Again:
    found = (one for one in allowed if (one.kind, one.attempt, one.lands) == (mode.kind, mode.attempt, mode.lands))
    return mode if mode in allowed else next(found, allowed[0])


def _nearest(allowed: list[Service], service: Service) -> Service:
    if service in allowed:
        return service
    kinds = ("lands",) if service.kind in ("lands", "unsaid") else ("refused", "lost")
    return next((found for found in allowed if found.kind in kinds), allowed[0])


def _verdicts(template: Template, worlds: Iterable[World]) -> list[Verdict] | None:
    """Joint planning's verdicts, or nothing where the support is too large or no longer holds a truth."""
    model = measurable(template)
    if model is None:
        return None
    planner = Joint(model, NODE_LIMIT)
    verdicts = []
    for world in worlds:
        index = model.index_of(world)
        if index is None:
            return None
        episode = Episode(model, index)
        while episode.terminal is None:
            episode.propose(planner.choose(episode.belief))
        verdicts.append(episode.trajectory().verdict)
    return verdicts


def _change(before: list[Verdict], after: list[Verdict] | None) -> Change:
    if after is None:
        return "not measured"
    if any(old.terminal != new.terminal for old, new in zip(before, after, strict=True)):
        return "ending"
    same = all(
        (old.fee, old.actions, old.time) == (new.fee, new.actions, new.time)
        for old, new in zip(before, after, strict=True)
    )
    return "nothing" if same else "cost"
