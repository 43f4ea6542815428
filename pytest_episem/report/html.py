"""``report.html``: one file that holds everything and asks the network for nothing.

Text from banks, models and options goes through Jinja's autoescaping with control characters made visible, or into
packed data that the page's script only ever shows as text. The page's own policy (CSP) allows no source of anything,
and of scripts only the one written here, by its hash.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_episem.banks.problem import BankError
from pytest_episem.evidence.bank import Bank, shipped_bank
from pytest_episem.evidence.metrics.six import SIX
from pytest_episem.evidence.metrics.summary import Summary
from pytest_episem.evidence.trial import Trial
from pytest_episem.report import words
from pytest_episem.report.examples import Kind
from pytest_episem.report.figures import figures
from pytest_episem.report.tables import Cell, Column, GateLine, Named, Table, gates_table, tables
from pytest_episem.report.trials import embed
from pytest_episem.report.workflow_cases import embed_cases
from pytest_episem.report.workflow_tables import workflow_tables
from pytest_episem.report.workflow_words import warnings as remarks
from pytest_episem.runs.run_dir import Run
from pytest_episem.text import escaped, printable
from pytest_episem.verdicts.intervals import Estimate
from pytest_episem.workflows.bank.load import WorkflowBank
from pytest_episem.workflows.summary import Named as Workflows

TEMPLATES = Path(__file__).parent / "templates"


def html(
    named: Named,
    runs: Sequence[Run],
    failing: Sequence[tuple[str, Sequence[Kind]]],
    banks: Sequence[Bank] | None = None,
    gates: Sequence[GateLine] = (),
    workflows: Workflows = (),
    workflow_banks: Sequence[WorkflowBank] = (),
    more: Iterable[Table] = (),
) -> str:
    """Return the page of one run or of several side by side.

    ``named`` and ``runs`` are the same runs as numbers and as records with their event logs. ``banks`` explain the
    tasks, each run by the one whose hash it carries; ``None`` takes the shipped one. ``workflows`` are the runs of the
    workflow suite, explained by ``workflow_banks``; ``more`` are tables to stand behind ours.
    """
    script = "\n".join(map(_asset, ["common.js", *["report.js"] * bool(named), *["cases.js"] * bool(workflows)]))
    shown = tables(named) if named else []
    names = [name for name, _ in named]
    page: str = (
        _environment()
        .get_template("report.html")
        .render(
            policy=_policy(script),
            script=_trusted(script),
            style=_trusted(_asset("report.css")),
            named=named,
            several=len(named) > 1,
            six=SIX,
            warnings=[(name, lines) for name, summary in named if (lines := warnings(summary))],
            failing=[(number, name, kinds) for number, (name, kinds) in enumerate(failing)],
            figures=figures(named) if named else [],
            tables=[*(table for table in shown if table.key != "table-1"), *more],
            table_1=next((table for table in shown if table.key == "table-1"), None),
            gates=gates_table(gates) if gates else None,
            failed_gates=sum(not gate.passed for gate in gates),
            data=embed(names, runs, _shipped() if banks is None else banks) if named else None,
            browsed="trial" if named else "case",
            workflows=workflows,
            workflow_warnings=[(name, found) for name, summary in workflows if (found := list(remarks(summary)))],
            workflow_tables=workflow_tables(workflows) if workflows else [],
            cases=embed_cases(workflows, workflow_banks) if workflows else None,
        )
    )
    return page


def _shipped() -> list[Bank]:
    """The shipped bank, if it can be read: a report of old records must not need it."""
    try:
        return [shipped_bank()]
    except BankError:
        return []


def warnings(summary: Summary) -> list[str]:
    """Return what makes the numbers speak of less than was planned, one line each."""
    kept, lines = summary.records, []
    if kept["errors"]:
        kinds = words.sentence([f"{count:,} {kind}" for kind, count in kept["errors"].items()])
        lines.append(f"{words.plural(sum(kept['errors'].values()), 'rollout')} ended in an error: {kinds}.")
    if kept["fixed_missing"]:
        lines.append(f"{kept['fixed_missing']:,} of {kept['fixed_planned']:,} fixed conditions have no outcome.")
    if kept["open_searches"]:
        lines.append(f"{words.plural(kept['open_searches'], 'boundary search', 'boundary searches')} did not finish.")
    lines += [f"{line}." for line in words.unreadable(kept)]
    partial = [SIX[name].title for name, found in summary.six.items() if found.coverage < 1]
    if partial:
        lines.append(f"Coverage is below 100 % for {words.sentence(partial)}.")
    return lines


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )


def _asset(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


@functools.cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "value": _value,
        "interval": _interval,
        "detail": _detail,
        "plural": words.plural,
        "percent": words.coverage,
        "fraction": words.fraction,
        "amount": words.amount,
        "requests": words.requests,
        "tokens": words.tokens,
        "cost": words.cost,
        "label": words.label,
        "svg": _trusted,
        "link": _link,
        "anchor": lambda text: printable(text).lower().replace(" ", "-"),
    }
    environment.tests["estimate"] = lambda cell: isinstance(cell, Estimate)
    return environment


def visible(value: Any) -> Any:
    """Make control characters, direction marks and lone surrogates of a text visible; line ends stay."""
    if type(value) is str:
        return "\n".join(escaped(line) for line in value.split("\n"))
    return "" if value is None else value


def _link(trial: Trial, run: int) -> str:
    """The address of a trial's page inside the report."""
    name = trial.condition.id.encode("utf-8", "backslashreplace").decode()
    return f"#trial/{run}/{quote(name, safe='/,')}"


def _value(cell: Cell, column: Column) -> str:
    if isinstance(cell, Estimate):
        return words.value(cell, column.unit)
    return cell if isinstance(cell, str) else words.number(cell, column.unit)


def _interval(cell: Cell, column: Column) -> str:
    return words.interval(cell, column.unit) if isinstance(cell, Estimate) else ""


def _detail(found: Estimate) -> str:
    parts = [f"{words.fraction(found)}, coverage {words.coverage(found)}"]
    if found.interval is not None:
        parts.append(
            f"95 % interval by {found.interval_method} over {words.plural(found.n_families, 'family', 'families')}"
        )
    return "; ".join(parts)
