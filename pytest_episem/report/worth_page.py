"""What each promise of a workflow's providers is worth, as a page and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType

from pytest_episem.report.layout import Justify, counted, heading, page, prose, table
from pytest_episem.workflows.bank.capabilities import Worth
from pytest_episem.workflows.bank.load import Workflow
from pytest_episem.workflows.verdict import Verdict

WORTH_SCHEMA = "episem.worth/1"
COLUMNS: list[tuple[str, Justify]] = [("operation", "left"), ("promise", "left"), ("without it", "left")]
ENDS = {"completed": "certified", "withdrawn": "withdrawn", "handed_off": "handed off", "unknown": "unknown"}
NAMES = {
    "deduplication": "remembers keys",
    "query": "can be asked",
    "arrival": "arrives in time or never",
    "commit_bound": "takes effect in time or never",
    "final response": "answers are final",
    "compensation": "can be undone",
    "authorization": "judges approval when it does",
}


def worth_page(workflow: Workflow, promises: Sequence[Worth]) -> RenderableType:
    """Return a line for each promise: what is lost without it."""
    lines = [[one.op, NAMES[one.capability], _lost(one)] for one in promises]
    note = (
        "Over the named cases, played by joint planning. Ends that change come first, then what it costs more in all; "
        "where nothing changes, another promise does the same work in these cases."
    )
    return page(
        heading(f"What the providers of {workflow.id} must promise"),
        table(COLUMNS, lines, by=2),
        prose(note, 0),
    )


def worth_document(workflow: Workflow, promises: Sequence[Worth]) -> dict[str, Any]:
    """Return the same as JSON values, schema ``episem.worth/1``."""
    return {
        "schema": WORTH_SCHEMA,
        "workflow": workflow.id,
        "promises": [
            {
                "operation": one.op,
                "capability": one.capability,
                "change": one.change,
                "cases": [{"case": case, "with": _told(now), "without": _told(then)} for case, now, then in one.cases],
            }
            for one in promises
        ],
    }


def _told(verdict: Verdict) -> dict[str, Any]:
    return {name: getattr(verdict, name) for name in ("terminal", "goal", "fee", "actions", "time")}


def _lost(one: Worth) -> str:
    if one.change == "not measured":
        return "not measured: too many worlds, or the history makes no sense without it"
    if one.change == "nothing":
        return "nothing changes"
    ends = [
        f"{case}: {ENDS[now.terminal]} -> {ENDS[then.terminal]}"
        for case, now, then in one.cases
        if now.terminal != then.terminal
    ]
    return "; ".join(ends) or f"costs {_more(one)}"


def _more(one: Worth) -> str:
    now, then = (_spent([verdicts[side] for _, *verdicts in one.cases]) for side in (0, 1))
    return f"{then}, not {now}"


def _spent(verdicts: Sequence[Verdict]) -> str:
    fee, actions, time = (sum(getattr(one, name) for one in verdicts) for name in ("fee", "actions", "time"))
    return f"fee {fee}, {counted(actions, 'action')}, {counted(time, 'instant')}"
