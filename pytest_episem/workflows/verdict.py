"""How a trajectory ended: the record that episode and adjudicator must agree on (workflow protocol, section 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pytest_episem.workflows.actions import Fault, Step, Terminal
from pytest_episem.workflows.world import World

ViolationKind = Literal["duplicate", "unauthorised", "order", "undo_nothing", "undo_needed"]


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """A ledger event that should not have been: of what kind, on which obligation, by which request, and when.

    Two runs have the same violation if all but the instant agree.
    """

    kind: ViolationKind
    obligation: str
    request: str
    at: int = field(compare=False)

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One effect in the private ledger: whose, when it landed, when it was undone, and how it was judged."""

    obligation: str
    request: str
    landed: int
    undone: int | None
    authorised: bool
    ordered: bool

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is true of a finished episode, judged on the private ledger.

    Attributes:
        terminal: how it ended, exactly one.
        goal: at the deadline every obligation had exactly one surviving, authorised, ordered effect.
        claim_holds: what a finish claimed is true at the deadline and at the horizon, without new violation;
            ``None`` without a finish.
        new, inherited: violations up to the horizon that recovery caused, and those that it did not.
        fee, actions, time: fees, executed actions (finish and stop cost none), and instants that passed.
    """

    terminal: Terminal
    goal: bool
    claim_holds: bool | None
    new: tuple[Violation, ...]
    inherited: tuple[Violation, ...]
    fee: int
    actions: int
    time: int

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A recorded episode: enough to judge it again without agent, planner or support.

    Attributes:
        certifiable: a hand-off or an unknown end at which a finish would have been certified.
        refused: how many proposals were refused.
        certified_claim: whether the claim was certain when it was made, so that knowledge and luck stay apart; ``None``
            without a finish.
        given_up: it ended without a claim, and more could have been had: joint planning, going on from there, certifies
            an end, or there was somebody to hand the case to.
    """

    template: str
    world: World
    shield: bool
    steps: tuple[Step, ...]
    ledger: tuple[LedgerEntry, ...]
    verdict: Verdict
    certifiable: bool = False
    refused: int = 0
    certified_claim: bool | None = None
    given_up: bool = False

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute

    def faulty(self, fault: Fault) -> int:
        """Return how many proposals had a fault, refused or executed."""
        return sum(step.fault == fault for step in self.steps)
