"""What may be claimed: violations new and inherited, the goal and the certificate (workflow protocol, section 2)."""

from __future__ import annotations

from pytest_episem.workflows.model import Claim
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.timeline import Run
from pytest_episem.workflows.verdict import Violation


def new_violations(model: Model, world: int, run: Run) -> frozenset[Violation]:
    """Return the violations of a run that its world would not have had without any recovery action."""
    return run.violations - model.initial[world].violations


def inherited_violations(model: Model, world: int, run: Run) -> frozenset[Violation]:
    """Return the violations of a run that its world would have had anyway."""
    return run.violations & model.initial[world].violations


def certified(model: Model, belief: Belief, claim: Claim) -> bool:
    """Return whether a claim is certain: in every compatible world it holds at the deadline and at the horizon without
    further actions, and recovery caused no violation. A template that does not allow an end certifies none."""
    if claim not in model.template.ends:
        return False
    holds = _completed if claim == "completed" else _withdrawn
    return all(holds(run) and not new_violations(model, world, run) for world, run in belief.members)


def _completed(run: Run) -> bool:
    return run.lasting


def _withdrawn(run: Run) -> bool:
    return run.gone


def unknown_obligations(model: Model, belief: Belief) -> tuple[str, ...]:
    """Return the obligations that some compatible worlds fulfil at the horizon and others do not."""
    end = model.template.horizon
    return tuple(
        name for name in model.template.obligations if len({run.good(name, end) for _, run in belief.members}) > 1
    )
