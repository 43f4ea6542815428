"""From a template file to a template and its hidden truths (workflow protocol, sections 1 and 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_episem.errors import EpisemError, suggestion
from pytest_episem.workflows.bank.template_file import FateEntry, HistoryEntry, TemplateFile
from pytest_episem.workflows.fates import again_of, fates_of, lags_of, lines, nearest_fate, renewals_of, services_of
from pytest_episem.workflows.model import (
    AgainTerms,
    Approval,
    AuthorizationTerms,
    CompensationTerms,
    Contract,
    Obligation,
    PastQuery,
    PastRequest,
    QueryTerms,
    RenewalTerms,
    Template,
)
from pytest_episem.workflows.world import Fate, World

CHOICES = ("service", "lag", "renewal", "again")


class PlaceError(EpisemError):
    """A value that does not fit the rest of its file; ``place`` is where, ``assignment`` in which if in one."""

    def __init__(self, place: str, message: str, assignment: str = "") -> None:
        super().__init__(message)
        self.place = place
        self.assignment = assignment


def build_template(file: TemplateFile, domain: str) -> Template:
    """Return the public template.

    Raises:
        PlaceError: a name does not exist, or an instant lies on the wrong side.
    """
    for place, message in _faults(file):
        raise PlaceError(place, message)
    return Template(
        id=f"{domain}/{file.id}",
        title=file.title,
        start=file.clock.start,
        deadline=file.clock.deadline,
        contracts={op: _contract(entry.model_dump(exclude_unset=True)) for op, entry in file.contracts.items()},
        approvals={name: _approval(entry.model_dump(exclude_unset=True)) for name, entry in file.approvals.items()},
        obligations={name: _obligation(entry.model_dump()) for name, entry in file.obligations.items()},
        ends=tuple(file.ends),
        handoff=file.handoff,
        history=tuple(_past(entry) for entry in file.history),
    )


def _contract(fields: dict[str, Any]) -> Contract:
    parts = {"query": QueryTerms, "authorization": AuthorizationTerms, "again": AgainTerms}
    for name, kind in parts.items():
        if fields.get(name) is not None:
            fields[name] = kind(**fields[name])
    undo = fields.get("compensation")
    if undo is not None:
        fields["compensation"] = CompensationTerms(**_settles({"attempts": "settle", "response": "final", **undo}))
    return Contract(**_settles(fields))


def _settles(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "settles": tuple(fields["settles"])} if fields.get("settles") is not None else fields


def _approval(fields: dict[str, Any]) -> Approval:
    if fields.get("renewal") is not None:
        fields["renewal"] = RenewalTerms(**fields["renewal"])
    return Approval(**fields)


def _obligation(fields: dict[str, Any]) -> Obligation:
    return Obligation(**{**fields, "after": tuple(fields["after"])})


def _past(entry: HistoryEntry) -> PastRequest | PastQuery:
    if entry.asks is not None:
        return PastQuery(id=entry.id, asks=entry.asks, sent=entry.sent, answer=entry.answer)
    return PastRequest(
        id=entry.id,
        does=tuple(_names(entry)),
        key=entry.key or "",
        sent=entry.sent,
        answer=entry.answer,  # type: ignore[arg-type]  # the file's schema allows these words only
        at=entry.at,
        undoes=entry.undoes is not None,
    )


def _names(entry: HistoryEntry) -> list[str]:
    found = entry.does or entry.undoes or entry.asks or []
    return [found] if isinstance(found, str) else found


def _faults(file: TemplateFile) -> Iterator[tuple[str, str]]:
    before: list[str] = []
    for name, entry in file.obligations.items():
        place = f"obligations.{name}"
        if entry.op not in file.contracts:
            yield f"{place}.op", f"no contract {entry.op!r}{suggestion(entry.op, file.contracts)}"
        if entry.approval is not None and entry.approval not in file.approvals:
            yield f"{place}.approval", f"no approval {entry.approval!r}{suggestion(entry.approval, file.approvals)}"
        for needed in entry.after:
            if needed not in before:
                yield f"{place}.after", f"{needed!r} is not an obligation above this one{suggestion(needed, before)}"
        before.append(name)
    used = {entry.op for entry in file.obligations.values()}
    for op in file.contracts:
        if op not in used:
            yield f"contracts.{op}", "no obligation uses this operation"
    for name in file.pilot:
        if name not in file.assignments:
            yield "pilot", f"no assignment {name!r}{suggestion(name, file.assignments)}"
    if len(set(file.pilot)) < len(file.pilot):
        yield "pilot", "an assignment is named twice"
    yield from _history_faults(file)


def _history_faults(file: TemplateFile) -> Iterator[tuple[str, str]]:
    seen: set[str] = set(CHOICES)
    last = 0
    for entry in file.history:
        place = f"history.{entry.id}"
        if entry.id in seen:
            yield place, "the id is used already, or is one of service, lag, renewal, again"
        seen.add(entry.id)
        if not last <= entry.sent <= (entry.at if entry.at is not None else entry.sent) <= file.clock.start:
            yield place, "sent in order, answered at or after sending, and both no later than the start"
        last = entry.sent
        for name in _names(entry):
            if name not in file.obligations:
                yield place, f"no obligation {name!r}{suggestion(name, file.obligations)}"
                return
        ops = {file.obligations[name].op for name in _names(entry)}
        if len(ops) > 1:
            yield place, "a batch holds one operation only"
        contract = file.contracts[ops.pop()]
        if entry.undoes is not None and contract.compensation is None:
            yield place, "the operation declares no compensation"
        if entry.asks is not None and contract.query is None:
            yield place, "the operation declares no query"


def build_world(file: TemplateFile, template: Template, assignment: str) -> World:
    """Return an assignment's hidden truth; what it leaves out is the ordinary choice, or the only one.

    Raises:
        PlaceError: a name does not exist, a choice is not one that the contracts allow, or a fate is left open.
    """
    truth = file.assignments[assignment]
    known = [request.id for request in template.requests]
    for name in truth:
        if name not in known and name not in CHOICES:
            message = f"no past request {name!r}{suggestion(name, [*known, *CHOICES])}"
            raise PlaceError(f"assignments.{assignment}", message, assignment)
    services = {line: services_of(template, channel) for line, channel in lines(template).items()}
    lags = {op: lags_of(template, op) for op in template.contracts}
    renewals = {name: renewals_of(template, name) for name in template.approvals}
    again = {op: again_of(template, op) for op in template.contracts}
    told = ((request, truth.get(request.id)) for request in template.requests)
    return World(
        fates={request.id: _fate(template, request, fate, assignment) for request, fate in told},
        services=_chosen("service", services, truth, assignment),
        lags=_chosen("lag", lags, truth, assignment),
        renewals=_chosen("renewal", renewals, truth, assignment),
        again=_chosen("again", again, truth, assignment),
    )


def _chosen(kind: str, allowed: dict[str, list[Any]], truth: dict[str, Any], assignment: str) -> dict[str, Any]:
    told = truth.get(kind, {})
    place = f"assignments.{assignment}.{kind}"
    if not isinstance(told, dict):
        raise PlaceError(place, "must be a mapping", assignment)
    for name in told:
        if not allowed.get(name):
            names = [n for n, choices in allowed.items() if choices]
            raise PlaceError(place, f"nothing to choose for {name!r}{suggestion(name, names)}", assignment)
    chosen = {}
    for name, choices in allowed.items():
        if choices:
            chosen[name] = _pick(choices, told.get(name), f"{place}.{name}", assignment)
    return chosen


def _pick(choices: list[Any], told: Any, place: str, assignment: str) -> Any:
    if told is None:
        return choices[0]
    words = {"granted": True, "refused": False} if isinstance(choices[0], bool) else {}
    for choice in choices:
        if str(choice) == str(words.get(told, told)):
            return choice
    raise PlaceError(place, f"must be one of {', '.join(_words(choices))}", assignment)


def _words(choices: list[Any]) -> list[str]:
    names = {True: "granted", False: "refused"}
    return [names[choice] if isinstance(choice, bool) else str(choice) for choice in choices]


def _fate(template: Template, request: PastRequest, told: Any, assignment: str) -> Fate:
    place = f"assignments.{assignment}.{request.id}"
    if isinstance(told, dict):
        names = FateEntry.model_fields
        near = next((near for name in told if name not in names and (near := suggestion(name, names))), "")
        message = f"a fate is never_arrived, rejected, or accepted, effect and prefix by their instants{near}"
        raise PlaceError(place, message, assignment)
    fate = _told_fate(request, told)
    allowed = fates_of(template, request)
    if fate is None:
        raise PlaceError(place, "its fate must be given: the answer does not settle it", assignment)
    if not (isinstance(told, FateEntry) and told.accepted is not None):
        fate = nearest_fate(allowed, fate)
    if fate not in allowed:
        raise PlaceError(place, f"the contract allows no such fate ({_fate_text(fate)})", assignment)
    return fate


def _told_fate(request: PastRequest, told: Any) -> Fate | None:
    at = request.at if request.at is not None else request.sent
    accepted = at if request.answer == "accepted" else request.sent
    if isinstance(told, FateEntry):
        accepted = told.accepted if told.accepted is not None else accepted
        if told.effect is None:
            return Fate("never_effective", accepted)
        return Fate("effective", accepted, told.effect, told.prefix)
    if told in ("never_arrived", "rejected"):
        return Fate("never_arrived") if told == "never_arrived" else Fate("rejected", request.sent)
    return {"settled": Fate("effective", accepted, at), "rejected": Fate("rejected", request.sent)}.get(request.answer)


def _fate_text(fate: Fate) -> str:
    parts = [fate.kind, fate.arrives, fate.lands, fate.prefix]
    return " ".join(str(part) for part in parts if part is not None)
