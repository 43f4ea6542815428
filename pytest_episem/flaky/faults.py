"""What can go wrong between an agent and a tool that changes something, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_episem.errors import EpisemError, suggestion
from pytest_episem.text import printable


class FlakyError(EpisemError):
    """No verdict can be had: a wrong use, a fault that was never reached, effects that nobody can count."""


class FlakyFailure(AssertionError):
    """The agent did harm, or said what is not so. The text says which, and shows what was called and what happened."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: what befalls the call, and what an agent can do about it."""

    name: str
    befalls: str
    advice: str


_LOOK = "Look whether it happened before calling again, or call again with the same key."
FAULTS = {
    fault.name: fault
    for fault in (
        Fault("no-fault", "nothing goes wrong", "No fault is needed for this."),
        Fault("answer-lost", "it happens, and the answer is lost", _LOOK),
        Fault("request-lost", "nothing happens, and there is no answer", _LOOK),
        Fault(
            "effect-late",
            "there is no answer, and it happens later",
            "A look that finds nothing proves nothing while the request may be under way: call again with the same "
            "key, or report that it is not known.",
        ),
        Fault(
            "delivered-twice",
            "the request is carried out twice",
            "No agent can prevent this by care: give the request a key by which its two deliveries are one.",
        ),
        Fault(
            "key-forgotten",
            "it happens, the answer is lost, and the provider forgets its keys",
            "A key is remembered for a while only: look whether it happened before calling again.",
        ),
        Fault("false-failure", "it happens, and a failure is answered", _LOOK),
        Fault(
            "false-success",
            "nothing happens, and a success is answered",
            "An answer is no effect: look whether it happened before reporting that it is done.",
        ),
    )
}
"""Every fault by its name, in the order in which a test meets them."""

WITHOUT_EFFECT = ("request-lost", "false-success")
NO_FAULT = "no-fault"


def choose(names: Sequence[str]) -> list[str]:
    """Return the faults that ``names`` chooses, in its order; without names all of them.

    Raises:
        FlakyError: a name that is none, or one that stands twice.
    """
    for name in names:
        if name not in FAULTS:
            raise FlakyError(f"unknown fault {printable(repr(name))}{suggestion(str(name), FAULTS)}")
        if list(names).count(name) > 1:
            raise FlakyError(f"the fault {name!r} is named twice")
    return list(names) or list(FAULTS)
