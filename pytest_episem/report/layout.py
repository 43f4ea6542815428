"""What every page of the command line is made of: headings, prose, rows, tables. Nothing here knows any data.

All text is escaped on its way in, and no markup is ever read from it: banks and records are not to be trusted.
Pages are laid out for a width, or for none (a pipe), where nothing wraps and every line stays whole.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pytest_episem.text import escaped

PROSE = 100
"""Columns at most for running text; longer lines are hard to read."""
_UNBOUNDED = 100_000

HEADING = "bold cyan"
LABEL = "dim"
GOOD, BAD, NOTE = "green", "red", "yellow"

Cell = Text | str
Justify = Literal["left", "right"]


def text(value: object, style: str = "") -> Text:
    """Return ``value`` as text with control characters escaped; its line ends stay."""
    return Text("\n".join(escaped(line) for line in str(value).split("\n")), style=style)


def json_text(value: Any, style: str = "", indent: int | None = None) -> Text:
    """Return ``value`` as readable JSON, escaped."""
    return text(json.dumps(value, ensure_ascii=False, indent=indent), style)


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 pair``, ``3,352 pairs``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def heading(words: str) -> RenderableType:
    """Return a section's heading with an empty line before it."""
    return Padding(text(words, HEADING), (1, 0, 0, 0), expand=False)


def indented(block: RenderableType, by: int = 2) -> RenderableType:
    """Return a block moved to the right."""
    return Padding(block, (0, 0, 0, by), expand=False)


def rows(pairs: Iterable[tuple[Cell, Cell]], by: int = 2, label_width: int = 0) -> RenderableType:
    """Return labels with what belongs to them; long values wrap under themselves."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=label_width or None)
    grid.add_column(overflow="fold")
    for label, value in pairs:
        grid.add_row(_cell(label, LABEL), _cell(value))
    return Capped(indented(grid, by), PROSE + by)


def table(
    columns: Sequence[tuple[str, Justify]], lines: Iterable[Sequence[Cell]], by: int = 2, whole_names: bool = False
) -> RenderableType:
    """Return a table without lines whose last column may wrap, and the first one where nothing else helps; with
    ``whole_names`` the last one alone."""
    found = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=LABEL)
    for number, (name, justify) in enumerate(columns):
        may_wrap = number == len(columns) - 1 or (number == 0 and not whole_names)
        found.add_column(text(name), justify=justify, no_wrap=not may_wrap, overflow="fold")
    for line in lines:
        found.add_row(*(_cell(cell) for cell in line))
    return indented(found, by)


def page(*blocks: RenderableType) -> Group:
    """Return the blocks one under the other."""
    return Group(*blocks)


def prose(words: Cell, by: int = 2) -> RenderableType:
    """Return running text, wrapped at a readable width."""
    return Capped(indented(_cell(words), by), PROSE + by)


def _cell(cell: Cell, style: str = "") -> Text:
    return text(cell, style) if isinstance(cell, str) else cell


class Capped:
    """A block that gets no more than ``width`` columns, unless the page is laid out for none."""

    def __init__(self, block: RenderableType, width: int) -> None:
        self.block = block
        self.width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unbounded = options.max_width >= _UNBOUNDED // 2
        yield self.block if unbounded else Constrain(self.block, self.width)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.block)


def render(block: RenderableType, width: int | None, colour: bool) -> str:
    """Return a page as text, each line ended. ``width`` ``None`` never wraps; no ``colour``, no escapes."""
    console = Console(
        file=io.StringIO(),
        width=width or _UNBOUNDED,
        force_terminal=colour,
        no_color=not colour,
        color_system="auto" if colour else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as captured:
        console.print(block)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().rstrip("\n").split("\n"))
