"""Random contracts, workflows, histories and agents for the property tests of the workflow suite."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pytest_episem.workflows.actions import Action, Attempt, Compensate, Finish, HandOff, Query, Revalidate, Stop, Wait
from pytest_episem.workflows.model import (
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
from pytest_episem.workflows.support import Belief, EmptySupport, LargeSupport, Model

START = 1
bounds = st.sampled_from([None, 0, 0, 1, 1, 2])


@st.composite
def channel_fields(draw: st.DrawFn) -> dict[str, Any]:
    response = draw(st.sampled_from(["final", "receipt"]))
    proof = ["settled"] if response == "final" else []
    return {
        "fee": draw(st.integers(0, 2)),
        "attempts": draw(st.sampled_from(["settle", "may_fail"])),
        "response": response,
        "settles": draw(st.sampled_from([None, tuple(proof), (*proof, "rejected")])),
        "arrival": draw(bounds),
        "commit_bound": draw(bounds),
        "deduplication": draw(st.one_of(st.none(), st.integers(1, 4))),
    }


queries = st.builds(
    QueryTerms,
    scope=st.sampled_from(["state", "history"]),
    authority=st.just("authoritative"),
    lag=st.integers(0, 2),
    fee=st.integers(0, 1),
) | st.builds(
    QueryTerms,
    scope=st.sampled_from(["state", "history"]),
    authority=st.just("replica"),
    lag=st.sampled_from([1, None]),
)


@st.composite
def contracts(draw: st.DrawFn) -> Contract:
    undo = None
    if draw(st.booleans()):
        fields = draw(channel_fields()) | {"arrival": 0, "commit_bound": draw(st.integers(0, 1))}
        undo = CompensationTerms(**fields, until=draw(st.one_of(st.none(), st.integers(2, 4))))
    terms = st.builds(AuthorizationTerms, judged=st.sampled_from(["acceptance", "effect"]), enforced=st.booleans())
    return Contract(
        **draw(channel_fields()),
        whole=draw(st.booleans()),
        query=draw(st.none() | queries),
        compensation=undo,
        authorization=draw(st.none() | terms),
    )


renewals = st.builds(RenewalTerms, lasts=st.integers(1, 3), answer=st.sampled_from(["granted", "either"]))
approvals = st.builds(
    Approval, start=st.integers(0, 2), until=st.none() | st.integers(1, 4), renewal=st.none() | renewals
)


@st.composite
def templates(draw: st.DrawFn) -> Template:
    """A workflow of one to three obligations with a short history; its support may be empty or too large."""
    ops = {f"op{n}": draw(contracts()) for n in range(draw(st.integers(1, 2)))}
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    granted = {"apr": draw(approvals)} if draw(st.booleans()) else {}
    obligations = {
        name: Obligation(
            op=draw(st.sampled_from(sorted(ops))),
            after=tuple(draw(st.sets(st.sampled_from(names[:position]))) if position else ()),
            approval="apr" if granted and draw(st.booleans()) else None,
        )
        for position, name in enumerate(names)
    }
    used = {o.op for o in obligations.values()}
    return Template(
        id="random/template",
        title="random",
        start=START,
        deadline=START + draw(st.integers(2, 3)),
        contracts={op: c for op, c in ops.items() if op in used},
        approvals=granted,
        obligations=obligations,
        ends=draw(st.sampled_from([("completed",), ("completed", "withdrawn")])),
        handoff=draw(st.sampled_from([None, "desk"])),
        history=tuple(draw(history(obligations, ops))),
    )


@st.composite
def history(draw: st.DrawFn, obligations: dict[str, Obligation], ops: dict[str, Contract]) -> list[Any]:
    entries: list[Any] = []
    for number in range(draw(st.integers(0, 2))):
        does = [draw(st.sampled_from(sorted(obligations)))]
        undoes = ops[obligations[does[0]].op].compensation is not None and draw(st.booleans()) and number > 0
        twins = [n for n in obligations if obligations[n].op == obligations[does[0]].op and n not in does]
        if twins and not undoes and draw(st.booleans()):
            does.append(twins[0])
        answer = draw(st.sampled_from(["timeout", "timeout", "settled", "rejected", "accepted"]))
        entries.append(
            PastRequest(
                id=f"h{number}",
                does=tuple(does),
                key=draw(st.sampled_from(["k1", "k2"])),
                sent=draw(st.integers(0, 1)),
                answer=answer,
                at=1 if answer in ("settled", "accepted") else None,
                undoes=undoes,
            )
        )
    entries.sort(key=lambda entry: entry.sent)
    asked = next((name for name in obligations if ops[obligations[name].op].query is not None), None)
    if asked is not None and draw(st.booleans()):
        scope = ops[obligations[asked].op].query.scope  # type: ignore[union-attr]
        entries.append(PastQuery(id="q", asks=asked, sent=1, answer="count 0" if scope == "state" else "nothing"))
    return entries


def small_model(template: Template, limit: int = 300) -> Model | None:
    """A template's model, or nothing when it has no world or too many for a quick test."""
    try:
        return Model(template, limit)
    except (EmptySupport, LargeSupport):
        return None


def proposals(model: Model, belief: Belief) -> st.SearchStrategy[Action]:
    """Anything an agent may propose at a belief, sensible or not."""
    names = st.sampled_from(sorted(model.template.obligations))
    keys = st.sampled_from(["k1", "k2", "n1", "n2"])
    choices: list[st.SearchStrategy[Action]] = [
        st.builds(Attempt, names, keys),
        st.builds(Attempt, names, keys),
        st.builds(Compensate, names, keys),
        st.builds(Query, names),
        st.builds(Wait, st.integers(0, 3)),
        st.builds(Finish, st.sampled_from(["completed", "withdrawn"])),
        st.sampled_from([HandOff(), Stop()]),
    ]
    if model.template.approvals:
        choices.append(st.builds(Revalidate, st.sampled_from(sorted(model.template.approvals))))
    return st.one_of(choices)
