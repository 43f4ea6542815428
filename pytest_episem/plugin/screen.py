"""What the terminal's reporter can do. Others may stand in its place, and their files may be no more than ``write``."""

from __future__ import annotations

from typing import Any

_WIDTH = 80
"""Columns to lay out for where nobody can tell how many there are."""


def watched(reporter: Any) -> bool:
    """Return whether somebody may be looking while the session runs, and wants to be told."""
    found = getattr(reporter, "isatty", False)  # a value in some versions of pytest, and in others a method too
    return bool(found() if callable(found) else found) and verbosity(reporter) >= 0 and hasattr(reporter, "_tw")


def verbosity(reporter: Any) -> int:
    """Return how much the reporter is to say, 0 by default."""
    found = getattr(reporter, "verbosity", 0)
    return found if isinstance(found, int) else 0


def drawing(reporter: Any) -> tuple[int, bool, int, bool]:
    """Return what a page of the terminal is laid out by: columns, colours, verbosity, and whether it takes any
    character."""
    writer = getattr(reporter, "_tw", None)
    width, encoding = getattr(writer, "fullwidth", None), getattr(getattr(writer, "_file", None), "encoding", None)
    unicode = isinstance(encoding, str) and encoding.lower().startswith("utf")
    columns = width if isinstance(width, int) and width > 0 else _WIDTH
    return columns, bool(getattr(reporter, "hasmarkup", False)), verbosity(reporter), unicode


def end_line(reporter: Any) -> None:
    """End the line that stands open: with ``-q`` that of the dots."""
    getattr(reporter, "ensure_newline", lambda: None)()
    if getattr(getattr(reporter, "_tw", None), "width_of_current_line", 0):
        reporter.write_line("")
