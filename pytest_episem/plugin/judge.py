"""What makes an item fail: our own exception, and the oracle a test asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_episem.runs.trial import Trial
from pytest_episem.suite import Suite, suite
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
    """A trial that counts against its agent."""

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
    """What ``episem_oracle`` gives: asks the executable oracle's verdict on a finished trial.

    ``task`` gives the task of a condition, ``rerun`` the command that runs a trial again, ``banks`` those named,
    ``objections`` what other plugins have against a trial.
    """

    def __init__(
        self,
        task: Callable[[Any], Any],
        rerun: Callable[[Any], str],
        banks: Callable[[], Sequence[str]],
        objections: Callable[[Any], list[str]],
    ) -> None:
        self._task = task
        self._rerun = rerun
        self._banks = banks
        self._objections = objections

    def check(self, trial: Any) -> None:
        """Fail the test if ``trial`` counts against its agent (product: "When an item fails").

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

    def failure(self, trials: Sequence[Any]) -> Explained | None:
        """Return what to raise of finished trials, with all their texts; ``None`` if nothing speaks against them."""
        objections = [text for trial in trials for text in self._objections(trial)]
        failing = [self.explain(trial) for trial in trials if trial.completed and _suite(trial).fault(trial)]
        if objections:
            return Objection("\n\n".join(["\n".join(objections), *failing]))
        return ConditionFailed("\n\n".join(failing)) if failing else None

    def explain(self, trial: Any) -> str:
        """Return the failure text of ``trial``."""
        return _suite(trial).explain(self._task(trial.condition), trial, self._rerun(trial), self._banks())


def _suite(trial: Any) -> Suite:
    return suite(trial.condition.suite)
