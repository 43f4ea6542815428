"""The files that a finished run leaves beside its records."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from pytest_episem.errors import UnknownName
from pytest_episem.metrics.summary import Summary
from pytest_episem.records.run_dir import Run


class ReportFile(NamedTuple):
    """One kind of report: its file's name, and what makes its text of a run and the run's numbers."""

    name: str
    make: Callable[[Run, Summary], str]


def _json(run: Run, summary: Summary) -> str:
    return json.dumps(summary.to_dict(), indent=2, allow_nan=False) + "\n"


FORMATS: dict[str, ReportFile] = {
    "json": ReportFile("report.json", _json),
}
"""By the name that ``--format`` takes. A further report is one more line here."""


def write_reports(run: Run, summary: Summary, directory: Path, formats: Iterable[str] = tuple(FORMATS)) -> list[Path]:
    """Write the reports named into ``directory``, made if missing, each in one step; return their paths.

    Raises:
        UnknownName: there is no such format.
        OSError: the directory cannot be written to.
    """
    written: list[Path] = []
    for name in formats:
        if name not in FORMATS:
            raise UnknownName("report format", name, FORMATS)
        file = FORMATS[name]
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / file.name
        draft = path.with_name(f"{path.name}.part")
        draft.write_text(file.make(run, summary), encoding="utf-8", newline="\n")
        os.replace(draft, path)
        written.append(path)
    return written
