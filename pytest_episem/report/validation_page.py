"""The pages of ``episem validate``: the problems of a bank, its counts, and the table of codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.validate import Code, Count, Report
from pytest_episem.report.layout import BAD, GOOD, NOTE, Cell, Justify, counted, heading, page, prose, rows, table, text
from pytest_episem.workflows.bank.validate import WorkflowReport

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
_WORKFLOWS: list[tuple[str, Justify]] = [
    ("domain", "left"),
    ("workflows", "right"),
    ("worlds", "right"),
    ("largest", "right"),
]


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found in a bank: a report for each suite that was checked, at least one."""

    bank: str
    version: str
    evidence: Report | None
    workflows: WorkflowReport | None

    @property
    def problems(self) -> list[Problem]:
        """The problems of both suites."""
        return [problem for report in (self.evidence, self.workflows) if report for problem in report.problems]


def validation_dict(found: Validation) -> dict[str, Any]:
    """Return the JSON form, schema ``episem.validation/1``: ``problems`` are those of both suites."""
    evidence = found.evidence.to_dict() if found.evidence else {"bank": found.bank, "version": found.version}
    workflows = {"workflows": found.workflows.to_dict()} if found.workflows else {}
    problems = [asdict(problem) for problem in found.problems]
    return {"schema": VALIDATION_SCHEMA, **evidence, "ok": not problems, "problems": problems, **workflows}


def validation_page(found: Validation) -> RenderableType:
    """Return every problem, how many each code has, the counts and the verdict."""
    problems = found.problems
    codes = Counter(problem.code for problem in problems)
    blocks: list[RenderableType] = [_problem(*alike) for alike in _alike(problems)]
    if codes:
        blocks += [heading("Problems by code"), rows([(code, f"{number:,}") for code, number in codes.items()])]
    blocks += _counts(found.evidence) if found.evidence and found.evidence.counts.total.pairs else []
    blocks += _workflows(found.workflows) if found.workflows and found.workflows.worlds else []
    return page(*blocks, text(""), _identity(found), _verdict(found, len(problems)))


def _alike(problems: Iterable[Problem]) -> Iterable[tuple[Problem, list[str]]]:
    """Return the problems, those that differ in the instance alone as one, with their instances."""
    found: dict[Problem, list[str]] = {}
    for problem in problems:
        found.setdefault(replace(problem, instance=""), []).append(problem.instance)
    return found.items()


def _problem(problem: Problem, instances: Sequence[str]) -> RenderableType:
    where = ": ".join(part for part in (problem.file, ", ".join(filter(None, instances)), problem.field) if part)
    return Text.assemble(text(where, "bold"), ": ", text(problem.message), " ", text(f"[{problem.code}]", NOTE))


def _identity(found: Validation) -> RenderableType:
    hashes: list[tuple[Cell, Cell]] = [("bank", f"{found.bank} {found.version}")]
    if found.evidence:
        hashes.append(("sha256", found.evidence.hash))
    if found.workflows:
        hashes.append(("sha256 of workflows" if found.evidence else "sha256", found.workflows.hash))
    return rows(hashes, by=0)


def _verdict(found: Validation, problems: int) -> RenderableType:
    """The last line: the verdict, and where there is an workflow suite what of each suite it speaks of."""
    verdict = text(counted(problems, "problem"), BAD) if problems else text("no problems", GOOD)
    if not found.workflows:
        return verdict
    pairs = found.evidence.counts.total.pairs if found.evidence else 0
    parts = [f"evidence suite: {counted(pairs, 'pair')}"] if found.evidence else []
    cases = counted(found.workflows.assignments, "case")
    parts.append(f"workflow suite: {counted(found.workflows.templates, 'workflow')} with {cases}")
    return Text.assemble(verdict, text(f" ({'; '.join(parts)})"))


def _counts(report: Report) -> list[RenderableType]:
    counts = report.counts
    lines = [_count_line(name, count) for name, count in counts.domains.items()]
    if len(lines) > 1:
        lines.append(_count_line("all", counts.total))
    return [
        heading("Counts"),
        table(_COUNTS, lines),
        prose("masks: nonempty sets of critical facts, the sum of 2^c - 1 over the pairs"),
        heading("Pairs by number of critical facts"),
        table(
            [("critical facts", "left"), *((str(size), "right") for size in counts.cardinality)],
            [["pairs", *(f"{pairs:,}" for pairs in counts.cardinality.values())]],
        ),
    ]


def _workflows(report: WorkflowReport) -> list[RenderableType]:
    domains: dict[str, list[int]] = {}
    for name, worlds in report.worlds.items():
        domains.setdefault(name.split("/")[0], []).append(worlds)
    lines = [[name, str(len(sizes)), str(sum(sizes)), str(max(sizes))] for name, sizes in domains.items()]
    sizes = list(report.worlds.values())
    lines += [["all", str(len(sizes)), str(sum(sizes)), str(max(sizes))]] if len(lines) > 1 else []
    return [heading("Workflows of the workflow suite"), table(_WORKFLOWS, lines)]


def _count_line(name: str, count: Count) -> list[Cell]:
    numbers = (count.families, count.pairs, count.critical, count.irrelevant, count.masks)
    return [name, *(f"{number:,}" for number in numbers)]


def codes_page(codes: Iterable[Code], workflows: Mapping[str, str]) -> RenderableType:
    """Return the table of codes, and that of the workflow suite's."""
    columns: list[tuple[str, Justify]] = [("code", "left"), ("row", "right"), ("what it refuses", "left")]
    return page(
        table(columns, [[text(code.name, "bold"), str(code.row), _meaning(code)] for code in codes], by=0),
        heading("Codes of the workflow suite"),
        rows([(text(name, "bold"), meaning) for name, meaning in workflows.items()], by=0),
    )


def _meaning(code: Code) -> str:
    return code.meaning + (" A signed review completes the check." if code.human else "")


def codes_dict(codes: Iterable[Code], workflows: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables of codes in their JSON form, schema ``episem.codes/1``."""
    named = [{"name": name, "meaning": meaning} for name, meaning in workflows.items()]
    return {"schema": CODES_SCHEMA, "codes": [asdict(code) for code in codes], "workflows": named}
