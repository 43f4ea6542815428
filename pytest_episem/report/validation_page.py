"""The pages of ``episem validate``: the problems of a bank, its counts, and the table of codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pytest_episem.bank import Problem
from pytest_episem.report.layout import BAD, GOOD, NOTE, Cell, Justify, counted, heading, page, prose, rows, table, text
from pytest_episem.validate import Code, Count, Report

CODES_SCHEMA = "episem.codes/1"
VALIDATION_SCHEMA = "episem.validation/1"

_COUNTS: list[tuple[str, Justify]] = [
    ("domain", "left"),
    ("families", "right"),
    ("pairs", "right"),
    ("critical", "right"),
    ("irrelevant", "right"),
    ("masks", "right"),
]


def validation_dict(report: Report) -> dict[str, Any]:
    """Return the JSON form, schema ``episem.validation/1``."""
    return {"schema": VALIDATION_SCHEMA, **report.to_dict()}


def validation_page(report: Report) -> RenderableType:
    """Return every problem, how many each code has, the counts and the verdict."""
    return page(*(_problem(problem) for problem in report.problems), *_codes_found(report), *_counts(report))


def _problem(problem: Problem) -> RenderableType:
    where = ": ".join(part for part in (problem.file, problem.instance, problem.field) if part)
    return Text.assemble(text(where, "bold"), ": ", text(problem.message), " ", text(f"[{problem.code}]", NOTE))


def _codes_found(report: Report) -> list[RenderableType]:
    if report.ok:
        return []
    return [heading("Problems by code"), rows([(code, f"{number:,}") for code, number in report.codes.items()])]


def _counts(report: Report) -> list[RenderableType]:
    counts = report.counts
    lines = [_count_line(name, count) for name, count in counts.domains.items()]
    if len(lines) > 1:
        lines.append(_count_line("all", counts.total))
    found = counted(len(report.problems), "problem")
    verdict = text("no problems", GOOD) if report.ok else text(found, BAD)
    blocks: list[RenderableType] = [
        heading("Counts"),
        table(_COUNTS, lines),
        prose("masks: nonempty sets of critical facts, the sum of 2^c - 1 over the pairs"),
        heading("Pairs by number of critical facts"),
        table(
            [("critical facts", "left"), *((str(size), "right") for size in counts.cardinality)],
            [["pairs", *(f"{pairs:,}" for pairs in counts.cardinality.values())]],
        ),
    ]
    identity = rows([("bank", f"{report.bank} {report.version}"), ("sha256", report.hash)], by=0)
    return [*(blocks if counts.total.pairs else []), text(""), identity, verdict]


def _count_line(name: str, count: Count) -> list[Cell]:
    numbers = (count.families, count.pairs, count.critical, count.irrelevant, count.masks)
    return [name, *(f"{number:,}" for number in numbers)]


def codes_page(codes: Iterable[Code]) -> RenderableType:
    """Return the table of codes."""
    columns: list[tuple[str, Justify]] = [("code", "left"), ("row", "right"), ("what it refuses", "left")]
    return table(columns, [[text(code.name, "bold"), str(code.row), _meaning(code)] for code in codes], by=0)


def _meaning(code: Code) -> str:
    return code.meaning + (" A signed review completes the check." if code.human else "")


def codes_dict(codes: Iterable[Code]) -> dict[str, Any]:
    """Return the table of codes in its JSON form, schema ``episem.codes/1``."""
    return {"schema": CODES_SCHEMA, "codes": [asdict(code) for code in codes]}
