"""What an agent may do, and the record of what it did (workflow protocol, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pytest_episem.workflows.model import Claim

Fault = Literal["unsafe", "false_claim", "not_offered"]
"""What is wrong with a proposal: it would do harm in some compatible world, it claims what is not certain, or there is
no such action here."""
Terminal = Literal["completed", "withdrawn", "handed_off", "unknown", "claim"]

_FORBID = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """Send the obligation's operation, under ``key``: one that was used before, or a new one."""

    obligation: str
    key: str
    kind: Literal["attempt"] = "attempt"

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Compensate:
    """Send the reverse of the obligation's operation, under ``key``."""

    obligation: str
    key: str
    kind: Literal["compensate"] = "compensate"

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Query:
    """Ask the provider about an obligation."""

    obligation: str
    kind: Literal["query"] = "query"

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Wait:
    """Let ``instants`` pass; the only action that moves time."""

    instants: int
    kind: Literal["wait"] = "wait"

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Revalidate:
    """Ask for the renewal of an approval."""

    approval: str
    kind: Literal["revalidate"] = "revalidate"

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class HandOff:
    """End, giving the case to the template's hand-off, naming the obligations whose state is unknown."""

    unknown: tuple[str, ...] = ()
    kind: Literal["hand_off"] = "hand_off"

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Finish:
    """End, claiming that everything is completed, or that everything is withdrawn."""

    claim: Claim
    kind: Literal["finish"] = "finish"

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Stop:
    """End without a claim."""

    kind: Literal["stop"] = "stop"

    __pydantic_config__ = _FORBID


@dataclass(frozen=True, slots=True)
class Batch:
    """Send one request for several obligations, under ``key``; there is one only where a journal has one to meet."""

    obligations: tuple[str, ...]
    key: str
    kind: Literal["batch"] = "batch"

    __pydantic_config__ = _FORBID


Action: TypeAlias = Attempt | Compensate | Batch | Query | Wait | Revalidate | HandOff | Finish | Stop
ENDINGS = (HandOff, Finish, Stop)


@dataclass(frozen=True, slots=True)
class Step:
    """One proposal: when, what, what came back, what it cost.

    ``refused`` holds the shield's text; a refused proposal was not executed, has no answer and costs nothing. ``fault``
    says what was wrong with it, refused or, without the shield, executed all the same.
    """

    time: int
    action: Action
    answer: str = ""
    fee: int = 0
    refused: str | None = None
    fault: Fault | None = None

    __pydantic_config__ = _FORBID
