"""The page of ``episem show`` for a workflow of the workflow suite."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from pytest_episem.report.layout import (
    BAD,
    GOOD,
    NOTE,
    Cell,
    Justify,
    counted,
    heading,
    indented,
    page,
    prose,
    rows,
    table,
    text,
)
from pytest_episem.report.workflow_view import CaseView, WorkflowView
from pytest_episem.workflows.contract_words import approval_text, clock_text, contract_texts, duty_text, served_text
from pytest_episem.workflows.explain import step_lines
from pytest_episem.workflows.model import Template
from pytest_episem.workflows.verdict import Verdict
from pytest_episem.workflows.words import ENDINGS, history_text

COSTS: list[tuple[str, Justify]] = [
    ("", "left"),
    ("fee", "right"),
    ("actions", "right"),
    ("time", "right"),
    ("goal", "left"),
    ("ends", "left"),
]
STYLES = {"completed": GOOD, "withdrawn": GOOD, "claim": NOTE, "handed_off": NOTE, "unknown": NOTE}


def workflow_page(view: WorkflowView) -> RenderableType:
    """Return the whole page."""
    template = view.workflow.template
    blocks = [text(template.id, "bold"), prose(template.title, 0), *public_blocks(template)]
    blocks += [heading("What nobody knows"), *unknown_blocks(view.unknown, view.fates, view.worlds)]
    if view.case is None:
        return page(*blocks, heading("Cases"), prose(_cases(view)))
    return page(*blocks, *_case_blocks(view, view.case))


def public_blocks(template: Template, live: bool = False) -> list[RenderableType]:
    """Return what an agent is told: the clock, the work, the approvals, the history and the promises."""
    blocks: list[RenderableType] = [
        heading("Clock"),
        prose(clock_text(template)),
        heading("Approved work"),
        rows([(name, duty_text(template, name)) for name in template.obligations]),
    ]
    if template.approvals:
        pairs: list[tuple[Cell, Cell]] = [(name, approval_text(found)) for name, found in template.approvals.items()]
        blocks += [heading("Approvals"), rows(pairs)]
    blocks += [heading("What happened so far"), history_block(template)]
    blocks += [heading("What the providers promise"), prose(served_text(template, live))]
    for op, contract in template.contracts.items():
        blocks += [indented(text(op, "bold")), rows(contract_texts(contract), by=4)]
    return blocks


def history_block(template: Template) -> RenderableType:
    """Return the history, a line for each request and question with its answer."""
    return rows([(f"t{entry.sent}", history_text(template, entry)) for entry in template.history])


def unknown_blocks(unknown: list[str], fates: int, worlds: int) -> list[RenderableType]:
    """Return what differs between the compatible worlds, and how many there are."""
    size = f"{counted(fates, 'fate')} of the history, {counted(worlds, 'world')} fit every answer so far."
    return [*(prose(line) for line in unknown), prose(size)]


def _cases(view: WorkflowView) -> str:
    names = ", ".join(view.workflow.assignments)
    return (
        f"{names}; and world-0 to world-{view.worlds - 1}, every compatible world. "
        f"--case NAME shows what is true there and what each controller does."
    )


def _case_blocks(view: WorkflowView, case: CaseView) -> list[RenderableType]:
    blocks: list[RenderableType] = [heading(f"What is true in {case.name}")]
    blocks += [prose(line) for line in case.truth or ("nothing else was possible",)]
    blocks += [heading("The ledger if nobody does anything"), *(prose(line) for line in case.idle or ("no effect",))]
    blocks += [heading("What each controller does")]
    alike: dict[str, list[str]] = {}
    for result in case.results:
        alike.setdefault("\n".join(step_lines(view.model, result.trajectory)), []).append(result.controller)
    for steps, names in alike.items():
        blocks += [indented(text(", ".join(names), "bold")), indented(text(steps), 4)]
    return [
        *blocks,
        heading("How it ends"),
        verdict_table([(r.controller, r.trajectory.verdict) for r in case.results]),
    ]


def verdict_table(verdicts: list[tuple[str, Verdict]]) -> RenderableType:
    """Return how runs of the same truth ended and what they cost, side by side."""
    return table(COSTS, [[name, *_verdict_cells(verdict)] for name, verdict in verdicts])


def _verdict_cells(verdict: Verdict) -> list[Cell]:
    ends = Text.assemble(text(ENDINGS[verdict.terminal], STYLES[verdict.terminal]))
    if verdict.claim_holds is False:
        ends.append_text(text(", and it is false", BAD))
    if verdict.new:
        ends.append_text(text(f", {counted(len(verdict.new), 'new violation')}", BAD))
    goal = text("reached", GOOD) if verdict.goal else text("missed", NOTE)
    return [str(verdict.fee), str(verdict.actions), str(verdict.time), goal, ends]
