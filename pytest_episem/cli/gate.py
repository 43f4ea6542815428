"""``episem gate``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pytest_episem.cli.banks import bank_option, json_option, workflow_banks
from pytest_episem.cli.output import show_json, write
from pytest_episem.errors import EpisemError
from pytest_episem.report.ci import github_annotations, junit
from pytest_episem.report.examples import failures
from pytest_episem.report.markdown import markdown
from pytest_episem.report.tables import GateLine
from pytest_episem.report.words import label, labels
from pytest_episem.report.write import summarize_runs
from pytest_episem.runs.run_dir import Run, open_run
from pytest_episem.runs.whole import write_whole
from pytest_episem.scrub import without_known_secrets
from pytest_episem.text import printable
from pytest_episem.verdicts.baseline import Baseline
from pytest_episem.verdicts.gate_file import keep
from pytest_episem.verdicts.gates import (
    LIMITS,
    REGRESSION,
    GateResult,
    Gates,
    Limit,
    combine,
    evaluate,
    left_out,
    parse_percent,
    read_limits,
)

SCHEMA = "episem.gates/1"
FILE = click.Path(path_type=Path)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option a gate."""
    for name in reversed([*LIMITS, REGRESSION]):
        what = "How far each metric may be worse than the baseline, points" if name == REGRESSION else _words(name)
        command = click.option(f"--{name}", multiple=True, metavar="[DOMAIN:]N", help=f"{what}.")(command)
    return command


def _words(name: str) -> str:
    metric = LIMITS[name]
    return f"{'Largest' if metric.side == 'max' else 'Smallest'} {metric.title}, percent"


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=FILE)
@limit_options
@click.option("--baseline", metavar="RUN", type=FILE, help="A file of 'episem bless', or a run's directory.")
@click.option(
    "--gate-on",
    type=click.Choice(["point", "ci"]),
    default="point",
    show_default=True,
    help="Hold the value itself to the limits, or the bound of its 95 % interval.",
)
@click.option(
    "--min-coverage", metavar="N", default="100", show_default=True, help="Percent of the pairs that must be decided."
)
@click.option(
    "--max-unanswered",
    metavar="N",
    default="5",
    show_default=True,
    help="Percent of a metric's trials that may be without an answer, where saying nothing looks good.",
)
@click.option("--junit", "junit_file", metavar="FILE", type=FILE, help="Write the verdicts as JUnit test cases.")
@click.option("--markdown", "markdown_file", metavar="FILE", type=FILE, help="Write the report with the verdicts.")
@bank_option
@json_option
def command(
    directories: tuple[Path, ...],
    baseline: Path | None,
    gate_on: Any,
    min_coverage: str,
    max_unanswered: str,
    junit_file: Path | None,
    markdown_file: Path | None,
    banks: tuple[str, ...],
    as_json: bool,
    **limits: tuple[str, ...],
) -> int:
    """Hold finished runs to limits, from their records alone; exit code 0 if every gate of every run passes, else 1.

    For a separate step of a CI pipeline, after 'episem merge'. A run that is incomplete in any way fails: a pair run
    in part, an errored condition, a missing shard. Limits are percentages; DOMAIN:N is for one domain. The limits and
    the verdict are kept in DIR/gates.json, for 'episem report'. Records of the workflow suite are replayed with the
    bank of the run before they count.

    \b
    Examples:
      episem gate whole --max-critical-ucr 5 --max-recovery-ucr 5 --min-pur 90
      episem gate whole --max-critical-ucr 10 --max-critical-ucr finance:2 --gate-on ci
      episem gate whole --max-regression 2 --baseline baseline.json
      episem gate workflows --max-duplicate-effects 0 --max-false-claims 0
    """
    runs = [open_run(directory, events=False) for directory in directories]
    at_hand = workflow_banks(banks, runs)
    gates = Gates(
        limits=_limits(limits, runs),
        gate_on=gate_on,
        min_coverage=parse_percent(min_coverage, "--min-coverage", loose_below=True),
        max_unanswered=parse_percent(max_unanswered, "--max-unanswered", loose_below=False),
        baseline=_baseline(baseline, limits, runs, at_hand),
    )
    names = [printable(directory) for directory in directories]
    results = [
        (name, evaluate(run, gates, left_out(run), banks=at_hand)) for name, run in zip(names, runs, strict=True)
    ]
    for directory, (_, result) in zip(directories, results, strict=True):
        keep(directory, gates, result)
    if junit_file is not None:
        write_whole(junit_file, junit(results))
    _write_markdown(markdown_file, runs, results, at_hand)
    if as_json:
        show_json({"schema": SCHEMA, "runs": {name: _json(result) for name, result in results}})
    else:
        _print(results, runs)
    return 0 if all(result.passed for _, result in results) else 1


