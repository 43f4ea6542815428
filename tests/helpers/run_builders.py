"""Fake runs for the tests of metrics: a plan, an agent as a function of the condition, and its trials."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from pytest_episem.evidence.boundary import BoundarySearch, Probe
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.plan import fixed_conditions, mask_role
from pytest_episem.evidence.trial import Outcome, Phase, Trial, TrialError, Usage
from pytest_episem.runs.run import BankId, PlanTask, RunHeader
from pytest_episem.runs.run_dir import Run

SEED = "seed-0"

# What an agent can do: (audits before acting, makes an invalid call, how it ends).
# Ends: commit (the goal), offgoal (a permitted commit of something else), wrong (a prohibited one), or a disposition.
BEHAVIOURS: dict[str, tuple[bool, bool, str]] = {
    "hold": (False, False, "escalated"),
    "stop": (False, False, "stopped"),
    "act": (False, False, "commit"),
    "strict": (True, False, "by-world"),
    "audit-act": (True, False, "commit"),
    "audit-hold": (True, False, "escalated"),
    "audit-claim": (True, False, "claimed_completion"),
    "audit-invalid-hold": (True, True, "stopped"),
    "invalid-act": (False, True, "commit"),
    "invalid-hold": (False, True, "escalated"),
    "offgoal": (False, False, "offgoal"),
    "wrong": (False, False, "wrong"),
    "claim": (False, False, "claimed_completion"),
    "unfinished": (False, False, "unfinished"),
    "filtered": (False, False, "filtered"),
}


def outcome(condition: Condition, behaviour: str, cause: str = "epistemic", sufficient: bool = False) -> Outcome:
    audits, invalid, end = BEHAVIOURS[behaviour]
    audits = audits and condition.setting in ("re", "full_audit")
    if end == "by-world":
        end = "escalated" if condition.world == "unsafe" else "commit"
    committed = end in ("commit", "offgoal", "wrong")
    prohibited = (end == "commit" and condition.world == "unsafe") or end == "wrong"
    return Outcome(
        unsafe_commit=prohibited,
        goal_reached=end == "commit",
        legal_completion=end == "commit" and condition.world == "safe" and not invalid,
        invalid_action=invalid,
        disposition="committed" if committed else end,
        disposition_source=None if committed or end in ("unfinished", "filtered") else "line",
        recovered=audits,
        recovered_before_commit=audits,
        premature_commit=committed and condition.setting == "re" and not audits,
        sufficient_evidence=sufficient or not condition.mask,
        cause=cause if prohibited else None,
    )


def trial(
    condition: Condition,
    behaviour: str,
    critical: Iterable[str],
    phase: Phase = "fixed",
    usage: Usage | None = None,
    cause: str = "epistemic",
) -> Trial:
    """A trial of one condition; behaviour ``error`` is an infrastructure error."""
    failed = behaviour == "error"
    return Trial(
        condition=condition,
        mask_role=mask_role(condition.mask, critical),
        phase=phase,
        status="error" if failed else "completed",
        outcome=None if failed else outcome(condition, behaviour, cause),
        usage=usage or Usage(requests=3, prompt_tokens=100, completion_tokens=20, total_tokens=120),
        turns=3,
        seconds=0.5,
        error=TrialError("timeout", "no answer") if failed else None,
    )


def plan_task(task: str, critical: Iterable[str], irrelevant: Iterable[str] = (), selected: int = 1) -> PlanTask:
    domain, family, _ = task.split("/")
    return PlanTask(task, domain, family, list(critical), list(irrelevant), selected)


def header(plan: list[PlanTask], **changes: object) -> RunHeader:
    values: dict = {
        "run": "run-1",
        "model": "fake/model",
        "agent": None,
        "protocol_version": "1",
        "plugin_version": "0.1.0",
        "bank": BankId("evidence", "1", "12ab34cd56ef"),
        "settings": {"temperature": 0, "turn_limit": 12, "instruction": "Do.", "repeats": 1},
        "search_seed": SEED,
        "started": "2026-01-01T00:00:00+00:00",
        "plan": plan,
    }
    return RunHeader(**{**values, **changes})


Agent = Callable[[Condition], str]


def simulate(plan: list[PlanTask], agent: Agent, seed: str = SEED, repeats: int = 1) -> dict[Condition, Trial]:
    """Run every fixed condition, then the search of each task; behaviour ``missing`` leaves no record."""
    trials: dict[Condition, Trial] = {}
    for task in plan:

        def run(condition: Condition, phase: Phase, task: PlanTask = task) -> Trial | None:
            behaviour = agent(condition)
            if behaviour != "missing":
                trials[condition] = trial(condition, behaviour, task.critical, phase)
            return trials.get(condition)

        for condition in fixed_conditions(task.task, task.critical, task.irrelevant, repeats):
            run(condition, "fixed")
        search = BoundarySearch(seed, task.task, task.critical, trials.get)

        def probe(wanted: Probe) -> Trial | None:
            return run(wanted.condition, wanted.phase)

        search.run(probe)
    return trials


def make_run(plan: list[PlanTask], agent: Agent, repeats: int = 1, **changes: object) -> Run:
    settings = {"temperature": 0, "repeats": repeats}
    head = header(plan, **{"settings": settings, **changes})
    return Run(head, simulate(plan, agent, head.search_seed, repeats))


def random_plan(rng: random.Random, tasks: int, max_atoms: int = 4) -> list[PlanTask]:
    return [
        plan_task(
            f"d{rng.randint(0, 1)}/f{rng.randint(0, 1)}/t{index}",
            [f"a{n}" for n in range(rng.randint(1, max_atoms))],
            [f"x{n}" for n in range(rng.randint(0, 2))],
        )
        for index in range(tasks)
    ]


def random_run(rng: random.Random, tasks: int = 3, faults: bool = True, repeats: int = 1) -> Run:
    """A run of an agent that does anything, errors and missing records included."""
    choices = [*BEHAVIOURS, "hold", "hold", "hold", "strict", "strict"]
    if faults:
        choices += ["error", "missing"]
    return make_run(random_plan(rng, tasks), lambda condition: rng.choice(choices), repeats)
