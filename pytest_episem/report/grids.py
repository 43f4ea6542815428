"""Tables and bars for a terminal of a given width, as the summaries of both suites draw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from pytest_episem.report import words
from pytest_episem.report.layout import BAD, LABEL, render, text
from pytest_episem.report.tables import Cell, Column, Table
from pytest_episem.verdicts.intervals import Estimate

LEAST_WIDTH = 60
QUIET, NORMAL, EVERYTHING = -1, 0, 1
BAR = 24
_ASCII = str.maketrans({"█": "#", "░": ".", "—": "-", "↑": "^", "↓": "v", "→": ">", "·": "|", "…": "~"})
_WIDEST = 36
"""Columns that a cell of words takes at most where tables are cut in pieces."""


def laid_out(block: RenderableType, width: int, colour: bool, unicode: bool) -> list[str]:
    """Return a block line by line; without ``unicode`` in ASCII."""
    page = render(block, width, colour)
    return (page if unicode else page.translate(_ASCII)).splitlines()


def spaced(block: RenderableType) -> RenderableType:
    """Return a block with an empty line before it."""
    return Padding(block, (1, 0, 0, 0), expand=False)


def meter(value: float | None, width: int, style: str) -> Text:
    """Return a bar for 0 to 100 percent; nothing for no value."""
    if value is None:
        return Text("")
    filled = round(width * min(max(value, 0.0), 100.0) / 100)
    if value > 0:
        filled = max(filled, 1)
    return Text.assemble(("█" * filled, style), ("░" * (width - filled), LABEL))


def empty_grid(columns: Sequence[Column]) -> Grid:
    """Return an empty table. Where room is scarce the words give way, never a figure."""
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=LABEL)
    for column in columns:
        if column.unit == "text":
            grid.add_column(text(column.title), overflow="fold", min_width=min(len(column.title), 7))
        else:
            grid.add_column(text("\n".join(column.brief.split())), justify="right", no_wrap=True)
    return grid


def starred(found: Estimate, unit: words.Unit = "%") -> Text:
    """Return an estimate's value, with a star where its coverage is not complete."""
    value = Text(words.value(found, unit))
    if found.coverage < 1:
        value.append("*", style=BAD)
    return value


def plain_cell(value: Cell, column: Column | None = None) -> Text:
    """Return a cell's text; an estimate with its interval."""
    if isinstance(value, Estimate):
        unit = column.unit if column else "%"
        return Text.assemble(words.value(value, unit), (f" {words.interval(value, unit)}", LABEL))
    if isinstance(value, str):
        return text(value)
    return Text(words.number(value, column.unit if column else "count"))


def one_run_table(table: Table, width: int) -> RenderableType:
    """Return a table of one run, whose name it leaves out: as a grid, or where that has no room or only one row, its
    rows as lists."""
    title = text(table.title, "bold")
    columns, rows = table.columns[1:], [row[1:] for row in table.rows]
    if table.heads == 1:
        return Group(title, _list(columns, rows[0]))
    if width < 22 + 7 * (len(columns) - table.heads + 1):
        lists = (Padding(_list(columns, row), (0, 0, 1, 0), expand=False) for row in rows)
        return Group(title, *lists)
    grid = empty_grid(columns)
    for row in rows:
        cells = zip(columns, row, strict=True)
        grid.add_row(
            *(starred(cell) if isinstance(cell, Estimate) else plain_cell(cell, column) for column, cell in cells)
        )
    return Group(title, grid)


def _list(columns: Sequence[Column], row: Sequence[Cell]) -> RenderableType:
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for column, cell in zip(columns, row, strict=True):
        grid.add_row(text(column.title), plain_cell(cell, column))
    return grid


def pieces(table: Table, width: int) -> Iterator[RenderableType]:
    """Yield a table in as many pieces as its width needs; each begins with the columns that name a row."""
    heads = list(range(table.heads))
    least = sum(_needed(table, place) for place in heads)
    piece: list[int] = []
    room = width - least
    for place in range(table.heads, len(table.columns)):
        needed = _needed(table, place)
        if piece and needed > room:
            yield _piece(table, [*heads, *piece])
            piece, room = [], width - least
        piece.append(place)
        room -= needed
    yield _piece(table, [*heads, *piece])


def _needed(table: Table, place: int) -> int:
    column = table.columns[place]
    titles = [column.title] if column.unit == "text" else column.brief.split()
    cells = [_shown(row[place], column).plain for row in table.rows]
    return min(max(map(len, [*titles, *cells])), _WIDEST) + 2


def _shown(cell: Cell, column: Column) -> Text:
    return starred(cell, column.unit) if isinstance(cell, Estimate) else plain_cell(cell, column)


def _piece(table: Table, places: Sequence[int]) -> RenderableType:
    columns = [table.columns[place] for place in places]
    grid = empty_grid(columns)
    for row in table.rows:
        grid.add_row(*(_shown(row[place], table.columns[place]) for place in places))
    return grid
