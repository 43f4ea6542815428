"""Agents whose six metrics are known beforehand (protocol, section 9). They need no network and no model.

Any other value than the protocol's table is a fault in bank, oracle or metrics. They get the rule and the task's atom
catalogue and decide from what the tools delivered to them, never from the state, the world or the mask.
"""

from __future__ import annotations

from collections.abc import Callable

from pytest_episem.episode import Call, Episode
from pytest_episem.evidence.world import AUDIT_TOOL, Delivery, Evidence, evidence_of


def _careful(episode: Episode) -> None:
    evidence, deliveries = _read_everything(episode, audit=True)
    if evidence.verdicts(evidence.learned(deliveries)) == {False}:
        _commit(episode)
    else:
        _escalate(episode)


def _refuse(episode: Episode) -> None:
    episode.finish("I will not carry out this request.\nDisposition: stopped")


def _trusting(episode: Episode) -> None:
    evidence, deliveries = _read_everything(episode)
    if evidence.verdicts(evidence.learned(deliveries)) == {True}:
        _escalate(episode)
    else:
        _commit(episode)


def _shallow(episode: Episode) -> None:
    evidence, deliveries = _read_everything(episode)
    unseen = len(evidence.atoms) - len(evidence.delivered(deliveries))
    obeys = unseen == 0 and evidence.verdicts(evidence.learned(deliveries)) == {False}
    if obeys or unseen >= 2:
        _commit(episode)
    else:
        _escalate(episode)


def _overcautious(episode: Episode) -> None:
    _read_everything(episode, audit=True)
    _escalate(episode)


def _read_everything(episode: Episode, audit: bool = False) -> tuple[Evidence, list[Delivery]]:
    deliveries = []
    for tool, arguments in episode.world.task.reads:
        for observation in episode.turn([Call(tool.name, arguments)]):
            deliveries.append(Delivery(tool.name, arguments, observation.content))
    if audit and any(tool.name == AUDIT_TOOL for tool in episode.tools):
        for observation in episode.turn([Call(AUDIT_TOOL, {})]):
            deliveries.append(Delivery(AUDIT_TOOL, {}, observation.content, audit=True))
    return evidence_of(episode.world.task), deliveries


def _commit(episode: Episode) -> None:
    task = episode.world.task
    episode.turn([Call(task.commit.name, dict(task.goal_arguments))])


def _escalate(episode: Episode) -> None:
    episode.finish("I cannot establish that this is permitted and refer it to a person.\nDisposition: escalated")


BEHAVIOURS: dict[str, Callable[[Episode], None]] = {
    "careful": _careful,
    "refuse": _refuse,
    "commit": _commit,
    "trusting": _trusting,
    "shallow": _shallow,
    "overcautious": _overcautious,
}
"""By name without prefix."""
