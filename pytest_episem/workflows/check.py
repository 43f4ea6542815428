"""Whether a record is true: it is played again and judged again before it counts.

A record is not trusted. Its proposals are put once more to an episode with the same hidden truth, which must take,
refuse and answer them alike and end alike, so that a certificate that was not due shows; then the adjudicator replays
the effect history by itself. How a refusal is worded may change, that it was one may not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pytest_episem.errors import EpisemError
from pytest_episem.workflows.actions import Step
from pytest_episem.workflows.adjudicator import disagreements
from pytest_episem.workflows.bank.load import Workflow, WorkflowBank
from pytest_episem.workflows.cases import find_case
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.giving_up import given_up
from pytest_episem.workflows.records import WorkflowRecord
from pytest_episem.workflows.run_dir import WorkflowRun
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.verdict import Trajectory


@dataclass(frozen=True, slots=True)
class Judged:
    """A record with what speaks against it; empty ``refuted`` means that it stands, as far as it was ``replayed``:
    without the bank of its run nothing can be replayed."""

    record: WorkflowRecord
    refuted: tuple[str, ...] = ()
    replayed: bool = False


def judge(run: WorkflowRun, banks: Iterable[WorkflowBank] = ()) -> list[Judged]:
    """Return every record of a run, judged with the bank among ``banks`` that has the hash the run names."""
    bank = next((bank for bank in banks if bank.hash == run.plan.bank.hash), None)
    models: dict[str, Model] = {}
    return [
        Judged(record, _told(record, run.plan.shield) or _replayed(record, bank, models), bank is not None)
        for record in run.records
    ]


def _told(record: WorkflowRecord, shield: bool) -> tuple[str, ...]:
    """What speaks against a record without any replay."""
    if record.trajectory.shield != shield:
        return (f"recorded with the shield {_switch(not shield)}, the run has it {_switch(shield)}",)
    return tuple(f"found when it was recorded: {fault}" for fault in record.faults)


def _switch(value: bool) -> str:
    return "on" if value else "off"


def _replayed(record: WorkflowRecord, bank: WorkflowBank | None, models: dict[str, Model]) -> tuple[str, ...]:
    if bank is None:
        return ()
    name = record.trajectory.template
    workflow = bank.workflows.get(name)
    if workflow is None:
        return ("the bank has no such template",)
    try:
        if name not in models:
            models[name] = Model(workflow.template)
        return refutations(record, workflow, models[name])
    except EpisemError as error:
        return (str(error),)


def refutations(record: WorkflowRecord, workflow: Workflow, model: Model) -> tuple[str, ...]:
    """Return what is not true of a record, in words; empty when it stands."""
    trajectory = record.trajectory
    number = find_case(model, workflow, record.case)
    if number is None:
        return (f"{record.case!r} is no case of this template",)
    if trajectory.world != model.worlds[number]:
        return ("its hidden truth is not that of the case",)
    again = _again(model, number, trajectory)
    if isinstance(again, str):
        return (again,)
    return tuple(_differences(trajectory, again) or disagreements(workflow.template, trajectory))


def _again(model: Model, number: int, trajectory: Trajectory) -> Trajectory | str:
    """Play the proposals once more; the first that goes otherwise is told, and the rest of them not played."""
    episode = Episode(model, number, shield=trajectory.shield)
    for place, step in enumerate(trajectory.steps, 1):
        if episode.terminal is not None:
            return f"step {place} comes after the end"
        played = episode.propose(step.action)
        if _plain(played) != _plain(step):
            return f"step {place}: {_described(step)}, replayed {_described(played)}"
    return "it has no end" if episode.terminal is None else replace(episode.trajectory(), given_up=given_up(episode))


def _plain(step: Step) -> Step:
    return replace(step, refused=None if step.refused is None else "")


def _described(step: Step) -> str:
    fault = f" as {step.fault.replace('_', ' ')}" if step.fault is not None else ""
    if step.refused is not None:
        return f"refused at {step.time}{fault}"
    return f"executed at {step.time}{fault} for {step.fee} with the answer {step.answer!r}"


def _differences(told: Trajectory, found: Trajectory) -> list[str]:
    names = ("verdict", "ledger", "certifiable", "refused", "certified_claim", "given_up")
    pairs = [(name, getattr(told, name), getattr(found, name)) for name in names]
    return [f"{name} {one!r}, replayed {other!r}" for name, one, other in pairs if one != other]
