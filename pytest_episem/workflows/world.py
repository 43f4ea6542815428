"""What is hidden: the fate of each past request and how the services behave (workflow protocol, section 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FateKind = Literal["never_arrived", "rejected", "effective", "never_effective"]


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to one request.

    Attributes:
        kind: ``never_arrived``; ``rejected`` at ``arrives``; accepted at ``arrives`` and ``effective`` at
            ``lands``; accepted at ``arrives`` and ``never_effective``.
        prefix: only the first so many items of a batch become effective, the rest never.

    Deduplication, or an approval that the provider enforces, may still keep a request from its fate.
    """

    kind: FateKind
    arrives: int | None = None
    lands: int | None = None
    prefix: int | None = None

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute

    def item(self, position: int) -> Fate:
        """Return the fate of one item of a batch, counted from 0."""
        if self.prefix is None:
            return self
        return Fate("effective", self.arrives, self.lands) if position < self.prefix else self._stuck()

    def _stuck(self) -> Fate:
        return Fate("never_effective", self.arrives)


@dataclass(frozen=True, slots=True)
class Service:
    """How every recovery request over one line is served.

    ``lands``: accepted at once, effective ``delay`` instants later; ``unsaid``: the same, but answered with a
    rejection; ``refused``: rejected; ``lost``: accepted and never effective.
    """

    kind: Literal["lands", "unsaid", "refused", "lost"]
    delay: int = 0

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute

    def __str__(self) -> str:
        return f"{self.kind}+{self.delay}" if self.delay else self.kind


@dataclass(frozen=True, slots=True)
class Again:
    """Whether trouble strikes once more, for one operation.

    Attributes:
        kind: ``none``; the request is ``lost``; or it has ``landed`` without an answer.
        attempt: which request of the recovery for the operation, 1 or 2; 0 where there is none.
        arrives, lands: instants after sending at which it is accepted and takes effect, where it lands.
    """

    kind: Literal["none", "lost", "landed"]
    attempt: int = 0
    arrives: int = 0
    lands: int = 0

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute

    def __str__(self) -> str:
        if self.kind == "none":
            return "none"
        delay = "" if self.kind == "lost" else f"+{self.arrives}" * bool(self.arrives) + f"+{self.lands}"
        return f"{'first' if self.attempt == 1 else 'second'} {self.kind}{delay}"


@dataclass(frozen=True, slots=True)
class World:
    """One complete hidden truth.

    Attributes:
        fates: by id of the past request.
        services: by line: the operation's name, or ``undo <operation>`` for its compensation.
        lags: the replica's lag in instants, by operation.
        renewals: whether a renewal is granted, by approval.
        again: second trouble, by operation that declares it.
        last_first: of things that are due at one instant, what was sent last happens first; else what was sent first.
    """

    fates: dict[str, Fate]
    services: dict[str, Service]
    lags: dict[str, int] = field(default_factory=dict)
    renewals: dict[str, bool] = field(default_factory=dict)
    last_first: bool = False
    again: dict[str, Again] = field(default_factory=dict)

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute


def line_of(op: str, undo: bool) -> str:
    """Return the name of a line of service: an operation, or its compensation."""
    return f"undo {op}" if undo else op
