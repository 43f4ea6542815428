"""What a run plans in the workflow suite, and whether a trial is part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pytest_episem.runs.run import RUN_FILE, BankId, WorkflowPlan
from pytest_episem.runs.run_dir import Run
from pytest_episem.workflows.bank.load import Workflow, WorkflowBank
from pytest_episem.workflows.cases import case_names
from pytest_episem.workflows.check import judge
from pytest_episem.workflows.guidance import spelled
from pytest_episem.workflows.metrics import CaseTrial
from pytest_episem.workflows.trial import Case, Form, Trial

SPLITS = ("all", "pilot", "held-out")


def conditions(
    task: Workflow,
    over: str,
    shield: bool,
    repeats: int,
    guidance: str = "none",
    form: Form = "journal",
    split: str = "all",
) -> Iterator[Case]:
    """Yield every case of a workflow, ``over`` its ``assignments`` or its ``worlds``, in each repeat; of one side of
    the ``split`` alone where that is not ``all``."""
    for repeat in range(repeats):
        for case in case_names(task, task.model if over == "worlds" else None):
            if split == "all" or (case in task.pilot) == (split == "pilot"):
                yield Case(task.id, case, shield, repeat, guidance, form)


def workflow_plan(bank: WorkflowBank, planned: list[str], choice: Callable[[str], Any]) -> WorkflowPlan:
    """Return what a run plans; ``planned`` are its cases' paths, ``choice`` gives an option's value by its name."""
    pilot = [path for path in planned if path.rpartition("/")[2] in bank.task(path.rpartition("/")[0]).pilot]
    return WorkflowPlan(
        BankId.of(bank),
        choice("shield") == "on",
        choice("cases"),
        planned,
        spelled(choice("guidance")),
        choice("form"),
        pilot,
    )


def planned_case(plan: WorkflowPlan, path: str, repeat: int = 0) -> Case:
    """Return a planned case as the condition of its trial; ``path`` is ``domain/workflow/case``."""
    task, _, case = path.rpartition("/")
    return Case(task, case, plan.shield, repeat, plan.guidance, plan.form)


def unplanned(plan: WorkflowPlan) -> Callable[[Trial], str]:
    """Return the function that says what a plan does not account for in a trial; ``""`` for nothing."""
    planned = set(plan.planned)

    def fault(trial: Trial) -> str:
        condition = trial.condition
        if condition.path not in planned:
            return f"is a case that the plan in {RUN_FILE} does not list"
        for name in ("shield", "guidance", "form"):
            if getattr(condition, name) != getattr(plan, name):
                return f"was played with another {name} than {RUN_FILE} says"
        return ""

    return fault


def group(run: Run, banks: Iterable[WorkflowBank] = ()) -> list[CaseTrial]:
    """Return every planned case with its judged trial of repeat 0; one that does not stand counts for nothing."""
    plan = run.header.workflows
    if plan is None:
        return []
    judged = {one.trial.condition.path: one for one in judge(run, banks) if one.trial.condition.repeat == 0}
    found = []
    for path in sorted(plan.planned):
        one = judged.get(path)
        if one is not None:
            lack = f"refuted: {one.refuted[0]}" if one.refuted else ""
            lack = lack or ("" if one.replayed else "not replayed: the bank of the run is not at hand")
        else:
            lack = _kind(run, planned_case(plan, path))
        found.append(CaseTrial(path, one, lack))
    return found


def incomplete(run: Run, case: CaseTrial) -> str:
    """Return what of a case did not complete, the first; empty if it is whole."""
    if case.lack:
        return f"{case.id} ({case.lack})"
    plan = run.header.workflows
    assert plan is not None
    repeats = (planned_case(plan, case.id, repeat) for repeat in range(run.header.repeats))
    return next((f"{one.id} ({kind})" for one in repeats if (kind := _kind(run, one))), "")


def _kind(run: Run, condition: Case) -> str:
    trial = run.trials.get(condition)
    if trial is None:
        return "no record"
    return "" if trial.error is None else str(trial.error.kind)
