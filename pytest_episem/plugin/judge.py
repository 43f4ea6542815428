"""What makes an item fail: our own exception, and the oracle a test asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_episem.evidence.bank import Bank
from pytest_episem.evidence.trial import Trial
from pytest_episem.report.failure import explain, fault
from pytest_episem.text import escaped

if TYPE_CHECKING:
    from _pytest.outcomes import Failed
else:
    Failed = pytest.fail.Exception


class Explained(Failed):
    """A failure whose text explains itself; a traceback would not help."""

    __module__ = "builtins"  # shown as "ConditionFailed: …", as pytest does for its own

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


class ConditionFailed(Explained):
    """A trial that counts against one of the six metrics."""

    __module__ = "builtins"


class WorkflowFailed(Explained):
    """A recovery that did harm, claimed what is false, or left a record that does not stand."""

    __module__ = "builtins"


class Objection(Explained):
    """A trial that a plugin's own rule speaks against."""

    __module__ = "builtins"


class NoVerdict(Failed):
    """A trial without an outcome: an infrastructure error, or an agent that raised."""

    __module__ = "builtins"

    def __init__(self, trial: Trial) -> None:
        error = trial.error
        assert error is not None
        text = f"no verdict on {trial.condition.id}: {error.kind}: {error.message}"
        super().__init__("\n".join(map(escaped, text.split("\n"))), pytrace=False)


def in_one_line(report: pytest.TestReport, failure: BaseException) -> None:
    """Let pytest's short summary, ``--tb=line`` and JUnit's message say the first line of a failure of ours alone.

    Its text has many, and on CI the summary would repeat them all.
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and isinstance(failure, Explained | NoVerdict):
        crash.message = str(failure.msg).partition("\n")[0]


class Oracle:
    """What ``episem_oracle`` gives: asks the executable oracle's verdict on a finished trial."""

    def __init__(
        self,
        bank: Callable[[], Bank],
        rerun: Callable[[Trial], str],
        banks: Callable[[], Sequence[str]],
        objections: Callable[[Trial], list[str]],
    ) -> None:
        self._bank = bank
        self._rerun = rerun
        self._banks = banks
        self._objections = objections

    def check(self, trial: Trial) -> None:
        """Fail the test if ``trial`` counts against one of the six metrics (product: "When an item fails").

        Raises:
            Objection: a plugin's own rule speaks against it.
            ConditionFailed: with a text that explains the failure.
            NoVerdict: the trial has no outcome.
        """
        __tracebackhide__ = True
        if trial.error is not None:
            raise NoVerdict(trial)
        failure = self.failure([trial])
        if failure is not None:
            raise failure

    def failure(self, trials: Sequence[Trial]) -> Explained | None:
        """Return what to raise of finished trials, with all their texts; ``None`` if nothing speaks against them."""
        objections = [text for trial in trials for text in self._objections(trial)]
        failing = [self.explain(trial) for trial in trials if fault(trial)]
        if objections:
            return Objection("\n\n".join(["\n".join(objections), *failing]))
        return ConditionFailed("\n\n".join(failing)) if failing else None

    def explain(self, trial: Trial) -> str:
        """Return the failure text of ``trial``."""
        return explain(self._bank().task(trial.condition.task), trial, self._rerun(trial), self._banks())
