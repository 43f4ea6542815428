"""Every table as CSV: one file a table, an estimate spread over its value, interval, numerator and coverage."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_episem.report.tables import Cell, Table
from pytest_episem.scrub import without_known_secrets
from pytest_episem.text import escaped
from pytest_episem.verdicts.intervals import Estimate

FOLDER = "tables"
_PARTS = ("", "_low", "_high", "_numerator", "_denominator", "_coverage")


def write_csv(tables: Sequence[Table], directory: Path) -> list[Path]:
    """Write ``tables/<table>.csv`` below ``directory``; return the paths.

    Numbers stand unrounded; what is unknown is an empty field. The columns of an estimate are its key and the key
    with ``_low``, ``_high``, ``_numerator``, ``_denominator`` and ``_coverage``.
    """
    folder = directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in tables:
        path = folder / f"{table.key}.csv"
        path.write_text(without_known_secrets(csv_text(table)), encoding="utf-8", newline="")
        paths.append(path)
    return paths


def csv_text(table: Table) -> str:
    """Return one table as CSV with a header line and ``\\n`` line ends."""
    spread = [any(isinstance(row[place], Estimate) for row in table.rows) for place in range(len(table.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header: list[str] = []
    for column, wide in zip(table.columns, spread, strict=True):
        header += [_plain(f"{column.key}{part}") for part in (_PARTS if wide else ("",))]
    writer.writerow(header)
    for row in table.rows:
        writer.writerow([field for cell, wide in zip(row, spread, strict=True) for field in _fields(cell, wide)])
    return out.getvalue()


def _fields(cell: Cell, wide: bool) -> Iterator[str]:
    if isinstance(cell, Estimate):
        low, high = cell.interval or (None, None)
        for part in (cell.value, low, high, cell.numerator, cell.denominator, cell.coverage):
            yield _plain(part)
        return
    yield _plain(cell)
    if wide:
        yield from [""] * (len(_PARTS) - 1)


def _plain(value: float | str | None) -> str:
    """A field's text. What a spreadsheet would take for a formula is led by an apostrophe."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = escaped(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
