"""What is public from the start: contracts, obligations, approvals and the history (workflow protocol, section 1).

Integer time; intervals are half-open. What a contract does not declare does not exist: an undeclared bound is no
bound, an undeclared query cannot be asked, an undeclared authorisation rule judges at the effect and blocks nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pytest_episem.workflows.tail import Tail, tail_of

Attempts = Literal["settle", "may_fail"]
Response = Literal["final", "receipt"]
Settling = Literal["settled", "rejected"]
Claim = Literal["completed", "withdrawn"]
AnswerWord = Literal["settled", "rejected", "accepted", "timeout"]

_FORBID = {"extra": "forbid", "strict": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """How requests of one kind are served.

    Attributes:
        fee: charged for every request sent, in synthetic units, whatever becomes of it.
        attempts: ``settle``: an accepted request always becomes effective; ``may_fail``: it may be rejected, or be
            accepted and never become effective.
        response: ``final``: the answer says how the request is settled, and names the instant of its effect, which
            may lie ahead: the commit bound holds for it too, and what is judged at the effect is judged then;
            ``receipt``: it says no more than that the request was accepted.
        settles: the answers that are proof. By default both for a final response, none for a receipt. An answer
            that is not listed is well-formed and proves nothing.
        arrival: instants after sending by which a request is accepted or never will be.
        commit_bound: instants after acceptance by which the effect is there or never will be.
        deduplication: for so many instants from acceptance, a request with the same key executes nothing.
    """

    fee: int = 0
    attempts: Attempts = "may_fail"
    response: Response = "receipt"
    settles: tuple[Settling, ...] | None = None
    arrival: int | None = None
    commit_bound: int | None = None
    deduplication: int | None = None

    __pydantic_config__ = _FORBID

    @property
    def proof(self) -> tuple[Settling, ...]:
        """The answers that settle a request."""
        if self.settles is not None:
            return self.settles
        return ("settled", "rejected") if self.response == "final" else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """What may be asked about an obligation.

    Attributes:
        scope: ``state``: how many effects survive; ``history``: the status of every key.
        authority: ``authoritative`` shows t - lag exactly; a ``replica`` has a hidden lag of at most ``lag``, and
            without ``lag`` it may show nothing at all.
        fee: charged for every question.
    """

    scope: Literal["state", "history"]
    authority: Literal["authoritative", "replica"]
    lag: int | None = None
    fee: int = 0

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class CompensationTerms(Channel):
    """The reverse action: removes the latest surviving effect when it lands. Offered before ``until``, if given."""

    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationTerms:
    """At which instant the approval must be valid, and whether the provider itself refuses what is not approved."""

    judged: Literal["acceptance", "effect"]
    enforced: bool = False

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainTerms:
    """Second trouble: one of the first two requests that the recovery sends may itself get no answer, because it was
    lost or because its answer was.

    Attributes:
        arrival: instants after sending by which it is accepted or never will be.
        commit_bound: instants after acceptance by which its effect is there.

    Both are bounds of their own for later attempts; a bound not given is no bound.
    """

    arrival: int | None = None
    commit_bound: int | None = None

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract(Channel):
    """All that a provider promises about one operation. ``whole``: a request over several items has all or none;
    ``again``: trouble may strike once more."""

    whole: bool = False
    again: AgainTerms | None = None
    query: QueryTerms | None = None
    compensation: CompensationTerms | None = None
    authorization: AuthorizationTerms | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalTerms:
    """A renewal makes the approval valid from the instant it is granted for ``lasts`` instants.

    ``answer``: ``granted`` always, or ``either`` granted or refused, which is hidden until asked.
    """

    lasts: int
    answer: Literal["granted", "either"] = "either"
    fee: int = 0

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Valid in [``start``, ``until``); without ``until`` for ever."""

    start: int = 0
    until: int | None = None
    renewal: RenewalTerms | None = None

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """One approved piece of the workflow.

    Attributes:
        op: the operation that fulfils it, a name in the template's contracts.
        args: its arguments, shown as they are.
        after: obligations that must have a surviving effect when this one takes effect.
        approval: the approval it rests on; without one it is always authorised.
        done: the past participle for texts ("charged"), formed from the name when not given.
    """

    op: str
    args: dict[str, str | int | bool] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    approval: str | None = None
    done: str | None = None

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRequest:
    """A request in the history: of one obligation, of several in one batch, or (``undoes``) its compensation.

    ``answer`` is what came back, public; ``at`` is the instant that a settled or accepted answer names.
    """

    id: str
    does: tuple[str, ...]
    key: str
    sent: int
    answer: AnswerWord
    at: int | None = None
    undoes: bool = False

    __pydantic_config__ = _FORBID

    def item_key(self, obligation: str) -> str:
        """Return the key of one item: the key itself, or ``key/obligation`` in a batch."""
        return self.key if len(self.does) == 1 else f"{self.key}/{obligation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuery:
    """A question in the history, with the answer that came back, word for word."""

    id: str
    asks: str
    sent: int
    answer: str

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, kw_only=True)
class Template:
    """A workflow that stopped half way, and all that is public about it.

    Attributes:
        id: ``<domain>/<workflow>``.
        start, deadline: the clock; recovery actions happen in [start, deadline), a last word at the deadline.
        ends: which ends may be certified.
        handoff: who takes over; ``None`` if there is nobody.
    """

    id: str
    title: str
    start: int
    deadline: int
    contracts: dict[str, Contract]
    obligations: dict[str, Obligation]
    history: tuple[PastRequest | PastQuery, ...]
    approvals: dict[str, Approval] = field(default_factory=dict)
    ends: tuple[Claim, ...] = ("completed",)
    handoff: str | None = None

    __pydantic_config__ = _FORBID

    @property
    def requests(self) -> tuple[PastRequest, ...]:
        """The requests of the history, in order."""
        return tuple(entry for entry in self.history if isinstance(entry, PastRequest))

    @property
    def queries(self) -> tuple[PastQuery, ...]:
        """The questions of the history, in order."""
        return tuple(entry for entry in self.history if isinstance(entry, PastQuery))

    def contract(self, obligation: str) -> Contract:
        """Return the contract of an obligation's operation."""
        return self.contracts[self.obligations[obligation].op]

    def channel(self, obligation: str, undo: bool) -> Channel:
        """Return how an obligation's attempts, or its compensations, are served."""
        contract = self.contract(obligation)
        return (contract.compensation or CompensationTerms()) if undo else contract

    @cached_property
    def tail(self) -> Tail:
        """The instants after the deadline that stand for all of them, and the horizon."""
        return tail_of(self)

    @property
    def horizon(self) -> int:
        """H, an instant after which nothing can happen: past the last breakpoint by the largest bound."""
        return self.tail.horizon
