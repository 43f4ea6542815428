"""What the page's browser of workflow cases needs: an index of all cases, and for each template its cases step by step
with what is public and what was hidden, packed like the trials of the other suite.

The words come from the bank where it is at hand and the record stands; else from the record alone. Nothing here is
markup: the page's script shows it as text.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_episem.banks.folder import bank_options
from pytest_episem.errors import EpisemError
from pytest_episem.report.trials import Embedded, pack
from pytest_episem.report.words import banks_of
from pytest_episem.report.workflow_words import against, ending
from pytest_episem.workflows.actions import Step
from pytest_episem.workflows.bank.load import WorkflowBank
from pytest_episem.workflows.check import Judged
from pytest_episem.workflows.controllers import controller_names
from pytest_episem.workflows.explain import beliefs, recovery_steps, unmet_text
from pytest_episem.workflows.live import Live, as_played, before
from pytest_episem.workflows.refusal import action_text, action_words, fate_count, reason
from pytest_episem.workflows.shield import admissible
from pytest_episem.workflows.suite import WORKFLOWS
from pytest_episem.workflows.summary import Named, WorkflowSummary, template_of
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.verdict import Trajectory
from pytest_episem.workflows.words import harm_text, history_text, obligation_text, truth_texts, unknown_texts
from pytest_episem.workflows.world import Fate, World

_LISTS = ("case", "ending", "fault", "terminal")


def embed_cases(runs: Named, banks: Iterable[WorkflowBank]) -> Embedded:
    """Return the data of the case browser; ``trials`` counts the cases."""
    by_hash = {bank.hash: bank for bank in banks}
    templates = sorted({name for _, summary in runs for name in summary.templates})
    models: dict[tuple[str, str], Model | None] = {}
    index = _Index(templates)
    blocks: list[dict[str, Any]] = [{"template": {}, "cases": {}} for _ in templates]
    for number, (_, summary) in enumerate(runs):
        digest = summary.run["bank"]["hash"]
        bank = by_hash.get(digest)
        for case, judged in summary.cases.items():
            name = template_of(case)
            if (digest, name) not in models:
                models[digest, name] = _model(bank, name)
            model = models[digest, name]
            block = blocks[index.add(number, case, judged)]
            if model is not None:
                block["template"].setdefault(_known_as(summary), knowledge(_at_start(model, summary)))
            block["cases"].setdefault(str(number), []).append(_case(judged, model))
    heads = [{"name": name, **_head(summary)} for name, summary in runs]
    return Embedded(pack(index.document(heads)), [pack(block) for block in blocks], index.count)


def _head(summary: WorkflowSummary) -> dict[str, Any]:
    about = summary.run
    banks, agent = banks_of(about["bank"]["name"]), str(about["agent"])
    flag = "model" if agent in controller_names() else "agent"
    options = WORKFLOWS.rerun_options(next(iter(summary.cases.values())).trial.condition) if summary.cases else []
    again = ["pytest", *options, *(f"--episem-bank={bank}" for bank in banks), f"--episem-{flag}={agent}"]
    return {
        "bank": _known_as(summary),
        "show": bank_options(banks),
        "rerun": shlex.join(again),
    }


def _known_as(summary: WorkflowSummary) -> str:
    """What a run's agents were told of a template: that of its bank, and of its form."""
    digest = str(summary.run["bank"]["hash"])
    return f"{digest}/live" if summary.run["form"] == "live" else digest


def _at_start(model: Model, summary: WorkflowSummary) -> Model:
    """The support as it was before the trouble, where that came live."""
    return before(model) if summary.run["form"] == "live" else model


def _model(bank: WorkflowBank | None, template: str) -> Model | None:
    """A template's worlds; nothing without its bank, or where its contract is broken."""
    if bank is None or template not in bank.workflows:
        return None
    with contextlib.suppress(EpisemError):
        return bank.workflow(template).model
    return None


