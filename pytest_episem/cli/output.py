"""Where pages go: standard output, laid out for the terminal, or plain and unwrapped for a pipe."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType


class OutputClosed(Exception):
    """Whoever read our output has closed it, as ``head`` does."""


def on_terminal(stream: Any) -> bool:
    """Return whether a stream is a terminal; what stands in for one may not be able to tell."""
    return bool(getattr(stream, "isatty", bool)())


def colour() -> bool:
    """Return whether to colour: on a terminal, unless ``NO_COLOR`` is set; ``FORCE_COLOR`` asks for it in a pipe."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or on_terminal(sys.stdout)


def width() -> int | None:
    """Return the columns to lay out for: ``COLUMNS``, else the terminal's, else none (a pipe)."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return shutil.get_terminal_size().columns if on_terminal(sys.stdout) else None


def unicode() -> bool:
    """Return whether standard output takes any character; where it does not, plain ASCII stands in for bars."""
    return (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "").startswith("utf")


def write(text: str, error: bool = False) -> None:
    """Write text as it is.

    Raises:
        OutputClosed: nobody reads any more.
    """
    try:
        click.echo(text, nl=False, err=error, color=True if not error and colour() else None)
    except BrokenPipeError:
        raise OutputClosed from None


def show(page: RenderableType) -> None:
    """Write a page."""
    from pytest_episem.report.layout import render

    write(render(page, width(), colour()))


def show_json(value: Any) -> None:
    """Write a value as JSON, in ASCII, so that it survives any encoding."""
    write(json.dumps(value, indent=2) + "\n")
