"""What an agent is told beside the answers (workflow protocol, section 5).

``evidence`` puts into words what follows from the contracts and the answers so far: what is certain, and what is still
open. ``advice`` adds the next action that a controller recommends, as the call that means it, and why. Both say what
follows from what is public, in the same words whatever is true; what the providers promise stands in the tools.
"""

from __future__ import annotations

from typing import Any

from pytest_episem.episode import Call
from pytest_episem.text import dump_json
from pytest_episem.workflows.actions import Action, Attempt, Compensate, Finish, HandOff, Query, Revalidate, Stop, Wait
from pytest_episem.workflows.certificate import unknown_obligations
from pytest_episem.workflows.controllers import CONTROLLERS, Controller, make_controller
from pytest_episem.workflows.controllers.base import lacking
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.tools import Toolbox
from pytest_episem.workflows.words import counted, listed, unknown_texts

NONE, EVIDENCE, ADVICE = "none", "evidence", "advice"
ADVISER = "joint"
"""Who advises where nobody is named."""

GUIDANCE = (NONE, EVIDENCE, ADVICE, *(f"{ADVICE}:{name}" for name in CONTROLLERS if name != "stop"))
"""How every kind is written."""


def spelled(guidance: str) -> str:
    """Return a kind of guidance in full: ``advice`` names its controller."""
    return f"{ADVICE}:{ADVISER}" if guidance == ADVICE else guidance


class Guide:
    """Words beside the answers, of one kind, for one case.

    Raises:
        UnknownName: there is no such controller.
    """

    def __init__(self, guidance: str, model: Model, toolbox: Toolbox) -> None:
        kind, _, adviser = spelled(guidance).partition(":")
        self._silent = kind == NONE
        self.model = model
        self._toolbox = toolbox
        self._adviser: Controller | None = make_controller(adviser, model) if kind == ADVICE else None

    def beside(self, belief: Belief) -> dict[str, Any]:
        """Return what stands beside an answer: nothing, ``evidence``, or ``evidence`` and ``advice``."""
        if self._silent:
            return {}
        told: dict[str, Any] = {"evidence": evidence(self.model, belief)}
        if self._adviser is not None:
            told["advice"] = self._advice(belief, self._adviser.choose(belief))
        return told

    def _advice(self, belief: Belief, action: Action) -> dict[str, Any]:
        reason = {"reason": _reason(self.model, belief, action)}
        if isinstance(action, Stop):
            return {"last_message": "Disposition: stopped", **reason}
        call: Call = self._toolbox.call(action)
        return {"tool": call.name, "arguments": call.arguments, **reason}


def guidance_texts(beside: dict[str, Any]) -> list[str]:
    """Return the same as parts of the request, for an agent that has called nothing yet."""
    found = []
    if "evidence" in beside:
        found.append("\n".join(["Known from this:", *(f"- {line}" for line in beside["evidence"])]))
    if "advice" in beside:
        found.append(f"Recommended next: {dump_json(beside['advice'])}")
    return found


def evidence(model: Model, belief: Belief) -> list[str]:
    """Return what is certain and what is open, a line for each."""
    template = model.template
    worlds = [model.worlds[world] for world, _ in belief.members]
    lacks = lacking(model, belief)
    done = [name for name in template.obligations if name not in lacks]
    missing = [name for name in lacks if not any(run.good(name, template.deadline) for _, run in belief.members)]
    unknown = [name for name in lacks if name not in missing]
    twice = [name for name in missing if all(run.count(name, template.deadline) > 1 for _, run in belief.members)]
    missing = [name for name in missing if name not in twice]
    found = [f"It is t{belief.time}."]
    found += [f"Certainly done, or certain to be: {listed(done)}."] if done else []
    found += [f"Certainly not done as things stand: {listed(missing)}."] if missing else []
    found += [f"Certainly done more than once: {listed(twice)}."] if twice else []
    found += [f"Not known whether done: {listed(unknown)}."] if unknown else []
    return found + [f"Open: {line}." for line in unknown_texts(template, worlds)]


def _reason(model: Model, belief: Belief, action: Action) -> str:
    left = "the one possibility left" if len(belief) == 1 else f"each of the {len(belief)} possibilities left"
    if isinstance(action, Finish):
        return f"The claim {action.claim} holds in {left}."
    if isinstance(action, HandOff):
        open_ = listed(unknown_obligations(model, belief)) or "nothing"
        return f"No end can be claimed with certainty any more; not known whether done: {open_}."
    if isinstance(action, Stop):
        return "No end can be claimed with certainty any more, and there is nobody to hand the case to."
    if isinstance(action, Wait):
        return f"Nothing that is sent now would help; after {counted(action.instants, 'instant')} more is certain."
    if isinstance(action, Query):
        answers = len(model.step(belief, action))
        return f"The question does nothing, and its answer tells apart what is open: {answers} answers are possible."
    what = {Attempt: "Sending this", Compensate: "Undoing this", Revalidate: "This renewal"}[type(action)]
    return f"{what} does no harm in {left}, and the work needs it."
