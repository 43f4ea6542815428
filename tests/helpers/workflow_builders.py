"""Short ways to write templates, worlds and episodes in the tests of the workflow suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_episem.workflows.actions import Action
from pytest_episem.workflows.adjudicator import disagreements
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.explain import explain, fault
from pytest_episem.workflows.giving_up import given_up
from pytest_episem.workflows.model import Contract, Obligation, PastRequest, Template
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.trial import Judgement
from pytest_episem.workflows.verdict import Trajectory
from pytest_episem.workflows.world import Fate


def contract(**terms: Any) -> Contract:
    """A contract with a final answer, at once, that always settles, unless told otherwise."""
    return Contract(**{"attempts": "settle", "response": "final", "arrival": 0, "commit_bound": 0, **terms})


def past(does: str, answer: str = "timeout", **more: Any) -> PastRequest:
    """A past request named after its obligation: ``past("pay")`` has the id ``pay1`` and the key ``k-pay``."""
    fields: dict[str, Any] = {"id": f"{does}1", "key": f"k-{does}", "sent": 0, **more}
    return PastRequest(does=(does,), answer=answer, **fields)  # type: ignore[arg-type]


def template(
    contracts: dict[str, Contract], history: list[Any], after: dict[str, tuple[str, ...]] | None = None, **more: Any
) -> Template:
    """A template with one obligation for each contract, named alike; the clock runs from 1 to 5."""
    obligations = {name: Obligation(op=name, after=(after or {}).get(name, ())) for name in contracts}
    fields: dict[str, Any] = {"start": 1, "deadline": 5, "handoff": "desk", "obligations": obligations, **more}
    return Template(id="some/work", title="work", contracts=contracts, history=tuple(history), **fields)


def world_with(model: Model, **fates: Fate) -> int:
    """The first world of a support with these fates, by id of the past request."""
    return next(n for n, w in enumerate(model.worlds) if all(w.fates[name] == fate for name, fate in fates.items()))


def play(model: Model, world: int, *actions: Action, shield: bool = True, ended: bool = False) -> Trajectory:
    """Propose actions one after the other; the last must end the episode. The adjudicator replays the record.

    ``ended``: say as well whether it gave up, as a finished case does.
    """
    episode = Episode(model, world, shield=shield)
    for action in actions:
        episode.propose(action)
    trajectory = episode.trajectory()
    if ended:
        trajectory = replace(trajectory, given_up=given_up(episode))
    assert disagreements(model.template, trajectory) == []
    return trajectory


def answers_of(trajectory: Trajectory) -> list[str]:
    """The answers to the executed actions."""
    return [step.answer for step in trajectory.steps if step.refused is None]


def judged(model: Model, trajectory: Trajectory) -> Judgement:
    """A trajectory with what the adjudicator says of it."""
    return Judgement(trajectory, tuple(disagreements(model.template, trajectory)))


def explained(model: Model, trajectory: Trajectory, case: str, banks: Sequence[str] = ()) -> str:
    """The failure text of a trajectory."""
    return explain(model, judged(model, trajectory), case, banks)


def wrong_with(trajectory: Trajectory, refuted: Sequence[str] = ()) -> str:
    """What counts against a trajectory that the adjudicator has nothing against."""
    return fault(Judgement(trajectory), refuted)
