"""What a template promises and demands in plain words: contracts, obligations, approvals. Not escaped."""

from __future__ import annotations

from pytest_episem.workflows.model import (
    AgainTerms,
    Approval,
    Channel,
    CompensationTerms,
    Contract,
    QueryTerms,
    Template,
)
from pytest_episem.workflows.words import counted, listed


def served_text(template: Template, live: bool = False) -> str:
    """Return what is so of everything that is sent from now on, and of which operations it is not; ``live``: of what is
    sent after the first trouble."""
    silent = [op for op, contract in template.contracts.items() if contract.again is not None]
    if silent:
        each = "each of " if len(silent) > 1 else ""
        lost = f"one of the first two requests of {each}{listed(silent)} may be lost, come late or get no answer"
        answered = f"is answered, except that {lost}"
    else:
        answered = "is always answered"
    if live:
        return (
            "The first request of a piece of work may get no answer, or one that proves nothing; then only what is "
            f"promised bounds what becomes of it. What you send otherwise arrives at once and {answered}; whether and "
            "when it takes effect may be among the things nobody knows. What is not promised here does not exist."
        )
    return (
        f"What you send now arrives at once and {answered}; whether and when it takes effect may be among the things "
        "nobody knows. What is not promised here does not exist."
    )


def clock_text(template: Template) -> str:
    """Return the time, the deadline, how it may end and who could take over."""
    taker = f"the case can be handed off to {template.handoff}" if template.handoff else "there is nobody to hand it to"
    ends = " or ".join(template.ends)
    return (
        f"It is t{template.start}, the deadline is t{template.deadline}; only waiting moves time. "
        f"A finish may claim {ends}; {taker}."
    )


def fee_text(fee: int) -> str:
    """Return ``free`` or ``fee 3``."""
    return f"fee {fee}" if fee else "free"


def duty_text(template: Template, name: str) -> str:
    """Return an obligation as a call with all its arguments, what it waits for and what an attempt costs."""
    obligation = template.obligations[name]
    args = ", ".join(f"{key}={value}" for key, value in obligation.args.items())
    after = f"; only after {listed(obligation.after)}" if obligation.after else ""
    approval = f"; needs approval {obligation.approval}" if obligation.approval else ""
    return f"{obligation.op}({args}), {fee_text(template.contract(name).fee)}{after}{approval}"


def approval_text(approval: Approval) -> str:
    """Return when an approval is valid, and whether it can be renewed."""
    until = "without end" if approval.until is None else f"until just before t{approval.until}"
    terms = approval.renewal
    if terms is None:
        return f"valid from t{approval.start} {until}; cannot be renewed"
    answer = "always granted" if terms.answer == "granted" else "may be refused"
    return (
        f"valid from t{approval.start} {until}; a renewal holds {counted(terms.lasts, 'instant')}, "
        f"{answer}, {fee_text(terms.fee)}"
    )


def contract_texts(contract: Contract) -> list[tuple[str, str]]:
    """Return all that a provider promises about an operation, as pairs of a label and words."""
    pairs = [("requests", _attempts(contract)), ("answers", _answers(contract)), ("in time", _bounds(contract))]
    pairs.append(("same key", _keys(contract.deduplication)))
    pairs.append(("questions", _query(contract.query)))
    pairs.append(("undoing", _undo(contract.compensation)))
    if contract.again is not None:
        pairs.append(("again", _again(contract.again)))
    if contract.authorization is not None:
        blocks = "refuses what is not approved" if contract.authorization.enforced else "refuses nothing on that ground"
        pairs.append(("approval", f"judged at {contract.authorization.judged}; the provider {blocks}"))
    return pairs


def _attempts(channel: Channel) -> str:
    if channel.attempts == "settle":
        return "whatever is accepted takes effect"
    return "may be rejected, or accepted without ever taking effect"


def _answers(channel: Channel) -> str:
    if channel.response == "final":
        proof = {2: "and that is proof", 1: f"but only {channel.proof[0]!r} is proof" if channel.proof else ""}
        return f"say how the request ended, {proof.get(len(channel.proof), 'but prove nothing')}"
    rejected = "; a rejection is proof" if "rejected" in channel.proof else ""
    return f"are receipts: proof that it was accepted, not that it took effect{rejected}"


def _bounds(channel: Channel) -> str:
    arrival, commit = channel.arrival, channel.commit_bound
    arrives = "may arrive at any later time" if arrival is None else f"arrives {_within(arrival)} or never"
    if commit is None:
        return f"{arrives}; no bound on when it takes effect"
    return f"{arrives}; takes effect {_within(commit)}{'' if channel.attempts == 'settle' else ' or never'}"


def _again(terms: AgainTerms) -> str:
    arrives = "at any later time" if terms.arrival is None else _within(terms.arrival)
    effect = (
        "with no bound on its effect" if terms.commit_bound is None else f"its effect {_within(terms.commit_bound)}"
    )
    return f"one of the first two requests sent now may get no answer: lost, or arrived {arrives}, {effect}"


def _within(instants: int) -> str:
    return f"within {counted(instants, 'instant')}" if instants else "at once"


def _keys(window: int | None) -> str:
    if window is None:
        return "not remembered: a repeat is carried out again"
    return f"remembered for {counted(window, 'instant')} from acceptance: a repeat does nothing until then"


def _query(terms: QueryTerms | None) -> str:
    if terms is None:
        return "cannot be asked"
    what = "how many effects there are" if terms.scope == "state" else "what became of every key"
    if terms.authority == "authoritative":
        age = "as it is now" if not terms.lag else f"as it was {counted(terms.lag, 'instant')} ago"
    elif terms.lag is None:
        age = "from a copy of unknown age: that something is missing there proves nothing"
    else:
        age = f"from a copy that is at most {counted(terms.lag, 'instant')} old"
    return f"tell {what}, {age}; {fee_text(terms.fee)}"


def _undo(terms: CompensationTerms | None) -> str:
    if terms is None:
        return "not possible"
    until = f" before t{terms.until}" if terms.until is not None else ""
    keys = f"; key remembered for {counted(terms.deduplication, 'instant')}" if terms.deduplication else ""
    return (
        f"possible{until}, {fee_text(terms.fee)}; {_attempts(terms)}; answers {_answers(terms)}; {_bounds(terms)}{keys}"
    )
