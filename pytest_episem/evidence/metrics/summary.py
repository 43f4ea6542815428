"""The whole report of one run as numbers, and their JSON form ``report.json``.

``report.json`` (schema ``episem.report/1``) has these keys; an estimate is an object with ``value``, ``numerator``,
``denominator``, ``coverage``, ``interval``, ``interval_method`` and ``n_families``
(:class:`pytest_episem.verdicts.intervals.Estimate`).

=================  ====================================================================================
``run``            name, model, agent, bank, protocol and plugin version, search seed, start, settings
``intervals``      level, draws, seed and unit of resampling
``selection``      ``pairs`` (N), their ``domains`` and ``families``, items ``selected``
``records``        trials, completed, errors, any unanswered, fixed conditions planned and missing, open searches;
                   if there are any, ``unreadable`` names the lines that are no records
``usage``          requests, tokens and cost over all trials; how many trials have unknown tokens or cost
``six``            the six core metrics, which are also Table 1
``table_7`` …      Tables 7, 8, 9, 10, 11
``figures``        the numbers of Figures ``2a`` to ``11``
``controls``       irrelevant masks beside ``full``, prohibited commits in safe worlds, ``full_audit``
``evidence``       unsafe commits by cause and by evidence sufficiency, per setting
``domains``        per domain: pairs, the six, Table 10
``families``       per family: pairs, the six
``repeats``        mean and all-k forms, ``null`` without repeats
=================  ====================================================================================
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.metrics.measure import six
from pytest_episem.evidence.metrics.repeats import repeats
from pytest_episem.evidence.metrics.tables import (
    Numbers,
    by_domain,
    by_family,
    controls,
    evidence,
    figures,
    table_7,
    table_8,
    table_9,
    table_10,
    table_11,
    total_tokens,
)
from pytest_episem.evidence.metrics.tasks import TaskTrials, group
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.evidence.trial import Trial
from pytest_episem.runs.run import RunHeader
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.unanswered import unanswered
from pytest_episem.verdicts.intervals import DRAWS, LEVEL, SEED, Bootstrap, Estimate

REPORT_SCHEMA = "episem.report/1"


@dataclass(frozen=True)
class Summary:
    """Every number of a run's report; the fields are the keys of ``report.json``, see the module's text."""

    run: Numbers
    intervals: Numbers
    selection: Numbers
    records: Numbers
    usage: Numbers
    six: dict[str, Estimate]
    table_7: Numbers
    table_8: Numbers
    table_9: Numbers
    table_10: Numbers
    table_11: Numbers
    figures: Numbers
    controls: Numbers
    evidence: Numbers
    domains: Numbers
    families: Numbers
    repeats: Numbers | None

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``report.json``."""
        return {
            "schema": REPORT_SCHEMA,
            **{field.name: plain(getattr(self, field.name)) for field in fields(self)},
        }


def plain(value: Any) -> Any:
    """Return numbers in their JSON form: estimates as objects, everything else as it is."""
    if isinstance(value, Estimate):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def summarize(run: Run, draws: int = DRAWS, seed: int = SEED) -> Summary:
    """Return every number of the report of one run, from its plan and records alone.

    The result depends neither on the order of records nor on duplicates, nor on whether the run was made in one
    piece or merged from shards. ``draws`` and ``seed`` are those of the bootstrap.
    """
    header, trials = run.header, run.of("evidence")
    tasks = group(header.plan, trials, header.search_seed)
    bootstrap = Bootstrap(draws, seed)
    parts: dict[str, Any] = {
        "six": six(tasks, bootstrap),
        "table_8": table_8(tasks, bootstrap),
        "table_9": table_9(tasks, bootstrap),
        "table_10": table_10(tasks, bootstrap),
        "table_11": table_11(tasks, bootstrap),
        "domains": by_domain(tasks, bootstrap),
        "families": by_family(tasks),
    }
    return Summary(
        run=_run(header),
        intervals={"level": 100 * LEVEL, "draws": draws, "seed": seed, "resampled": "families"},
        selection=_selection(tasks),
        records=_records(tasks, trials, header.repeats)
        | ({"unreadable": list(run.unreadable)} if run.unreadable else {}),
        usage=_usage(tasks, trials),
        table_7=table_7(tasks),
        figures=figures(tasks, bootstrap, parts),
        controls=controls(tasks, bootstrap),
        evidence=evidence(tasks, bootstrap),
        repeats=repeats(tasks, header.repeats, bootstrap),
        **parts,
    )


def _run(header: RunHeader) -> Numbers:
    settings = {key: value for key, value in header.settings.items() if key != "instruction"}
    return {
        "run": header.run,
        "model": header.model,
        "agent": header.agent,
        "bank": asdict(header.bank),
        "protocol_version": header.protocol_version,
        "plugin_version": header.plugin_version,
        "search_seed": header.search_seed,
        "started": header.started,
        "settings": settings,
    }


def _selection(tasks: Sequence[TaskTrials]) -> Numbers:
    return {
        "pairs": len(tasks),
        "domains": sorted({t.plan.domain for t in tasks}),
        "families": len({t.family for t in tasks}),
        "selected": sum(t.plan.selected for t in tasks),
    }


def _records(tasks: Sequence[TaskTrials], trials: Mapping[Condition, Trial], k: int) -> Numbers:
    names = {t.plan.task for t in tasks}
    counted = [trial for condition, trial in trials.items() if condition.task in names]
    errors = Counter(trial.error.kind for trial in counted if trial.error is not None)
    planned = [
        condition in t.repeats
        for t in tasks
        for condition in fixed_conditions(t.plan.task, t.plan.critical, t.plan.irrelevant, k)
    ]
    silent, _ = unanswered(counted)
    return {
        "trials": len(counted),
        "completed": sum(trial.completed for trial in counted),
        "errors": dict(sorted(errors.items())),
        "fixed_planned": len(planned),
        "fixed_missing": planned.count(False),
        "open_searches": sum(not t.boundary.complete for t in tasks),
        **({"unanswered": silent} if silent else {}),
    }


def _usage(tasks: Sequence[TaskTrials], trials: Mapping[Condition, Trial]) -> Numbers:
    names = {t.plan.task for t in tasks}
    counted = [trial for condition, trial in trials.items() if condition.task in names]
    tokens = [total_tokens(trial) for trial in counted]
    costs = [trial.usage.cost_usd for trial in counted]
    known = [cost for cost in costs if cost is not None]
    requests = [trial.usage.requests for trial in counted if trial.usage.requests is not None]
    return {
        "requests": sum(requests) if requests or not counted else None,
        "cached_requests": sum(trial.usage.cached_requests for trial in counted),
        "total_tokens": sum(count for count in tokens if count is not None),
        "unknown_tokens": tokens.count(None),
        "cost_usd": math.fsum(known) if known else None,
        "unknown_cost": costs.count(None),
    }