class _Index:
    """The cases as columns, each text stored once."""

    def __init__(self, templates: Sequence[str]) -> None:
        self._templates = {name: place for place, name in enumerate(templates)}
        self._lists: dict[str, dict[str, int]] = {name: {} for name in _LISTS}
        self._columns: dict[str, list[int]] = {}
        self.count = 0

    def add(self, run: int, case: str, judged: Judged) -> int:
        """Take one case; return the place of its template."""
        verdict = judged.trajectory.verdict
        words, tone = ending(judged)
        row = {
            "run": run,
            "template": self._templates[template_of(case)],
            "case": self._place("case", judged.trial.condition.case),
            "ending": self._place("ending", words),
            "tone": ("good", "bad", "warn", "none").index(tone),
            "fault": self._place("fault", against(judged)),
            "terminal": self._place("terminal", verdict.terminal),
            "goal": int(verdict.goal),
            "fee": verdict.fee,
            "actions": verdict.actions,
            "time": verdict.time,
        }
        for name, value in row.items():
            self._columns.setdefault(name, []).append(value)
        self.count += 1
        return row["template"]

    def _place(self, name: str, text: str) -> int:
        known = self._lists[name]
        return known.setdefault(text, len(known))

    def document(self, runs: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the index as JSON values."""
        lists = {name: list(known) for name, known in self._lists.items()}
        templates = list(self._templates)
        return {"runs": runs, "templates": templates, "lists": lists, "columns": self._columns, "count": self.count}


def knowledge(model: Model) -> dict[str, Any]:
    """Return what is public of a template, and how much is not."""
    template = model.template
    return {
        "title": template.title,
        "start": template.start,
        "deadline": template.deadline,
        "handoff": template.handoff or "",
        "ends": list(template.ends),
        "approved": [obligation_text(template, name) for name in template.obligations],
        "history": [{"at": entry.sent, "text": history_text(template, entry)} for entry in template.history],
        "unknown": unknown_texts(template, model.worlds),
        "fates": fate_count(model, list(range(len(model.worlds)))),
        "worlds": len(model.worlds),
    }


def _case(judged: Judged, model: Model | None) -> dict[str, Any]:
    trajectory = judged.trajectory
    verdict = trajectory.verdict
    live = judged.trial.judged.live
    standing = as_played(model, live) if model is not None and judged.replayed and not judged.refuted else None
    truth = _told(trajectory.world) if standing is None else _truth(trajectory, standing)
    return {
        "steps": [*(_before(live) if live is not None else []), *_steps(trajectory, standing)],
        "truth": truth + ([unmet_text(live)] if live is not None and live.unmet else []),
        "ledger": [
            {
                "at": entry.landed,
                "undone": entry.undone,
                "obligation": entry.obligation,
                "request": entry.request,
                "authorised": entry.authorised,
                "ordered": entry.ordered,
            }
            for entry in trajectory.ledger
        ],
        "violations": [
            {"new": new, "text": harm_text(one)}
            for new, found in ((True, verdict.new), (False, verdict.inherited))
            for one in found
        ],
        "verdict": {
            "terminal": verdict.terminal,
            "goal": verdict.goal,
            "claim_holds": verdict.claim_holds,
            "certifiable": trajectory.certifiable,
            "fee": verdict.fee,
            "actions": verdict.actions,
            "time": verdict.time,
        },
        "shield": trajectory.shield,
        "refuted": list(judged.refuted),
        "replayed": judged.replayed,
    }


def _truth(trajectory: Trajectory, model: Model) -> list[str]:
    return truth_texts(model.template, trajectory.world, model.worlds) or ["nothing else was possible"]


def _before(live: Live) -> list[dict[str, Any]]:
    """What was done before the last trouble, as the record gives it."""
    return [_step(None, None, step, "") for step in live.steps]


def _steps(trajectory: Trajectory, model: Model | None) -> list[dict[str, Any]]:
    requests = {number: name for name, number in recovery_steps(trajectory).items()}
    told = ((step, None) for step in trajectory.steps) if model is None else beliefs(model, trajectory)
    return [_step(model, belief, step, requests.get(number, "")) for number, (step, belief) in enumerate(told, 1)]


def _step(model: Model | None, belief: Belief | None, step: Step, request: str) -> dict[str, Any]:
    return {
        "time": step.time,
        "kind": step.action.kind,
        "text": _said(model, belief, step),
        "request": request,
        "answer": step.answer,
        "fee": step.fee,
        "refused": step.refused,
        "harm": "" if model is None or belief is None else _harm(model, belief, step),
    }


def _said(model: Model | None, belief: Belief | None, step: Step) -> str:
    if model is None or belief is None:
        return action_words(step.action)
    return action_text(model.template, belief, step.action)


def _harm(model: Model, belief: Belief, step: Step) -> str:
    """Why an executed step was not admissible; only with the shield off is there such a step."""
    if step.refused is not None or admissible(model, belief, step.action):
        return ""
    return reason(model, belief, step.action)


def _told(world: World) -> list[str]:
    """A hidden truth as the record gives it."""
    lines = [f"{name}: {_fate(fate)}" for name, fate in world.fates.items()]
    lines += [f"new requests, {name}: {service}" for name, service in world.services.items()]
    lines += [f"what a query shows, {name}: {lag} instants old" for name, lag in world.lags.items()]
    lines += [f"renewal of {name}: {'granted' if granted else 'refused'}" for name, granted in world.renewals.items()]
    return lines


def _fate(fate: Fate) -> str:
    arrived = "" if fate.arrives is None else f", arrived at t{fate.arrives}"
    landed = "" if fate.lands is None else f", effect at t{fate.lands}"
    prefix = "" if fate.prefix is None else f", first {fate.prefix} items"
    return f"{fate.kind.replace('_', ' ')}{arrived}{landed}{prefix}"
