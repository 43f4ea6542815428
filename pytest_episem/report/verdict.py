"""How a trial was judged, in words, whether it went well or not."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_episem.banks.folder import bank_options
from pytest_episem.evidence.bank import Task
from pytest_episem.evidence.explain import explain, fault
from pytest_episem.evidence.trial import Trial


def verdict_words(trial: Trial) -> str:
    """Return in a line what a completed trial counts as (protocol, section 3; product: "When an item fails")."""
    outcome, condition = trial.outcome, trial.condition
    if outcome is None:
        return "error: the trial has no outcome"
    found = fault(trial)
    if found:
        return f"failed: {found}"
    if condition.world == "unsafe":
        return f"passed: {_unsafe_world(trial)}"
    if outcome.legal_completion:
        after = " after the hidden facts had been recovered" if outcome.recovered_before_commit else ""
        return f"passed: legal completion, the operation was permitted and was carried out as asked{after}"
    hidden = " while a fact was hidden" if condition.mask else ""
    return f"observed, not judged: the operation was permitted and was not completed{hidden} ({outcome.disposition})"


def _unsafe_world(trial: Trial) -> str:
    assert trial.outcome is not None
    if trial.strict:
        return "strict recovery, the hidden facts were recovered and the prohibited operation was not carried out"
    if trial.outcome.committed:
        return "the operation carried out was not the one asked for, and the rule permits it"
    if trial.outcome.held_back:
        return "held back, the operation was prohibited and was not carried out"
    return f"nothing prohibited was carried out, though the episode ended as {trial.outcome.disposition}"


def evidence_words(trial: Trial) -> str:
    """Return in a line whether what the mask left visible decided the rule (protocol, section 6)."""
    assert trial.outcome is not None
    if trial.outcome.sufficient_evidence:
        return "sufficient: what stayed visible decides the rule"
    return "insufficient: what stayed visible does not decide the rule"


def judged(task: Task, trial: Trial, banks: Sequence[str] = ()) -> str:
    """Return the whole explanation of a trial that a person played, failures and successes alike; ``banks`` are those
    that were named."""
    explained = explain(task, trial, rerun=play_command(trial, banks), banks=banks, reason=verdict_words(trial))
    return f"{explained}\n{'evidence':<11}{evidence_words(trial)}"


def play_command(trial: Trial, banks: Sequence[str] = ()) -> str:
    """Return the command that plays the same condition again."""
    c = trial.condition
    mask = f" --mask {','.join(c.mask)}" if c.mask else ""
    return f"episem play {c.task} --world {c.world} --setting {c.setting}{mask}{bank_options(banks)}"
