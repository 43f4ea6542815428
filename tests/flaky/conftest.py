"""A payment provider that knows nothing of faults, agents that pay an invoice with it, and a way to run their tests."""

from __future__ import annotations

from pathlib import Path

import pytest

# pytester forgets what was imported inside a run; the core is imported once.
import pytest_episem.plugin.flaky  # noqa: F401

PAYMENTS = '''
"""A provider in memory, and agents that pay INV-7 with it and say what came of it."""
FAULTS = (TimeoutError, RuntimeError)


class Bank:
    def __init__(self):
        self.paid = []

    def charge(self, invoice: str, amount: int, key: str | None = None) -> dict:
        """Pay an invoice."""
        self.paid.append(invoice)
        return {"id": f"ch_{len(self.paid)}", "amount": amount}

    def find(self, invoice: str) -> bool:
        """Whether an invoice is paid."""
        return invoice in self.paid


def gives_up(charge, find):
    try:
        charge("INV-7", 120)
    except FAULTS:
        return "not known"
    return "done"


def retries_blindly(charge, find, key=None):
    for _ in range(2):
        try:
            charge("INV-7", 120, key)
        except FAULTS:
            continue
        return "done"
    return "not known"


def retries_with_key(charge, find):
    return retries_blindly(charge, find, "INV-7")


def looks_first(charge, find):
    try:
        charge("INV-7", 120)
    except FAULTS:
        if not find("INV-7"):
            return gives_up(charge, find)
    return "done"


def looks_and_has_key(charge, find):
    for _ in range(3):
        try:
            charge("INV-7", 120, key="INV-7")
        except FAULTS:
            pass
        if find("INV-7"):
            return "done"
    return "not known"


AGENTS = (gives_up, retries_blindly, retries_with_key, looks_first, looks_and_has_key)
'''


class Ran:
    """What came of a run: each item's outcome and text by its name, and pytest's own output."""

    def __init__(self, reprec, output) -> None:
        self.exit = int(reprec.ret)
        self.output = output
        reports = [report for report in reprec.getreports("pytest_runtest_logreport") if not report.skipped]
        failing = [report for report in reports if report.failed]
        self.outcomes = {r.nodeid.split("::")[-1]: r.outcome for r in reports if r.when == "call"}
        self.outcomes |= {report.nodeid.split("::")[-1]: report.outcome for report in failing}
        self.texts = {report.nodeid.split("::")[-1]: report.longreprtext for report in failing}

    def first_line(self, name: str) -> str:
        return self.texts[name].partition("\n")[0]


@pytest.fixture
def run(pytester: pytest.Pytester, capsys):
    """Run a test module in this process, beside ``payments``; returns what came of it."""

    def run(source: str, *arguments: str) -> Ran:
        pytester.makepyfile(payments=PAYMENTS, test_own=source)
        capsys.readouterr()
        reprec = pytester.inline_run("-p", "no:cacheprovider", *arguments)
        return Ran(reprec, capsys.readouterr().out)

    return run


@pytest.fixture
def written(pytester: pytest.Pytester):
    """What the tests that ran have written into the file ``written``, line by line."""
    return lambda: Path(pytester.path / "written").read_text().splitlines()
