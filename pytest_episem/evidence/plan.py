"""The fixed conditions of a task: always run whole, whatever fails (protocol, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pytest_episem.evidence.condition import WORLDS, Condition, MaskRole, Setting

MASKED_SETTINGS: tuple[Setting, ...] = ("se", "re")


def fixed_conditions(
    task: str,
    critical: Sequence[str],
    irrelevant: Sequence[str],
    repeats: int = 1,
    full_audit: bool = False,
) -> list[Condition]:
    """Return the task's fixed conditions in running order.

    Unsafe and safe under ``full``; then for each atom, critical ones first, unsafe-se, safe-se, unsafe-re and
    safe-re; then, if asked for, the ``full_audit`` control in both worlds. With ``repeats`` > 1 the whole list
    follows again for each further repeat, so that repeat 0, which alone feeds the six metrics, is done first.
    """
    cells: list[tuple[Setting, tuple[str, ...]]] = [("full", ())]
    cells += [(setting, (atom,)) for atom in (*critical, *irrelevant) for setting in MASKED_SETTINGS]
    if full_audit:
        cells.append(("full_audit", ()))
    return [
        Condition(task, world, setting, mask, repeat)
        for repeat in range(repeats)
        for setting, mask in cells
        for world in WORLDS
    ]


def count(critical: int, irrelevant: int, repeats: int = 1, full_audit: bool = False) -> int:
    """Return how many fixed conditions a task with so many atoms has, without listing them."""
    return (2 + 4 * (critical + irrelevant) + (2 if full_audit else 0)) * repeats


def mask_role(mask: Iterable[str], critical: Iterable[str]) -> MaskRole:
    """Return the role of a valid mask: ``none`` when empty, else the role its atoms share."""
    atoms = set(mask)
    if not atoms:
        return "none"
    return "critical" if atoms <= set(critical) else "irrelevant"


def unplanned(plan: Iterable[Any]) -> Callable[[Any], str]:
    """Return the function that says what the tasks of a plan do not account for in a trial; ``""`` for nothing."""
    roles = {task.task: (set(task.critical), set(task.irrelevant)) for task in plan}

    def fault(trial: Any) -> str:
        condition = trial.condition
        if condition.task not in roles:
            return "is of a task that the plan in run.json does not list"
        critical, irrelevant = roles[condition.task]
        mask = set(condition.mask)
        if not (mask <= critical or mask <= irrelevant):
            return "masks atoms that the plan in run.json does not list"
        if trial.mask_role != mask_role(mask, critical):
            return f"has mask_role {trial.mask_role!r}, the plan says otherwise"
        return ""

    return fault
