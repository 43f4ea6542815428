"""Scripted agents with known answers: what agents do when a call gets no answer (workflow protocol, section 5).

They act on what every agent is shown, the approved work, the journal and the answers, and never on the support. Each
does the approved work in order; they differ in what they do about a request that nobody knows the end of:

- ``give-up`` hands the case off, or stops where there is nobody;
- ``retry`` sends it again under a new key, and says completed;
- ``retry-same-key`` sends it again under the key it had, and says completed;
- ``look-first`` asks whether it is done, sends it again if the answer does not show it, and says completed; where it
  cannot be asked it hands off;
- ``advised`` does what it is advised. Without advice it goes by the evidence: it sends what is certainly not done, asks
  once about what is not known and then takes it for done. Told nothing it is ``look-first``.

``settled`` and ``accepted`` are taken for done, in the journal too, but ``look-first`` looks where it has a receipt
alone. What was rejected or got no answer is sent three times at most. A refused proposal ends what they try; they hand
off then.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from pytest_episem.agents import PREFIX
from pytest_episem.episode import Call, Episode
from pytest_episem.errors import EpisemError
from pytest_episem.workflows.actions import Action, Attempt, Batch, Compensate, Finish, HandOff, Query
from pytest_episem.workflows.players import STOPPED
from pytest_episem.workflows.recovery import Recovery, recovery_of
from pytest_episem.workflows.tools import unused_key

SENDS = 3
"""How often one piece of work is sent at most."""


class Script:
    """One scripted agent in one case.

    Attributes:
        known: what the journal and the answers say of each piece of work: whether it is to be undone, the last answer
            and the last key.
    """

    def __init__(self, name: str, episode: Episode) -> None:
        self.world: Recovery = recovery_of(episode, PREFIX + name)
        self.episode = episode
        self.template = self.world.model.template
        self.shown: dict[str, Any] = {}
        self.known: dict[str, tuple[bool, str, str]] = {}
        for past in self.template.requests:
            for work in past.does:
                self.known[work] = (past.undoes, past.answer, past.item_key(work))

    def propose(self, action: Action) -> str | None:
        """Make a proposal through its tool and return the answer; ``None`` where it was refused, or it is over."""
        return self.call(self.world.call_for(action))

    def call(self, call: Call) -> str | None:
        """The same for a call that stands already."""
        for observation in self.episode.turn([call]):
            self.shown = observation.content
            return self.shown.get("answer", "") if "refused" not in self.shown and "error" not in self.shown else None
        return None

    def work(self, same_key: bool = False, look: bool = False, send: bool = True) -> None:
        """Do the approved work in order, then claim that it is done; or hand off."""
        for works in self.world.batches:
            key = unused_key(self.world.belief, "batch")
            answer = self.propose(Batch(works, key))
            if answer is not None:
                self.known |= {work: (False, _word(answer), f"{key}/{work}") for work in works}
        if all(self._done(work, same_key, look, send) for work in self.template.obligations):
            self.propose(Finish(self.template.ends[0]))
        self.hand_off()

    def _done(self, work: str, same_key: bool, look: bool, send: bool) -> bool:
        """See one piece of work done, as far as the agent can tell."""
        undo, word, key = self.known.get(work, (False, "", ""))
        for _ in range(SENDS):
            if word == "settled" or (word == "accepted" and not look):
                return True
            if word and not send:
                return False
            if word and look:
                found = self.ask(work, undo)
                if found is not False:
                    return found is True
            answer = self._send(work, undo, key if same_key else "")
            if answer is None:
                return False
            key = self.shown.get("idempotency_key", key)
            word = "settled" if _word(answer) == "accepted" else _word(answer)
        return not look

    def _send(self, work: str, undo: bool, key: str) -> str | None:
        kind = Compensate if undo else Attempt
        return self.propose(kind(work, key or unused_key(self.world.belief, work)))

    def ask(self, work: str, undone: bool = False) -> bool | None:
        """Return whether a question shows that a piece of work is done; ``None`` where nobody can be asked."""
        try:
            answer = self.propose(Query(work))
        except EpisemError:
            return None
        if answer is None:
            return None
        shown = answer.startswith("count ") and answer != "count 0"
        return (shown or "settled" in answer) != undone

    def hand_off(self) -> None:
        """End without a claim, if it has not ended."""
        if not self.episode.ended and self.template.handoff is not None:
            self.propose(HandOff(tuple(work for work, (_, word, _) in self.known.items() if word != "settled")))
        if not self.episode.ended:
            self.episode.finish(STOPPED)

    # Told more ------------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Do what is advised; without advice go by the evidence, and told nothing by looking."""
        self.shown = _told(self.world.goal)
        if not self.shown:
            self.work(look=True)
        asked, sent = set[str](), Counter[str]()
        while not self.episode.ended:
            advice = self.shown.get("advice")
            if advice is None:
                self._by_evidence(asked, sent)
            elif "tool" in advice:
                self.call(Call(advice["tool"], advice["arguments"]))
            else:
                self.episode.finish(advice["last_message"])

    def _by_evidence(self, asked: set[str], sent: Counter[str]) -> None:
        told = self.shown.get("evidence", [])
        for work in self.template.obligations:
            if work in _named(told, "Certainly not done as things stand"):
                sent[work] += 1
                if sent[work] > SENDS or self._send(work, False, "") is None:
                    self.hand_off()
                return
            if work in _named(told, "Not known whether done") and work not in asked:
                asked.add(work)
                self.ask(work)
                return
        if self.propose(Finish(self.template.ends[0])) is None:
            self.hand_off()


def _word(answer: str) -> str:
    return answer.split(" ")[0]


def _told(goal: str) -> dict[str, Any]:
    """What stands beside the request, as it stands beside answers."""
    found: dict[str, Any] = {}
    _, known, rest = goal.partition("Known from this:\n")
    if known:
        found["evidence"] = [line.removeprefix("- ") for line in rest.partition("\n\n")[0].splitlines()]
    _, recommended, advice = goal.partition("Recommended next: ")
    if recommended:
        found["advice"] = json.loads(advice)
    return found


def _named(lines: list[str], heading: str) -> list[str]:
    """The pieces of work that a line of evidence names."""
    line = next((line for line in lines if line.startswith(f"{heading}: ")), "")
    return re.split(r", | and ", line.removeprefix(f"{heading}: ").removesuffix("."))


_WAYS: Mapping[str, Callable[[Script], None]] = {
    "give-up": lambda script: script.work(send=False),
    "retry": lambda script: script.work(),
    "retry-same-key": lambda script: script.work(same_key=True),
    "look-first": lambda script: script.work(look=True),
    "advised": lambda script: script.follow(),
}


def _play(name: str, episode: Episode) -> None:
    _WAYS[name](Script(name, episode))


SCRIPTS: Mapping[str, Callable[[Episode], None]] = {name: functools.partial(_play, name) for name in _WAYS}
"""By name without prefix."""
