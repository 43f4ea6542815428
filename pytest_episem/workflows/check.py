"""Whether a record is true: it is played again and judged again before it counts.

A record is not trusted. Its proposals are put once more to an episode with the same hidden truth, which must take,
refuse and answer them alike and end alike, so that a certificate that was not due shows; then the adjudicator replays
the effect history by itself. How a refusal is worded may change, that it was one may not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pytest_episem.errors import EpisemError
from pytest_episem.runs.run_dir import Run
from pytest_episem.workflows.actions import Step
from pytest_episem.workflows.adjudicator import disagreements
from pytest_episem.workflows.bank.load import Workflow, WorkflowBank
from pytest_episem.workflows.cases import find_case
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.giving_up import given_up
from pytest_episem.workflows.live import LiveEpisode, stage_of
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.trial import Judgement, Trial
from pytest_episem.workflows.verdict import Trajectory


@dataclass(frozen=True, slots=True)
class Judged:
    """A completed trial with what speaks against it; empty ``refuted`` means that it stands, as far as it was
    ``replayed``: without the bank of its run nothing can be replayed."""

    trial: Trial
    refuted: tuple[str, ...] = ()
    replayed: bool = False

    @property
    def trajectory(self) -> Trajectory:
        """What was done, as it is recorded."""
        return self.trial.judged.trajectory


def judge(run: Run, banks: Iterable[WorkflowBank] = ()) -> list[Judged]:
    """Return every completed trial of a run, judged with the bank among ``banks`` that has the hash the run names."""
    plan = run.header.workflows
    if plan is None:
        return []
    bank = next((bank for bank in banks if bank.hash == plan.bank.hash), None)
    return [
        Judged(trial, _told(trial) or _replayed(trial, bank), bank is not None)
        for trial in run.of("workflows").values()
        if trial.completed
    ]


def _told(trial: Trial) -> tuple[str, ...]:
    """What speaks against a trial without any replay."""
    shield = trial.condition.shield
    if trial.judged.trajectory.shield != shield:
        return (f"recorded with the shield {_switch(not shield)}, the run has it {_switch(shield)}",)
    return tuple(f"found when it was recorded: {fault}" for fault in trial.judged.faults)


def _switch(value: bool) -> str:
    return "on" if value else "off"


def _replayed(trial: Trial, bank: WorkflowBank | None) -> tuple[str, ...]:
    if bank is None:
        return ()
    workflow = bank.workflows.get(trial.condition.task)
    if workflow is None:
        return ("the bank has no such template",)
    try:
        return refutations(trial, workflow, workflow.model)
    except EpisemError as error:
        return (str(error),)


def refutations(trial: Trial, workflow: Workflow, model: Model) -> tuple[str, ...]:
    """Return what is not true of a trial, in words; empty when it stands."""
    trajectory, case = trial.judged.trajectory, trial.condition.case
    number = find_case(model, workflow, case)
    if number is None:
        return (f"{case!r} is no case of this template",)
    if trial.condition.form == "journal" and trajectory.world != model.worlds[number]:
        return ("its hidden truth is not that of the case",)
    kind = LiveEpisode if trial.condition.form == "live" else Episode
    episode = kind(model, number, shield=trajectory.shield)
    again = _again(episode, trial.judged)
    if isinstance(again, str):
        return (again,)
    live = episode.live if isinstance(episode, LiveEpisode) else None
    if trial.judged.live != live:
        return ("what it says of the trouble is not what came",)
    if trajectory.world != again.world:
        return ("its hidden truth is not that of the case",)
    return tuple(_differences(trajectory, again) or disagreements(episode.model.template, trajectory))


def _again(episode: Episode | LiveEpisode, judged: Judgement) -> Trajectory | str:
    """Play the proposals once more; the first that goes otherwise is told, and the rest of them not played."""
    for place, step in enumerate(judged.steps, 1):
        if episode.terminal is not None:
            return f"step {place} comes after the end"
        played = episode.propose(step.action)
        if _plain(played) != _plain(step):
            return f"step {place}: {_described(step)}, replayed {_described(played)}"
    if episode.terminal is None:
        return "it has no end"
    return replace(episode.trajectory(), given_up=given_up(stage_of(episode)))


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
