"""The shape of a template file: what a person writes (workflow protocol, end of section 3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from pytest_episem.banks.schema_fault import Shape, pattern

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")]
Operation = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$")]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]

Ending = Literal["certified", "withdrawn", "handed_off", "unknown"]
"""How an expected trajectory ends; ``certified`` is the terminal ``completed``."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ClockEntry(_Strict):
    """``start`` and ``deadline`` of the recovery."""

    start: Count
    deadline: Positive

    @model_validator(mode="after")
    def _forward(self) -> ClockEntry:
        if self.deadline <= self.start:
            raise ValueError("the deadline must lie after the start")
        return self


class ChannelEntry(_Strict):
    """How requests are served; what is left out is not promised."""

    fee: Count = 0
    attempts: Literal["settle", "may_fail"]
    response: Literal["final", "receipt"]
    settles: list[Literal["settled", "rejected"]] | None = None
    arrival: Count | None = None
    commit_bound: Count | None = None
    deduplication: Positive | None = None

    @model_validator(mode="after")
    def _settles(self) -> ChannelEntry:
        if self.settles is not None and ("settled" in self.settles) != (self.response == "final"):
            raise ValueError("'settles' holds 'settled' exactly when the response is final")
        return self


class QueryEntry(_Strict):
    """What may be asked."""

    scope: Literal["state", "history"]
    authority: Literal["authoritative", "replica"]
    lag: Count | None = None
    fee: Count = 0

    @model_validator(mode="after")
    def _lag(self) -> QueryEntry:
        if self.authority == "authoritative" and self.lag is None:
            raise ValueError("an authoritative query declares its lag")
        return self


class CompensationEntry(ChannelEntry):
    """The reverse action."""

    attempts: Literal["settle", "may_fail"] = "settle"
    response: Literal["final", "receipt"] = "final"
    until: Positive | None = None


class AuthorizationEntry(_Strict):
    """When the approval is judged, and whether the provider enforces it."""

    judged: Literal["acceptance", "effect"]
    enforced: bool = False


class AgainEntry(_Strict):
    """Second trouble: one of the first two requests sent in the recovery may get no answer."""

    arrival: Count | None = None
    commit_bound: Count | None = None


class ContractEntry(ChannelEntry):
    """All promises about one operation."""

    whole: bool = False
    again: AgainEntry | None = None
    query: QueryEntry | None = None
    compensation: CompensationEntry | None = None
    authorization: AuthorizationEntry | None = None


class RenewalEntry(_Strict):
    """How long a renewal lasts from the instant it is granted, and whether it may be refused."""

    lasts: Positive
    answer: Literal["granted", "either"] = "either"
    fee: Count = 0


class ApprovalEntry(_Strict):
    """Valid in [start, until)."""

    start: Count = 0
    until: Count | None = None
    renewal: RenewalEntry | None = None


class ObligationEntry(_Strict):
    """One approved piece of the workflow."""

    op: Operation
    args: dict[str, Text | int | bool] = {}
    after: list[Slug] = []
    approval: Key | None = None
    done: Text | None = None


class HistoryEntry(_Strict):
    """A past request (``does`` or ``undoes``, a name or several) or a past question (``asks``)."""

    id: Slug
    does: Slug | Annotated[list[Slug], Field(min_length=1)] | None = None
    undoes: Slug | None = None
    asks: Slug | None = None
    key: Key | None = None
    sent: Count
    answer: Text
    at: Count | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> HistoryEntry:
        if sum(x is not None for x in (self.does, self.undoes, self.asks)) != 1:
            raise ValueError("give exactly one of 'does', 'undoes' and 'asks'")
        if self.asks is None and self.answer not in ("settled", "rejected", "accepted", "timeout"):
            raise ValueError("the answer of a request is settled, rejected, accepted or timeout")
        if (self.asks is None) != (self.key is not None):
            raise ValueError("a request has a key, a question has none")
        if (self.answer in ("settled", "accepted")) != (self.at is not None):
            raise ValueError("'at' goes with the answers settled and accepted, and with no other")
        return self


class FateEntry(_Strict):
    """A fate in full: accepted (at sending, if left out), with an effect or without one, over a whole batch or its
    first items."""

    accepted: Count | None = None
    effect: Count | None = None
    prefix: Positive | None = None


class ExpectEntry(_Strict):
    """What the file claims about itself: the number of worlds, and how controllers end on each assignment."""

    support: Positive
    stop: dict[Slug, Ending] = {}
    verify_wait: dict[Slug, Ending] = Field(default={}, alias="verify-wait")
    capability: dict[Slug, Ending] = {}
    greedy: dict[Slug, Ending] = {}
    joint: dict[Slug, Ending] = {}

    def endings(self) -> dict[str, dict[str, Ending]]:
        """Return the claimed endings, by controller and assignment."""
        return {
            "stop": self.stop,
            "verify-wait": self.verify_wait,
            "capability": self.capability,
            "greedy": self.greedy,
            "joint": self.joint,
        }


Choice = Text | Count | bool
Truth = Annotated[
    Literal["never_arrived", "rejected"] | FateEntry | dict[str, Choice], Field(union_mode="left_to_right")
]


class TemplateFile(_Strict):
    """One template with its assignments. In an assignment, ``service``, ``lag``, ``renewal`` and ``again`` choose
    among what the contracts allow; every other key is the id of a past request. ``pilot`` names the assignments that
    are for trying prompts and settings out; all others are held out."""

    id: Slug
    title: Text
    clock: ClockEntry
    contracts: Annotated[dict[Operation, ContractEntry], Field(min_length=1)]
    approvals: dict[Key, ApprovalEntry] = {}
    obligations: Annotated[dict[Slug, ObligationEntry], Field(min_length=1)]
    ends: Annotated[list[Literal["completed", "withdrawn"]], Field(min_length=1)] = ["completed"]
    handoff: Slug | None = None
    history: list[HistoryEntry]
    assignments: Annotated[dict[Slug, dict[Slug, Truth]], Field(min_length=1)]
    pilot: list[Slug] = []
    expect: ExpectEntry


TEMPLATE = Shape(
    TemplateFile,
    "the keys id, clock, contracts …",
    {
        ("clock",): ClockEntry,
        ("contracts", "*"): ContractEntry,
        ("contracts", "*", "query"): QueryEntry,
        ("contracts", "*", "again"): AgainEntry,
        ("contracts", "*", "compensation"): CompensationEntry,
        ("contracts", "*", "authorization"): AuthorizationEntry,
        ("approvals", "*"): ApprovalEntry,
        ("approvals", "*", "renewal"): RenewalEntry,
        ("obligations", "*"): ObligationEntry,
        ("history", "*"): HistoryEntry,
        ("expect",): ExpectEntry,
    },
    "assignments",
    {
        pattern(Slug): "an id of small letters and digits, joined by '-'",
        pattern(Key): "a key of letters and digits, joined by '-', '_' or '.'",
        pattern(Operation): "an operation's name such as cards.charge",
    },
)
