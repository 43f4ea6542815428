"""What must be said beside the workflow suite's numbers, and how a case ended in a few words; whatever the medium."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_episem.report import words
from pytest_episem.workflows.check import Judged
from pytest_episem.workflows.explain import fault, show_command
from pytest_episem.workflows.summary import WorkflowSummary

INCOMPLETE, REFUTED, UNCHECKED, NOTHING = "INCOMPLETE", "REFUTED", "NOT REPLAYED", "0 CERTIFIED"


def warnings(summary: WorkflowSummary, most: int | None = 5) -> Iterator[tuple[str, str]]:
    """Yield what makes the numbers speak of less than was planned, or rest on less: a word and a line for each, naming
    ``most`` cases, by default all."""
    planned = len(summary.planned)
    if summary.missing or summary.torn:
        torn = "; a torn last record was skipped" if summary.torn else ""
        yield INCOMPLETE, f"{_some(summary.missing, most, f'of {planned:,} cases without a record')}{torn}"
    if summary.refuted:
        yield REFUTED, _some(list(summary.refuted), most, f"of {words.plural(summary.row.runs, 'record')} not counted")
    if summary.row.runs and not summary.row.certified + summary.row.withdrawn:
        yield NOTHING, f"of {words.plural(summary.row.runs, 'case')}: nothing was finished and known to be finished"
    if summary.row.runs and not summary.replayed:
        about = summary.run["bank"]
        yield (
            UNCHECKED,
            f"the bank {about['name']} {about['hash'][:12]} is not at hand; records count as they say, unchecked",
        )


def _some(names: Sequence[str], most: int | None, what: str) -> str:
    shown = list(names if most is None else names[:most])
    more = len(names) - len(shown)
    listed = f": {', '.join(shown)}{f' and {more:,} more' if more else ''}" if shown else ""
    return f"{len(names):,} {what}{listed}"


def ending(judged: Judged) -> tuple[str, str]:
    """Return how a case ended in a few words, and whether that is ``good``, ``bad``, or ``warn``."""
    trajectory = judged.trajectory
    verdict = trajectory.verdict
    if judged.refuted:
        return "record refuted", "bad"
    if verdict.new:
        kinds = dict.fromkeys(violation.kind.replace("_", " ") for violation in verdict.new)
        return f"new violation: {', '.join(kinds)}", "bad"
    if verdict.claim_holds is False:
        return "false claim", "bad"
    if verdict.terminal == "claim":
        return "true claim", "good"
    if verdict.terminal in ("completed", "withdrawn"):
        return {"completed": "certified", "withdrawn": "withdrawn"}[verdict.terminal], "good"
    certifiable = ", could have finished" if trajectory.certifiable else ""
    return f"{verdict.terminal.replace('_', ' ')}{certifiable}", "warn"


def case_command(summary: WorkflowSummary, case: str) -> str:
    """Return the command that shows a case of a run."""
    template, _, name = case.rpartition("/")
    return show_command(template, name, words.banks_of(summary.run["bank"]["name"]))


def as_played(run: Mapping[str, Any]) -> str:
    """Return an agent's name with what was unusual in how a run was played: ``gpt-x, told evidence, trouble live``."""
    parts = [str(run["agent"])]
    parts += [f"told {run['guidance']}"] if run["guidance"] != "none" else []
    parts += ["trouble live"] if run["form"] == "live" else []
    return ", ".join([*parts, *([] if run["shield"] else ["shield off"])])


def case_word(run: Mapping[str, Any]) -> str:
    """Return what one case of a run is called, from what ``run.json`` says of the suite."""
    return "world" if run["cases"] == "worlds" else "named case"


def against(judged: Judged) -> str:
    """Return what counts against a case in one line, or an empty text."""
    return fault(judged.trial.judged, judged.refuted)