def _limits(given: dict[str, tuple[str, ...]], runs: list[Run]) -> tuple[Limit, ...]:
    domains = sorted({domain for run in runs for domain in run.header.domains})
    found: list[Limit] = []
    for name in (*LIMITS, REGRESSION):
        given_texts = given[name.replace("-", "_")]
        if given_texts:
            found += read_limits(name, given_texts, f"--{name}", domains)
    if not found:
        raise EpisemError("no gate: give at least one limit, such as --max-critical-ucr 5")
    return combine(found)


def _baseline(
    path: Path | None, limits: dict[str, tuple[str, ...]], runs: list[Run], banks: Sequence[Any]
) -> Baseline | None:
    if bool(limits["max_regression"]) != (path is not None):
        raise EpisemError("--max-regression and --baseline need each other")
    if path is None:
        return None
    baseline = Baseline.load(path, banks=banks)
    for run in runs:
        baseline.refuse_other(run.header, f"--baseline {path}")
    return baseline


def _print(results: list[tuple[str, GateResult]], runs: list[Run]) -> None:
    for (name, result), run in zip(results, runs, strict=True):
        write(printable(f"{name}: {label({'model': run.header.model, 'agent': run.header.agent, 'run': name})}") + "\n")
        for verdict in result.verdicts:
            write(f"  {'passed' if verdict.passed else 'FAILED'} {printable(verdict.detail)}\n")
        write(f"{result.line}\n")
        if os.environ.get("GITHUB_ACTIONS") == "true":
            write("".join(f"{text}\n" for text in github_annotations(result)))


def _write_markdown(
    file: Path | None, runs: list[Run], results: list[tuple[str, GateResult]], banks: Sequence[Any]
) -> None:
    """Write the report with its verdicts where it was asked for, and onto the page of a GitHub Actions step."""
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if file is None and not page:
        return
    numbers = summarize_runs(runs, banks)
    names = labels([{"model": run.header.model, "agent": run.header.agent, "run": run.header.run} for run in runs])
    several = len(runs) > 1
    gates = [
        GateLine(f"{name}: {verdict.demand}" if several else verdict.demand, verdict.passed, verdict.detail)
        for name, (_, result) in zip(names, results, strict=True)
        for verdict in result.verdicts
    ]
    evidence = [run.of("evidence") for run in runs if run.header.has_evidence]
    failing = [(name, failures(found.values())) for (name, _), found in zip(numbers.evidence, evidence, strict=True)]
    text = markdown(numbers.evidence, failing, gates, workflows=numbers.workflows)
    if file is not None:
        write_whole(file, text)
    if page:
        with contextlib.suppress(OSError), open(page, "a", encoding="utf-8") as summary:
            summary.write(f"{without_known_secrets(text)}\n")


def _json(result: GateResult) -> dict[str, Any]:
    verdicts = [{"gate": v.key, "demand": v.demand, "passed": v.passed, "detail": v.detail} for v in result.verdicts]
    return {"passed": result.passed, "scope": result.scope, "gates": verdicts}
