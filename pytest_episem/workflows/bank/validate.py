"""The validator of an workflow bank: every fault one line with its place (workflow protocol, section 4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.validate.wording import FORMS, words_of
from pytest_episem.workflows import answers
from pytest_episem.workflows.bank.capabilities import CAPABILITIES, decides_an_ending
from pytest_episem.workflows.bank.codes import CODES
from pytest_episem.workflows.bank.load import Workflow, read_workflows
from pytest_episem.workflows.model import PastQuery, PastRequest, Template
from pytest_episem.workflows.serial import to_json
from pytest_episem.workflows.study import Result, run_workflow
from pytest_episem.workflows.support import MAX_WORLDS, EmptySupport, LargeSupport, Model, produced
from pytest_episem.workflows.timeline import Run
from pytest_episem.workflows.world import World

TERMINALS = {"certified": "completed"}
"""How a file names the terminals, where it names them otherwise."""


@dataclass(frozen=True, slots=True)
class WorkflowReport:
    """What a validation found: problems, and worlds by template. ``hash`` identifies what was read."""

    hash: str
    problems: tuple[Problem, ...]
    templates: int
    assignments: int
    worlds: dict[str, int]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the sizes as plain JSON values, without the problems."""
        names = ("hash", "templates", "assignments", "worlds")
        return {name: getattr(self, name) for name in names}


def validate_workflows(directory: Path, *, capabilities: bool = True, only: str = "") -> WorkflowReport:
    """Check a bank; never raises for a fault of the bank. Files are named as seen from ``directory``.

    Args:
        directory: holds ``workflows/<domain>/<workflow>.yaml`` or the domains themselves.
        capabilities: also hold the bank as a whole to the rule that each capability is there, is missing and decides
            an ending somewhere: it is removed, and joint planning plans again.
        only: a domain, or ``domain/workflow``, to check.
    """
    workflows, problems, digest = read_workflows(directory, only)
    problems += _selection(workflows)
    worlds: dict[str, int] = {}
    for name, workflow in workflows.items():
        problems += _wording(workflow)
        model, faults = _model(workflow)
        problems += faults
        if model is None:
            continue
        worlds[name] = len(model.worlds)
        problems += [*_size(workflow, model), *_truths(workflow, model), *_troubles(workflow), *_endings(workflow)]
    if capabilities and not only:
        problems += _capabilities(workflows, directory)
    order = list(CODES)
    problems = sorted((_seen_from(directory, p) for p in problems), key=lambda p: order.index(p.code))
    truths = sum(len(workflow.assignments) for workflow in workflows.values())
    return WorkflowReport(digest, tuple(problems), len(workflows), truths, worlds)


def _seen_from(directory: Path, problem: Problem) -> Problem:
    file = Path(problem.file)
    inside = file != directory and file.is_relative_to(directory)
    return replace(problem, file=file.relative_to(directory).as_posix()) if inside else problem


def start_bytes(model: Model, world: World, run: Run) -> bytes:
    """Return what an agent sees at the start if a world is the truth: the template, and the history with the answers
    that this world gives.

    An answer that was lost is lost whatever it said, and an answer that proves nothing comes from somewhere else than
    the provider; every other answer is made from the world's own run.
    """
    template = model.template
    history = [
        _answer(model, run, entry)
        if isinstance(entry, PastRequest)
        else model.shown(world, run, entry.asks, entry.sent)
        for entry in template.history
    ]
    public = json.loads(to_json(replace(template, history=())))
    return json.dumps([public, *zip(_sendings(template), history, strict=True)], sort_keys=True).encode()


def _sendings(template: Template) -> Iterator[list[object]]:
    for entry in template.history:
        if isinstance(entry, PastQuery):
            yield [entry.id, entry.asks, entry.sent]
        else:
            yield [entry.id, list(entry.does), entry.undoes, entry.key, entry.sent]


def _answer(model: Model, run: Run, request: PastRequest) -> str:
    shown = answers.past_answer(request)
    channel = model.template.channel(request.does[0], request.undoes)
    if shown == answers.TIMEOUT or not answers.proves(channel, shown):
        return shown
    return " and ".join(sorted(set(produced(model.template, run, request))))


def shown_bytes(template: Template) -> bytes:
    """Return what the file shows at the start, in the form of ``start_bytes``."""
    history = [h.answer if isinstance(h, PastQuery) else answers.past_answer(h) for h in template.history]
    public = json.loads(to_json(replace(template, history=())))
    return json.dumps([public, *zip(_sendings(template), history, strict=True)], sort_keys=True).encode()


