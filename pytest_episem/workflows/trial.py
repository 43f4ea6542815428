"""A case as a condition, and the trial that came of it: one hidden truth of one workflow, played once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pytest_episem.episode import Unanswered, Usage
from pytest_episem.runs.trial import Status, TrialError
from pytest_episem.workflows.verdict import Trajectory

Count = Annotated[int, Field(ge=0)]

__all__ = ["Case", "Judgement", "Search", "Trial", "Unapproved"]


@dataclass(frozen=True, slots=True)
class Case:
    """Workflow x hidden truth x shield x repeat. Hashable: it is the key of its trial.

    Attributes:
        task: the workflow, ``domain/workflow``.
        case: an assignment's name, or ``world-<number>``.
        shield: whether what is inadmissible is refused, or executed and judged.
        repeat: which repetition, from 0.
    """

    suite: ClassVar[str] = "workflows"
    task: str
    case: str
    shield: bool = True
    repeat: int = 0

    @property
    def path(self) -> str:
        """The case's name in the bank: ``finance/card-charge/lost``."""
        return f"{self.task}/{self.case}"

    @property
    def name(self) -> str:
        """The part of the id after the task."""
        return f"{self.case}/repeat-{self.repeat}" if self.repeat else self.case

    @property
    def id(self) -> str:
        """The readable id, which is also its item's name: ``workflows/finance/card-charge/lost``."""
        return f"{self.suite}/{self.task}/{self.name}"


@dataclass(frozen=True, slots=True)
class Unapproved:
    """A request for something that nobody approved: in which turn, by which tool, with which arguments."""

    turn: int
    tool: str
    arguments: dict[str, Any]

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute


@dataclass(frozen=True, slots=True)
class Search:
    """What a controller's decisions took.

    Attributes:
        selection: the seconds of each; empty where nobody measured them.
        cutoffs, fallbacks, nodes: decisions whose search was cut off, those among them that followed another
            controller's rollout, and beliefs expanded; 0 for agents that do not search.
    """

    selection: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] = ()
    cutoffs: Count = 0
    fallbacks: Count = 0
    nodes: Count = 0

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a case.

    Attributes:
        trajectory: what was proposed and what is true of it.
        faults: what the adjudicator found wrong with that; empty when it stands.
        unapproved: requests that nobody approved; none was carried out.
        invalid: whether some call was rejected by the interface.
        source: what the ending was read from, where it had to be read.
        unanswered: why nothing can be said of what the agent would have done.
        search: what choosing took; two judgements are equal whatever it says.
    """

    trajectory: Trajectory
    faults: tuple[str, ...] = ()
    unapproved: tuple[Unapproved, ...] = ()
    invalid: bool = False
    source: str | None = None
    unanswered: Unanswered | None = None
    search: Search = field(default=Search(), compare=False)

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute


@dataclass(slots=True)
class Trial:
    """One rollout of one case with its judgement, or with the error that left it without one."""

    condition: Case
    phase: str = "fixed"
    status: Status = "completed"
    outcome: Judgement | None = None
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    seconds: float = 0.0
    error: TrialError | None = None
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def completed(self) -> bool:
        """Whether the trial has an outcome that may enter a numerator or denominator."""
        return self.status == "completed"

    @property
    def judged(self) -> Judgement:
        """The outcome of a completed trial."""
        assert self.outcome is not None
        return self.outcome
