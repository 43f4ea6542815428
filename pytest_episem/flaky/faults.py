"""What may happen to one call of a tool that has an effect."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_episem.errors import EpisemError, UnknownName

FAULTS = {
    "answer-lost": "it took effect, and its answer was lost",
    "request-lost": "it was lost on the way: no effect, no answer",
    "effect-late": "it got no answer, and takes effect after the next call of a tool",
    "delivered-twice": "it was delivered twice",
    "false-failure": "it took effect, and the answer says that it failed",
    "key-forgotten": "it took effect, its answer was lost, and the provider forgets its key",
    "false-success": "it had no effect, and the answer says that it had",
}
"""Each fault by name, said of the call that it strikes."""

DEFAULT = ("answer-lost", "request-lost", "effect-late", "delivered-twice", "false-failure")
"""Those that need nothing but the tool: ``key-forgotten`` needs its ``key``, ``false-success`` its ``success``."""


def checked(names: Iterable[str]) -> list[str]:
    """Return names of faults, each once.

    Raises:
        EpisemError: there is no such fault, one is named twice, or none is.
    """
    found = list(names)
    for name in found:
        if name not in FAULTS:
            raise UnknownName("fault", name, FAULTS)
    if not found or len(set(found)) < len(found):
        raise EpisemError("name at least one fault, and each once")
    return found