def _model(workflow: Workflow) -> tuple[Model | None, list[Problem]]:
    try:
        return Model(workflow.template), []
    except EmptySupport as fault:
        return None, [Problem("support-empty", workflow.file, "", "history", str(fault))]
    except LargeSupport as fault:
        return None, [Problem("support-size", workflow.file, "", "contracts", str(fault))]


def _size(workflow: Workflow, model: Model) -> Iterator[Problem]:
    size = len(model.worlds)
    if size > MAX_WORLDS:
        yield Problem("support-size", workflow.file, "", "contracts", f"{size} worlds; at most {MAX_WORLDS}")
    if size != workflow.support:
        message = f"says {workflow.support}, the contracts give {size}"
        yield Problem("support-size", workflow.file, "", "expect.support", message)


def _truths(workflow: Workflow, model: Model) -> Iterator[Problem]:
    expected = shown_bytes(workflow.template)
    seen: dict[str, str] = {}
    for name, world in workflow.assignments.items():
        if start_bytes(model, world, model.start(world)) != expected:
            message = "this truth would have given other answers than the history shows"
            yield Problem("start", workflow.file, name, "", message)
        text = to_json(world)
        if text in seen:
            yield Problem("same-truth", workflow.file, name, "", f"the same truth as {seen[text]!r}")
        seen.setdefault(text, name)


def _troubles(workflow: Workflow) -> Iterator[Problem]:
    """Each kind of second trouble that is declared must be played by an assignment."""
    for op, contract in workflow.template.contracts.items():
        if contract.again is not None:
            played = {world.again[op].kind for world in workflow.assignments.values()}
            for kind in ("lost", "landed"):
                if kind not in played:
                    message = f"no assignment plays a second request that is {kind}"
                    yield Problem("again", workflow.file, "", f"contracts.{op}.again", message)


def _endings(workflow: Workflow) -> Iterator[Problem]:
    results = run_workflow(workflow)
    for result in results:
        if result.faults or result.trajectory.verdict.new or result.trajectory.verdict.claim_holds is False:
            message = f"{result.controller}: {'; '.join(result.faults) or 'recovery caused harm'}"
            yield Problem("refuted", workflow.file, result.case, "", message)
    for controller, endings in workflow.expect.items():
        for assignment, ending in endings.items():
            yield from _expected(workflow, results, controller, assignment, ending)


def _expected(
    workflow: Workflow, results: list[Result], controller: str, assignment: str, ending: str
) -> Iterator[Problem]:
    place = f"expect.{controller}.{assignment}"
    if assignment not in workflow.assignments:
        yield Problem("reference", workflow.file, "", place, "no such assignment")
        return
    for result in results:
        terminal = result.trajectory.verdict.terminal
        if (result.controller, result.case) == (controller, assignment) and terminal != TERMINALS.get(ending, ending):
            yield Problem("expect", workflow.file, assignment, place, f"says {ending}, the run ends {terminal}")


def _capabilities(workflows: dict[str, Workflow], directory: Path) -> Iterator[Problem]:
    contracts = [contract for workflow in workflows.values() for contract in workflow.template.contracts.values()]
    for capability in CAPABILITIES:
        declared = sum(1 for contract in contracts if capability.declared(contract))
        if declared == 0 or declared == len(contracts):
            message = f"{capability.name} is declared {'nowhere' if declared == 0 else 'everywhere'}"
            yield Problem("capability", str(directory), "", "contracts", message)
        elif not decides_an_ending(capability, workflows.values()):
            message = f"no ending depends on {capability.name}"
            yield Problem("capability", str(directory), "", "contracts", message)


def _wording(workflow: Workflow) -> Iterator[Problem]:
    template = workflow.template
    public = json.loads(to_json(replace(template, history=(), contracts={})))
    texts = [*_texts(public), *template.contracts, *(getattr(entry, "key", "") for entry in template.history)]
    for text in texts:
        for word in sorted(set(words_of(text)) & FORMS.keys()):
            yield Problem("label-word", workflow.file, "", "", f"the word {word!r} stands in {text[:120]!r}")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (key, *_texts(item))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _selection(workflows: dict[str, Workflow]) -> Iterator[Problem]:
    domains = {name.split("/")[0] for name in workflows}
    for name, workflow in workflows.items():
        own, rest = name.split("/", 1)
        for domain in sorted(domains - {own}):
            for part in (rest, *workflow.assignments):
                if domain in part:
                    message = f"{part!r} contains the domain name {domain!r}"
                    yield Problem("selection", workflow.file, "", "id", message)
