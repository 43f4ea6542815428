"""The controller's record keeper: run header, records as they arrive, what is missing."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_episem import __version__
from pytest_episem.agents import PREFIX
from pytest_episem.errors import EpisemError
from pytest_episem.plugin.node_ids import BOUNDARY, Collected, test_of
from pytest_episem.plugin.options import run_name, runs_nothing
from pytest_episem.runs.owner import LOCK_FILE, own
from pytest_episem.runs.record import condition_of
from pytest_episem.runs.rollout import LEFT_RUNNING
from pytest_episem.runs.run import (
    PLANNED,
    RUN_FILE,
    BankId,
    PlanTask,
    RunHeader,
    SessionEnd,
    WorkflowPlan,
    mismatch,
)
from pytest_episem.runs.run_dir import joined_plans, open_run
from pytest_episem.runs.store import TRIALS_FILE, TrialWriter
from pytest_episem.runs.trial import TrialError
from pytest_episem.runs.version import PROTOCOL_VERSION
from pytest_episem.runs.whole import check_writable
from pytest_episem.suite import suite
from pytest_episem.text import dump_json

if TYPE_CHECKING:
    from filelock import FileLock

    from pytest_episem.plugin.choices import Choices
    from pytest_episem.report.tables import GateLine

HOME = ".episem"
RECORD_FILES = (TRIALS_FILE,)
_TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")
_REQUESTS = ("request", "request_failed")
"""The events of a rollout that each stand for one request that was sent, unless it came from the cache."""


class RunLog:
    """Writes ``run.json`` and ``trials.jsonl`` of one run, in the controller alone."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self._resumed = choices.option("resume")
        self.recorded: dict[Any, Any] = {}
        self._seen: set[Any] = set()
        self._selected: Counter[str] = Counter()
        """How many items of each task of the evidence suite were selected."""
        self._fixed: dict[Any, None] = {}
        """The conditions that were selected, in order."""
        self._items = 0
        self._completed: set[Any] = set()
        self._owner: FileLock | None = None
        self._begun: RunHeader
        self._wrote = False
        self._foreign = False
        self.label: str | None = None
        """The name of the agent that played; ``None`` before its first trial."""
        self.label_due: str | None = None
        """The name of the resumed run's agent, where only playing tells whether it is the same."""
        self._writer: TrialWriter | None = None
        self.spent: float | None = None
        self.sent = 0
        self.priceless = False
        self.left_running = 0
        """How many rollouts of this session were left to threads that nobody can end."""
        self.gates: Sequence[GateLine] = ()
        self.unwritable = ""
        """Why no further record can be written, and how the run goes on."""

    @functools.cached_property
    def run(self) -> str:
        """The run's name; a resumed run keeps its own, and a worker is told it."""
        old = self._resumed and not self.choices.in_worker
        return RunHeader.load(Path(self._resumed)).run if old else run_name(self.choices.config)

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
            self._own_again()
            old = open_run(self.directory, events=False)
            differences = mismatch(old.header, self._header_to_resume(old.header))
            if differences:
                raise EpisemError(f"cannot resume {self._resumed}: {'; '.join(differences)}")
            self._check_writable()
            self.recorded = {c: trial for c, trial in old.trials.items() if trial.completed}
            self._seen |= self.recorded.keys()
            self._completed |= self.recorded.keys()
        else:
            self._refuse_used()

    def _own_again(self) -> None:
        """Own the directory of the run to resume before its records are read."""
        if self._owner is None and (self.directory / RUN_FILE).exists() and not runs_nothing(self.choices.config):
            self._owner = own(self.directory)

    def _refuse_used(self) -> None:
        chosen = self.choices.option("out") or self.directory
        if (self.directory / RUN_FILE).exists() and not self._holds_a_refusal():
            raise EpisemError(
                f"{chosen} already holds a run; continue it with --episem-resume {chosen}, or name another"
            )
        for name in RECORD_FILES:
            if self._has(name):
                raise EpisemError(
                    f"{chosen} holds {name} but no {RUN_FILE}: nobody can tell whose records these are; move the file "
                    "away, or name another directory"
                )
        self._check_writable()

    def _holds_a_refusal(self) -> bool:
        """Whether the directory holds nothing but the word of a session in which nothing was played."""
        if any(self._has(name) for name in RECORD_FILES):
            return False
        try:
            session = RunHeader.load(self.directory).session
        except EpisemError:
            return False
        return session is not None and session.ended is not None and bool(session.complaints)

    def _leave_word(self, refusal: str) -> None:
        """Write into the directory that was named why nothing was played: a gate that is asked next must fail."""
        if self.choices.option("out") and not self._resumed and not runs_nothing(self.choices.config):
            word = SessionEnd(datetime.now(UTC).isoformat(timespec="seconds"), [refusal])
            with contextlib.suppress(OSError):
                replace(self.header(), plan=[], session=word).save(self.directory)

    def _check_writable(self) -> None:
        if not runs_nothing(self.choices.config):
            check_writable(self.directory, (RUN_FILE, *RECORD_FILES))

    def _header_to_resume(self, old: RunHeader) -> RunHeader:
        """Return this session's header, with the old run's agent if only playing will tell whether it is the same."""
        header = self.header()
        self.label_due = old.label
        unknown_yet = not self.choices.names_agent and old.model is None
        if unknown_yet or old.label.startswith(f"{header.label} "):
            return replace(header, model=old.model, agent=old.agent)
        return header

    def played(self, label: str) -> None:
        """Take the name of the agent whose trial is to be written.

        Raises:
            EpisemError: the run's trials so far are another's.
        """
        if self.label not in (None, label):
            raise EpisemError(f"{label} played, and {self.label} before it: a run has one agent")
        if self.label is None:
            self.label = label
            if self._writer is not None:  # the run began before anybody played
                self._writer.model = label
                if not self._resumed:
                    header = self.header()
                    self._begun = replace(self._begun, model=header.model, agent=header.agent)
                    self._begun.save(self.directory)

    def header(self) -> RunHeader:
        """Return the run's header with the plan of what was selected so far."""
        choices, workflows = self.choices, self._workflow_plan()
        evidence = "evidence" in choices.suites
        label, model = self.label or choices.label, choices.model
        if label != choices.label and not label.startswith(f"{choices.label} ["):
            model = None  # what plays is another agent, that may hold the model
        return RunHeader(
            run=self.run,
            model=model,
            agent=None if label == model else label,
            protocol_version=PROTOCOL_VERSION,
            plugin_version=__version__,
            bank=BankId.of(choices.bank(choices.suites[0])),
            settings=self._settings(),
            search_seed=choices.settings.search_seed,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            plan=self._plan() if evidence else [],
            workflows=workflows,
            planned_settings=[one for one in PLANNED if one in (choices.option("setting") or PLANNED)],
            session=SessionEnd(None, []),
        )

    def _settings(self) -> dict[str, Any]:
        choices, settings = self.choices, self.choices.settings
        return {
            "turn_limit": settings.turn_limit,
            "timeout": settings.timeout,
            "instruction": choices.instruction,
            "instruction_sha256": hashlib.sha256(choices.instruction.encode()).hexdigest(),
            "repeats": choices.option("repeats"),
            "model_args": choices.option("model-args"),
            "api_base": self._address(),
            "full_audit": choices.option("full-audit"),
        }

    def _address(self) -> str | None:
        """Where a model is asked, without secrets, as the answer cache tells servers apart; ``None`` by default."""
        model = self.choices.model
        if model is None or model.startswith(PREFIX):
            return None
        from pytest_episem.agents.answer_key import address_of

        return ", ".join(address_of(model, self.choices.option("api-base"))) or None

    def _workflow_plan(self) -> WorkflowPlan | None:
        """The selected cases; and in a shard those of the others, so that a shard that gets lost is missed."""
        choices = self.choices
        if "workflows" not in choices.suites:
            return None
        bank = choices.bank("workflows")
        tasks = (bank.task(task_id) for task_id in choices.other_shards("workflows"))
        others = (one for task in tasks for one in suite("workflows").conditions(task, choices.option))
        mine = (one for one in self._fixed if one.suite == "workflows")
        planned = list(dict.fromkeys(one.path for one in (*mine, *others)))
        from pytest_episem.workflows.plan import workflow_plan

        return workflow_plan(bank, planned, choices.option)

    def _plan(self) -> list[PlanTask]:
        """The selected pairs; and in a shard those of the others, so that a shard that gets lost is missed."""
        counts = dict.fromkeys(self.choices.other_shards("evidence"), 0) | self._selected
        return [self._plan_task(task, count) for task, count in sorted(counts.items())]

    def _plan_task(self, task_id: str, selected: int) -> PlanTask:
        task = self.choices.bank("evidence").task(task_id)
        return PlanTask(task.id, task.domain, task.family, list(task.critical), list(task.irrelevant), selected)

    def select(self, nodeids: Sequence[str], collected: Collected) -> None:
        """Take what was collected: it says which pairs are selected, and what must have a record.

        Raises:
            EpisemError: one trial would count for two items, or the items must not run.
        """
        if self.selected:
            return
        try:
            self._check_collected(nodeids, collected)
        except EpisemError as refusal:
            self._leave_word(str(refusal))
            raise
        for name in filter(None, collected.names):
            self._items += 1
            condition = self.choices.conditions.get(name)
            if condition is not None:
                self._fixed[condition] = None
            if condition is None or condition.suite == "evidence":
                self._selected[name.removesuffix(f"/{BOUNDARY}") if condition is None else condition.task] += 1
        if self.selected and not runs_nothing(self.choices.config):
            self._begin()

    @staticmethod
    def _check_collected(nodeids: Sequence[str], collected: Collected) -> None:
        if collected.refusal:
            raise EpisemError(collected.refusal)
        owner: dict[str, str] = {}
        for nodeid, name in zip(nodeids, collected.names, strict=True):
            if name in owner and test_of(owner[name]) != test_of(nodeid):
                raise EpisemError(
                    f"{test_of(owner[name])} and {test_of(nodeid)} would run the same conditions; keep one"
                )
            if name in owner or (name is not None and len(collected.variants) > 1):
                raise EpisemError(_more_than_once(test_of(nodeid), collected.variants))
            if name is not None:
                owner[name] = nodeid

    @property
    def selected(self) -> bool:
        """Whether any item of ours was selected."""
        return self._items > 0

    def add(self, trial: Any) -> None:
        """Write a trial that finished in this process."""
        self._spend(asdict(trial.usage), trial.events)
        with self._writing(trial.condition):
            if self._is_new(trial.condition, trial.completed):
                self._open().write(trial)

    def add_lines(self, records: str) -> None:
        """Write the records a worker sent, one JSON object a line, as they are."""
        for line in records.splitlines():
            record = json.loads(line)
            self.played(record["model"])
            self._spend(record["usage"], record["events"])
            condition = condition_of(record)
            with self._writing(condition):
                if self._is_new(condition, record["status"] == "completed"):
                    whole = line if record["run"] == self.run else dump_json({**record, "run": self.run})
                    self._open().write_json(whole)

    @contextlib.contextmanager
    def _writing(self, condition: Any) -> Iterator[None]:
        """Keep a disk that is full from ending the session with a traceback: what is written stays, and it stops."""
        try:
            yield
        except OSError as fault:
            self._seen.discard(condition)  # it has no record
            self._completed.discard(condition)
            whole = (self.directory / RUN_FILE).exists()
            again = f"with --episem-resume {self._named}" if whole else "by running it again"
            self.unwritable = self.unwritable or (
                f"a record cannot be written to {self._named}: {fault.strerror or fault}; make room and go on {again}"
            )

    @property
    def _named(self) -> Path:
        """The run's directory as the user would name it."""
        here = self.choices.config.invocation_params.dir
        return self.directory.relative_to(here) if self.directory.is_relative_to(here) else self.directory

    def _is_new(self, condition: Any, completed: bool) -> bool:
        """Note a condition; ``False`` if it has completed before, as when two workers needed it: the first counts."""
        new = condition not in self._completed
        self._seen.add(condition)
        if completed:
            self._completed.add(condition)
        return new

    def _spend(self, usage: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:
        """Count what a rollout sent, requests that failed too, and what that cost; and whether it goes on."""
        self.left_running += any(event["event"] == LEFT_RUNNING for event in events)
        cost, answered = usage["cost_usd"], (usage["requests"] or 0) - usage["cached_requests"]
        tried = sum(event["event"] in _REQUESTS and not event.get("cached") for event in events)
        self.sent += max(answered, tried)
        self.priceless = self.priceless or (cost is None and bool(answered or any(usage[n] for n in _TOKENS)))
        if cost is not None:
            self.spent = (self.spent or 0.0) + cost

    def overspent(self) -> str:
        """Return why the run must stop: what this session spent has reached a limit, or cannot be told; else ``""``."""
        most_cost, most_requests = self.choices.option("max-cost"), self.choices.option("max-requests")
        if most_cost is not None and self.priceless:
            return (
                f"--episem-max-cost {most_cost:g} cannot be kept: the cost of a request is unknown; an agent of your "
                "own tells it with usage(cost_usd=…)"
            )
        spending = self.choices.spending
        if spending is not None:
            spending.look()
            if spending.refused:
                return spending.reason()
            if spending.sent >= self.sent > 0:
                return ""  # all that was sent is counted there, where the next request is what must not be
        if most_requests is not None and self.sent >= most_requests:
            return f"--episem-max-requests {most_requests} reached: {self.sent:,} requests were sent"
        if most_cost is not None and (self.spent or 0.0) >= most_cost:
            return f"--episem-max-cost {most_cost:g} reached: the run has cost ${self.spent or 0.0:.4f}"
        return ""

    @property
    def items(self) -> int:
        """How many items of ours were selected."""
        return self._items

    def add_crash(self, name: str, message: str) -> None:
        """Record the condition of this name, whose worker died, as an infrastructure error."""
        condition = self.choices.conditions.get(name)
        if condition is not None and condition not in self._seen:
            task = self.choices.bank(condition.suite).task(condition.task)
            error = TrialError("crash", message.strip() or "the worker died")
            self.add(suite(condition.suite).trial(task, condition, status="error", error=error))

    def _open(self) -> TrialWriter:
        self._begin()
        assert self._writer is not None
        self._wrote = True
        return self._writer

    def _begin(self) -> None:
        """Own the run's directory, write its ``run.json`` and open its files, before the first rollout.

        Raises:
            EpisemError: somebody else owns the directory or has used it, or nothing can be written there.
        """
        if self._writer is not None:
            return
        try:
            self._make_home()
            self._owner = self._owner or own(self.directory)
            if not self._resumed:
                self._refuse_used()
            self._begun = self._joined(self.header())
            self._begun.save(self.directory)
            label = self.label or self.label_due or self.choices.label
            self._writer = TrialWriter(self.directory, self.run, label).__enter__()
        except OSError as fault:
            raise EpisemError(f"{self.directory}: cannot be written: {fault.strerror}") from None

    def _joined(self, header: RunHeader) -> RunHeader:
        """Return the header, in a resumed run joined with that of the sessions before."""
        if not self._resumed:
            return header
        old = RunHeader.load(self.directory)
        return replace(joined_plans(old, [old, header]), session=header.session)

    def end(self, complaints: Sequence[str]) -> None:
        """Write into ``run.json`` that the session has ended, and what it says against its own records."""
        if self._writer is None:
            return
        end = SessionEnd(datetime.now(UTC).isoformat(timespec="seconds"), list(complaints))
        with contextlib.suppress(OSError):  # then it stays a session that did not end
            replace(self._begun, session=end).save(self.directory)

    def complaints(self) -> list[str]:
        """Return what is wrong with the record files themselves."""
        if self._writer is not None and self._writer.check():
            self._foreign = True
        found = [f"somebody else wrote into {TRIALS_FILE} while the session ran"] if self._foreign else []
        return [*found, self.unwritable] if self.unwritable else found

    @property
    def holds_records(self) -> bool:
        """Whether there is anything to report: this session wrote a record, or continued a run."""
        return self._wrote or bool(self._resumed and (self.directory / RUN_FILE).exists())

    def _make_home(self) -> None:
        if self.directory.parent.name == HOME:
            self.directory.parent.mkdir(parents=True, exist_ok=True)
            ignore = self.directory.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="ascii")

    def missing(self) -> list[str]:
        """Return the ids of the collected conditions that have no record."""
        return sorted(condition.id for condition in self._fixed.keys() - self._seen)

    def close(self) -> None:
        """Close the record files and give the directory up; a session that recorded nothing leaves nothing behind."""
        self.complaints()
        if self._writer is not None:
            self._writer.close()
        if self._owner is not None:
            if self._writer is not None and not self._wrote and not self._resumed:
                self._remove_home()
            self._owner.release()
            self._owner = None

    def _remove_home(self) -> None:
        with contextlib.suppress(OSError):
            if all((self.directory / name).stat().st_size == 0 for name in RECORD_FILES if self._has(name)):
                for name in (*RECORD_FILES, RUN_FILE, LOCK_FILE):
                    (self.directory / name).unlink(missing_ok=True)
                self.directory.rmdir()
            if self.directory.parent.name == HOME and [p.name for p in self.directory.parent.iterdir()] == [
                ".gitignore"
            ]:
                (self.directory.parent / ".gitignore").unlink()
                self.directory.parent.rmdir()

    def _has(self, name: str) -> bool:
        return (self.directory / name).exists()


def _more_than_once(test: str, variants: Sequence[str]) -> str:
    """Return why items that differ in something else than their condition cannot share a run."""
    cause = "a plugin that repeats tests"
    if len(variants) > 1:
        cause = f"its parameters {variants[0] or 'none'!r} and {variants[1] or 'none'!r}"
    return (
        f"{test} would play conditions of one run in more than one way, because of {cause}: one trial would count for "
        "another. Give each agent, prompt or parameter a session of its own (-k selects one) and hold them against "
        "each other with episem compare; --episem-repeats repeats conditions"
    )
