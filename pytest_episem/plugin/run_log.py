"""The controller's record keeper: run header, trials as they arrive, what is missing, the summary at the end."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_episem import __version__
from pytest_episem.errors import EpisemError
from pytest_episem.plugin.options import run_name
from pytest_episem.protocol.condition import Condition
from pytest_episem.protocol.plan import mask_role
from pytest_episem.protocol.trial import Trial, TrialError
from pytest_episem.protocol.version import PROTOCOL_VERSION
from pytest_episem.records.run import RUN_FILE, BankId, PlanTask, RunHeader, mismatch
from pytest_episem.records.run_dir import joined_plan, open_run
from pytest_episem.records.store import TRIALS_FILE, TrialWriter
from pytest_episem.records.text import printable

if TYPE_CHECKING:
    from pytest_episem.plugin.choices import Choices
    from pytest_episem.report.tables import GateLine
    from pytest_episem.report.write import Written

HOME = ".episem"
_ITEM = re.compile(r"([a-z0-9-]+/[a-z0-9-]+/[a-z0-9-]+)/((?:un)?safe-.+|boundary)$")


class RunLog:
    """Writes ``run.json`` and ``trials.jsonl`` of one run, in the controller alone."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self._resumed = choices.option("resume")
        self.recorded: dict[Condition, Trial] = {}
        self._seen: set[Condition] = set()
        self._selected: dict[str, Counter[str]] = {}
        self._fixed: set[Condition] = set()
        self._writer: TrialWriter | None = None
        self._reported: tuple[int, Written] | None = None
        self.spent: float | None = None
        self.sent = 0
        self.priceless = False
        self.gates: Sequence[GateLine] = ()

    @functools.cached_property
    def run(self) -> str:
        """The run's name; a resumed run keeps its own."""
        return RunHeader.load(Path(self._resumed)).run if self._resumed else run_name(self.choices.config)

    @functools.cached_property
    def directory(self) -> Path:
        """Where the run's files are."""
        here = self.choices.config.invocation_params.dir
        chosen = self._resumed or self.choices.option("out")
        return here / chosen if chosen else here / HOME / self.run

    def check(self) -> None:
        """Refuse a directory that holds another run, and a resumed run whose bank, model or settings differ.

        Raises:
            EpisemError: naming every difference.
        """
        if self._resumed:
            if self.choices.option("out"):
                raise EpisemError("give --episem-out or --episem-resume, not both")
            old = open_run(self.directory, events=False)
            differences = mismatch(old.header, self.header())
            if differences:
                raise EpisemError(f"cannot resume {self._resumed}: {'; '.join(differences)}")
            self.recorded = {c: trial for c, trial in old.trials.items() if trial.completed}
            self._seen |= self.recorded.keys()
        elif (self.directory / RUN_FILE).exists():
            chosen = self.choices.option("out")
            raise EpisemError(
                f"{chosen} already holds a run; continue it with --episem-resume {chosen}, or name another"
            )

    def header(self) -> RunHeader:
        """Return the run's header with the plan of what was selected so far."""
        choices, settings = self.choices, self.choices.settings
        bank, model = choices.bank, choices.option("model")
        return RunHeader(
            run=self.run,
            model=model,
            agent=None if model else choices.label,
            protocol_version=PROTOCOL_VERSION,
            plugin_version=__version__,
            bank=BankId(bank.name, bank.version, bank.hash),
            settings={
                "turn_limit": settings.turn_limit,
                "timeout": settings.timeout,
                "instruction": settings.instruction,
                "instruction_sha256": hashlib.sha256(settings.instruction.encode()).hexdigest(),
                "repeats": choices.option("repeats"),
                "model_args": choices.option("model-args"),
                "full_audit": choices.option("full-audit"),
            },
            search_seed=settings.search_seed,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            plan=self._plan(),
        )

    def _plan(self) -> list[PlanTask]:
        """The selected pairs; and in a shard those of the others, so that a shard that gets lost is missed."""
        counts = dict.fromkeys(self.choices.other_shards, 0)
        counts |= {task: sum(items.values()) for task, items in self._selected.items()}
        return [self._plan_task(task, count) for task, count in sorted(counts.items())]

    def _plan_task(self, task_id: str, selected: int) -> PlanTask:
        task = self.choices.bank.task(task_id)
        return PlanTask(task.id, task.domain, task.family, list(task.critical), list(task.irrelevant), selected)

    def select(self, nodeids: Iterable[str]) -> None:
        """Take the node ids that were collected: they say which pairs are selected, and what must have a record.

        Raises:
            EpisemError: two tests would run the same conditions.
        """
        if self._selected:
            return
        owner: dict[tuple[str, str], str] = {}
        for nodeid in nodeids:
            found = parse_item(nodeid)
            if found is None or found[0] not in self.choices.tasks:
                continue
            other = owner.setdefault(found, nodeid)
            if other != nodeid:
                raise EpisemError(f"{test_of(other)} and {test_of(nodeid)} would run the same conditions; keep one")
            task_id, name = found
            self._selected.setdefault(task_id, Counter())[name] += 1
            condition = self.choices.conditions.get(f"{task_id}/{name}")
            if condition is not None:
                self._fixed.add(condition)

    def add(self, trial: Trial) -> None:
        """Write a trial that finished in this process."""
        self._open().write(trial)
        self._seen.add(trial.condition)
        usage = trial.usage
        self._spend(usage.cost_usd, usage.requests - usage.cached_requests)

    def add_lines(self, records: str) -> None:
        """Write the records a worker sent, one JSON object a line, as they are."""
        for line in records.splitlines():
            self._open().write_json(line)
            record = json.loads(line)
            names = (record["task"], record["world"], record["setting"], tuple(record["mask"]), record["repeat"])
            self._seen.add(Condition(*names))
            usage = record["usage"]
            self._spend(usage["cost_usd"], usage["requests"] - usage["cached_requests"])

    def _spend(self, cost: float | None, sent: int) -> None:
        self.sent += sent
        self.priceless = self.priceless or (cost is None and sent > 0)
        if cost is not None:
            self.spent = (self.spent or 0.0) + cost

    def overspent(self) -> str:
        """Return why the run must stop: what this session spent has reached a limit, or cannot be told; else ``""``."""
        most_cost, most_requests = self.choices.option("max-cost"), self.choices.option("max-requests")
        if most_requests is not None and self.sent >= most_requests:
            return f"--episem-max-requests {most_requests} reached: {self.sent:,} requests were sent"
        if most_cost is not None and self.priceless:
            return f"--episem-max-cost {most_cost:g} cannot be kept: the cost of a request is unknown"
        if most_cost is not None and (self.spent or 0.0) >= most_cost:
            return f"--episem-max-cost {most_cost:g} reached: the run has cost ${self.spent or 0.0:.4f}"
        return ""

    @property
    def items(self) -> int:
        """How many items of ours were selected."""
        return sum(sum(items.values()) for items in self._selected.values())

    def add_crash(self, nodeid: str, message: str) -> None:
        """Record a condition whose worker died as an infrastructure error."""
        found = parse_item(nodeid)
        condition = self.choices.conditions.get("/".join(found)) if found else None
        if condition is not None and condition not in self._seen:
            role = mask_role(condition.mask, self.choices.bank.task(condition.task).critical)
            error = TrialError("crash", message.strip() or "the worker died")
            self.add(Trial(condition, role, status="error", error=error))

    def _open(self) -> TrialWriter:
        if self._writer is None:
            self._make_home()
            header = self.header()
            if self._resumed:
                old = RunHeader.load(self.directory)
                header = replace(old, plan=joined_plan([old, header]))
            header.save(self.directory)
            self._writer = TrialWriter(self.directory, self.run, self.choices.label).__enter__()
        return self._writer

    def _make_home(self) -> None:
        if self.directory.parent.name == HOME:
            self.directory.parent.mkdir(parents=True, exist_ok=True)
            ignore = self.directory.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="ascii")

    def missing(self) -> list[Condition]:
        """Return the collected conditions that have no record."""
        return sorted(self._fixed - self._seen, key=lambda condition: condition.id)

    def close(self) -> None:
        """Close the record file, and report what was recorded since the summary was shown."""
        if self._writer is not None:
            self._writer.close()
        if self._selected and not self.choices.config.option.collectonly and (self.directory / RUN_FILE).exists():
            with contextlib.suppress(EpisemError):  # the summary has said so
                add_to_step_summary(self.report())

    def report(self) -> Written:
        """Write the run's report files, unless they already speak of all its records.

        Raises:
            EpisemError: the records are not sound, or a file cannot be written.
        """
        from pytest_episem.report.write import write_reports

        trials = self.directory / TRIALS_FILE
        size = trials.stat().st_size if trials.exists() else 0
        if self._reported is None or self._reported[0] != size:
            try:
                written = write_reports([self.directory], self.directory, [self.choices.bank], self.gates)
            except EpisemError:
                raise
            except Exception as fault:  # a fault of ours in a picture must not cost the session its verdict
                raise EpisemError(f"{type(fault).__name__}: {printable(fault)}") from fault
            self._reported = size, written
        return self._reported[1]

    def show(self, reporter: Any) -> None:
        """Print what the run's records say, what is missing, and where they are."""
        if not self._selected or self.choices.config.option.collectonly:
            return
        reporter.section("episem", sep="=", bold=True)
        recorded = (self.directory / RUN_FILE).exists()
        if recorded:
            try:
                self._show_summary(reporter)
            except EpisemError as error:
                reporter.write_line(f"no summary: {error}", red=True)
        missing = self.missing()
        if missing:
            first = missing[0].id
            reporter.write_line(f"{len(missing)} collected conditions have no record, the first: {first}", red=True)
        if recorded:
            reporter.write_line(f"records: {self._shown_directory()}")

    def _show_summary(self, reporter: Any) -> None:
        from pytest_episem.metrics.summary import summarize
        from pytest_episem.report.terminal import summary_lines

        try:
            written = self.report()
            summary, where = written.runs[0][1], f"report:  {self._shown_directory() / written.html.name}"
        except EpisemError as error:
            summary, where = summarize(open_run(self.directory, events=False)), f"no report: {error}"
        width, unicode = reporter._tw.fullwidth, (reporter._tw._file.encoding or "").lower().startswith("utf")
        for line in summary_lines(summary, width, reporter.hasmarkup, reporter.verbosity, unicode):
            reporter.write_line(line)
        reporter.write_line(where)

    def _shown_directory(self) -> Path:
        here = self.choices.config.invocation_params.dir
        return self.directory.relative_to(here) if self.directory.is_relative_to(here) else self.directory


def add_to_step_summary(written: Written) -> None:
    """Add the Markdown report to the page of a GitHub Actions step, where there is one."""
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if page:
        text = (written.directory / "report.md").read_text(encoding="utf-8")
        with contextlib.suppress(OSError), open(page, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def test_of(nodeid: str) -> str:
    """Return the test a parametrized node id belongs to."""
    return nodeid.partition("[")[0]


def parse_item(nodeid: str) -> tuple[str, str] | None:
    """Return (task id, condition name) of a node id of ours, or ``None``."""
    name = nodeid.split("::", 1)[-1]
    if nodeid.startswith("episem::"):
        found = _ITEM.match(name)
    elif name.endswith("]") and "[" in name:
        found = _ITEM.search(name[name.index("[") + 1 : -1])
    else:
        found = _ITEM.match(name.rsplit("::", 1)[-1])
    return (found.group(1), found.group(2)) if found else None
