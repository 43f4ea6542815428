"""Run every check over a bank."""

from __future__ import annotations

from pathlib import Path

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.validate import copies, facts, goal, masking, reviews, shape, values, wording, worlds
from pytest_episem.evidence.validate.codes import CODES
from pytest_episem.evidence.validate.context import Check, read_bank
from pytest_episem.evidence.validate.report import Counts, Report

CHECKS: tuple[Check, ...] = (
    shape.load_faults,
    shape.unique_instances,
    shape.tool_kinds,
    shape.used_places,
    shape.unused_values,
    worlds.twins,
    facts.critical_atoms,
    facts.irrelevant_atoms,
    facts.handed_out,
    masking.exposed,
    masking.takes_or_uncovers,
    masking.single_masks,
    masking.all_critical,
    copies.hidden_copies,
    copies.telling_texts,
    copies.plain_values,
    masking.indistinguishable,
    worlds.agreement,
    worlds.widened_sets,
    worlds.functions,
    worlds.instants,
    worlds.boundary,
    reviews.reviews,
    wording.label_words,
    wording.exceptions,
    wording.selection,
    values.shared_values,
    values.invented_values,
    goal.goal_arguments,
    goal.gold_run,
    goal.known_ids,
    goal.turns,
    goal.other_commits,
    goal.same_commits,
    goal.earlier_calls,
    shape.types,
    shape.candidates,
    shape.partial_text,
    shape.one_spelling,
    shape.fresh_state,
    shape.counts,
)
"""In the order of the rows."""


def validate_bank(directory: Path, *, shipped: bool = False, only: str = "") -> Report:
    """Check a bank against every row of the list; never raises for a fault of the bank.

    Families and instances that do not load are reported, and the other rows run on those that do.

    Args:
        directory: holds ``evidence/<domain>/<family>.yaml`` or the domains themselves.
        shipped: hold the bank to signed reviews and to the shipped counts as well.
        only: a domain, or ``domain/family``, to check; everything else is read for comparison only.
    """
    context = read_bank(directory, shipped=shipped, only=only)
    problems: list[Problem] = []
    for check in CHECKS:
        problems += check(context)
    order = list(CODES)
    problems.sort(key=lambda problem: order.index(problem.code))
    return Report(
        bank=directory.name,
        version=context.version,
        hash=context.hash,
        shipped=shipped,
        problems=tuple(dict.fromkeys(problems)),
        counts=Counts.of(task for _, task in context.tasks()),
    )
