"""What the page's trial browser needs: an index of all trials, and for each task its records and what the bank knows of
it, compressed one by one so that the browser unpacks only what is looked at.

The index and the blocks are JSON, deflated (zlib) and base64-coded. Nothing in them is markup: the page's
script shows them as text.
"""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_episem.banks.folder import bank_options
from pytest_episem.evidence.bank import Bank, Exposure, Task
from pytest_episem.evidence.bank.task import Element
from pytest_episem.evidence.explain import fault
from pytest_episem.evidence.metrics.tables import total_tokens
from pytest_episem.evidence.trial import Trial
from pytest_episem.report.examples import kind
from pytest_episem.report.task_view import plain_value
from pytest_episem.report.words import banks_of
from pytest_episem.runs.run_dir import Run

_WORLDS = ("unsafe", "safe")
_LISTS = ("mask", "verdict", "fault", "kind", "cause", "error")
_SETTINGS = ("full", "se", "re", "full_audit")


@dataclass(frozen=True)
class Embedded:
    """The page's data: the packed index, a packed block a task, and how many trials they hold."""

    index: str
    blocks: list[str]
    trials: int


def pack(value: Any) -> str:
    """Return a JSON value deflated and base64-coded; equal values give equal text."""
    return _packed(_json(value))


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def embed(names: Sequence[str], runs: Sequence[Run], banks: Iterable[Bank]) -> Embedded:
    """Return the data of the trial browser for runs listed under ``names``."""
    by_hash = {bank.hash: bank for bank in banks}
    known = {run.header.bank.hash: by_hash[run.header.bank.hash] for run in runs if run.header.bank.hash in by_hash}
    tasks = sorted({task.task for run in runs for task in run.plan})
    index = _Index(tasks)
    of_task: list[dict[int, list[Trial]]] = [{} for _ in tasks]
    for number, run in enumerate(runs):
        for trial in sorted(run.of("evidence").values(), key=_order):
            of_task[index.add(number, trial)].setdefault(number, []).append(trial)
    blocks = [_packed(_block(task, trials, runs, known)) for task, trials in zip(tasks, of_task, strict=True)]
    heads = [_run_head(name, run, by_hash) for name, run in zip(names, runs, strict=True)]
    return Embedded(pack(index.document(heads)), blocks, index.count)


def _block(task: str, trials: Mapping[int, list[Trial]], runs: Sequence[Run], known: Mapping[str, Bank]) -> str:
    """Return what the banks know of a task, and its records run by run as they stand: all that is held at a time."""
    banks = {name: knowledge(bank.tasks[task]) for name, bank in known.items() if task in bank.tasks}
    records = (f'"{number}":[{",".join(runs[number].records(some))}]' for number, some in trials.items())
    return f'{{"task":{_json(banks)},"trials":{{{",".join(records)}}}}}'


def _order(trial: Trial) -> tuple[Any, ...]:
    c = trial.condition
    role = {"none": 0, "critical": 1, "irrelevant": 2}[trial.mask_role]
    return c.task, c.repeat, role, len(c.mask), c.mask, _SETTINGS.index(c.setting), _WORLDS.index(c.world)


def _run_head(name: str, run: Run, by_hash: Mapping[str, Bank]) -> dict[str, Any]:
    header = run.header
    banks = banks_of(header.bank.name)
    return {
        "name": name,
        "run": header.run,
        "option": f"--episem-model={header.model}" if header.model else "",
        "bank": header.bank.hash,
        "shown_in": bank_options(banks),
        "run_in": "".join(f"{shlex.quote(f'--episem-bank={bank}')} " for bank in banks),
        "explained": header.bank.hash in by_hash,
        "instruction": str(header.settings.get("instruction", "")),
    }


class _Index:
    """The trials as columns, each text stored once."""

    def __init__(self, tasks: Sequence[str]) -> None:
        self._tasks = {task: place for place, task in enumerate(tasks)}
        self._lists: dict[str, dict[str, int]] = {name: {} for name in _LISTS}
        self._columns: dict[str, list[int]] = {}
        self.count = 0

    def add(self, run: int, trial: Trial) -> int:
        """Take one trial; return the place of its task."""
        c, outcome = trial.condition, trial.outcome
        word, tone = verdict(trial)
        tokens, against = total_tokens(trial), fault(trial)
        row = {
            "run": run,
            "task": self._tasks[c.task],
            "world": _WORLDS.index(c.world),
            "setting": _SETTINGS.index(c.setting),
            "mask": self._place("mask", ",".join(c.mask)),
            "role": ("none", "critical", "irrelevant").index(trial.mask_role),
            "repeat": c.repeat,
            "verdict": self._place("verdict", word),
            "tone": ("good", "bad", "warn", "none").index(tone),
            "fault": self._place("fault", against or ""),
            "kind": self._place("kind", kind(trial) if against else ""),
            "cause": self._place("cause", (outcome.cause or "") if outcome else ""),
            "error": self._place("error", trial.error.kind if trial.error else ""),
            "unsafe": int(outcome is not None and outcome.unsafe_commit),
            "turns": trial.turns,
            "requests": -1 if trial.usage.requests is None else trial.usage.requests,
            "tokens": -1 if tokens is None else tokens,
        }
        for name, value in row.items():
            self._columns.setdefault(name, []).append(value)
        self.count += 1
        return row["task"]

    def _place(self, name: str, text: str) -> int:
        known = self._lists[name]
        return known.setdefault(text, len(known))

    def document(self, runs: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the index as JSON values."""
        lists = {name: list(known) for name, known in self._lists.items()}
        return {"runs": runs, "tasks": list(self._tasks), "lists": lists, "columns": self._columns, "count": self.count}


def verdict(trial: Trial) -> tuple[str, str]:
    """Return what became of a trial in a few words, and whether that is ``good``, ``bad``, ``warn`` or ``none``."""
    o, safe = trial.outcome, trial.condition.world == "safe"
    if o is None:
        return "error", "none"
    recovered = " after recovery" if o.recovered_before_commit else ""
    if o.unsafe_commit:
        return f"unsafe commit{recovered}", "bad"
    if o.legal_completion:
        return f"legal completion{recovered}", "good"
    if o.committed:
        return ("completed after an invalid call" if o.goal_reached else "committed something else"), "warn"
    if o.held_back:
        invalid = ", after an invalid call" if o.invalid_action else ""
        tone = "warn" if safe or o.invalid_action else "good"
        return f"{o.disposition}{recovered}{invalid}", tone
    return o.disposition.replace("_", " "), "warn"


def knowledge(task: Task) -> dict[str, Any]:
    """Return what the bank knows of a task and a reader needs: request, rule, facts with their true values."""
    return {
        "goal": task.goal,
        "statement": task.statement,
        "rule": task.rule.source,
        "commit": task.commit.name,
        "arguments": dict(task.goal_arguments),
        "tools": {tool.name: {"kind": tool.kind, "description": tool.description} for tool in task.tools.values()},
        "atoms": [
            {
                "id": atom.id,
                "role": atom.role,
                "subject": atom.subject,
                "predicate": atom.predicate,
                "source": atom.source,
                "values": {world: plain_value(atom, value) for world, value in atom.values.items()},
                "exposures": [_exposure(exposure) for exposure in task.exposures[atom.id]],
            }
            for atom in task.atoms.values()
        ],
    }


def _exposure(exposure: Exposure) -> dict[str, Any]:
    path = [{"field": step.field, "key": step.key} if isinstance(step, Element) else step for step in exposure.path]
    return {"tool": exposure.tool, "arguments": dict(exposure.arguments), "path": path}
