"""Faults that a user can mend. Every message is one line: what is wrong, where, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class EpisemError(Exception):
    """Base of every fault whose text is meant for the user; the faces print it without a traceback."""


class NoJudgement(EpisemError):
    """A world that gives no verdict on what was done: not the agent's business, and never an outcome."""


class UnknownName(EpisemError):
    """A name that does not exist, with the allowed ones or the nearest."""

    def __init__(self, what: str, name: str, allowed: Iterable[str]) -> None:
        super().__init__(f"unknown {what} {name!r}{suggestion(name, allowed)}")


def first_cause(error: BaseException) -> BaseException:
    """Return what an exception group was raised for first; any other exception is returned as it is."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def worded(error: BaseException) -> str:
    """Return an exception's class and message, of a group those of its first cause. Never fails, whatever it holds."""
    error = first_cause(error)
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be shown)"
    return f"{name}: {message}" if message else name


def suggestion(name: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for a near miss, else the allowed names when they are few, else ``""``."""
    names = sorted(set(allowed))
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    if names and len(names) <= 12:
        return f"; allowed: {', '.join(names)}"
    return ""
