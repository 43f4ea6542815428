"""What a failing condition is while gates decide: a category of its own and no failed test. Workers know it too."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_episem.plugin.judge import ConditionFailed
from pytest_episem.plugin.options import gates_set

TEXT = "episem_condition"
"""The attribute of a report that holds why the condition failed."""


class GateCategory:
    """Makes a failing condition a passed test that carries its text, if any gate is set."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.decides = gates_set(config)
        """Whether gates decide for our items."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report = yield
        ours = call.excinfo is not None and isinstance(call.excinfo.value, ConditionFailed)
        if self.decides and ours and report.when == "call" and report.outcome == "failed":
            # Any other word than pytest's three breaks JUnit and HTML; "passed" with a mark is understood by all.
            setattr(report, TEXT, str(report.longrepr))
            report.outcome, report.longrepr = "passed", None
        return report
