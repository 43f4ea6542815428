"""A case as a condition, and the trial that came of it: one hidden truth of one workflow, played once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pytest_episem.episode import Unanswered
from pytest_episem.runs.record import Amount, Count
from pytest_episem.runs.trial import Trial as AnyTrial
from pytest_episem.workflows.actions import Fault, Step
from pytest_episem.workflows.live import Live
from pytest_episem.workflows.verdict import Trajectory

__all__ = ["Case", "Judgement", "Search", "Trial", "Unapproved"]

Form = Literal["journal", "live"]


@dataclass(frozen=True, slots=True)
class Case:
    """Workflow x hidden truth x shield x guidance x form x repeat. Hashable: it is the key of its trial.

    Attributes:
        task: the workflow, ``domain/workflow``.
        case: an assignment's name, or ``world-<number>``.
        shield: whether what is inadmissible is refused, or executed and judged.
        repeat: which repetition, from 0.
        guidance: what the agent is told beside the answers, ``none``, ``evidence`` or ``advice:<controller>``.
        form: whether the trouble stands in the journal, or happens to the agent's own call.
    """

    suite: ClassVar[str] = "workflows"
    task: str
    case: str
    shield: bool = True
    repeat: int = 0
    guidance: str = "none"
    form: Form = "journal"

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

    selection: tuple[Amount, ...] = ()
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
        live: what was done before the last trouble, where trouble happened live; the trajectory is what came after.
    """

    trajectory: Trajectory
    faults: tuple[str, ...] = ()
    unapproved: tuple[Unapproved, ...] = ()
    invalid: bool = False
    source: str | None = None
    unanswered: Unanswered | None = None
    search: Search = field(default=Search(), compare=False)
    live: Live | None = None

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own class attribute

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every proposal, in order."""
        return (*(self.live.steps if self.live is not None else ()), *self.trajectory.steps)

    def faulty(self, fault: Fault) -> int:
        """Return how many proposals had a fault, refused or executed."""
        return sum(step.fault == fault for step in self.steps)

    @property
    def refused(self) -> int:
        """How many proposals were refused."""
        return sum(step.refused is not None for step in self.steps)


@dataclass(slots=True)
class Trial(AnyTrial):
    """One rollout of one case with its judgement, or with the error that left it without one."""

    condition: Case
    outcome: Judgement | None = field(default=None, kw_only=True)

    @property
    def judged(self) -> Judgement:
        """The outcome of a completed trial."""
        assert self.outcome is not None
        return self.outcome
