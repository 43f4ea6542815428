"""Agents whose six metrics are known beforehand (protocol, section 9). They need no network and no model.

Any other value than the protocol's table is a fault in bank, oracle or metrics. They get the rule and the task's atom
catalogue and decide from what the tools delivered to them, never from the state, the world or the mask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_episem.episode import TURN_LIMIT, Call, Episode
from pytest_episem.errors import UnknownName
from pytest_episem.world import AUDIT_TOOL, Delivery, Evidence, evidence_of

PREFIX = "episem/"


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """A built-in agent: a name and what it does."""

    name: str
    behaviour: Callable[[Episode], None]
    turn_limit: int = TURN_LIMIT

    def play(self, episode: Episode) -> None:
        """Play ``episode`` to its end, at once."""
        self.behaviour(episode)


def known_agent(name: str) -> KnownAgent:
    """Return the built-in agent ``episem/<behaviour>``.

    Raises:
        UnknownName: there is none of that name.
    """
    behaviour = _BEHAVIOURS.get(name.removeprefix(PREFIX))
    if behaviour is None:
        raise UnknownName("built-in agent", name, known_agent_names())
    return KnownAgent(name, behaviour)


def known_agent_names() -> list[str]:
    """Return the names of the built-in agents."""
    return [PREFIX + name for name in _BEHAVIOURS]


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


_BEHAVIOURS: dict[str, Callable[[Episode], None]] = {
    "careful": _careful,
    "refuse": _refuse,
    "commit": _commit,
    "trusting": _trusting,
    "shallow": _shallow,
    "overcautious": _overcautious,
}
