"""What pytest shows of a failing item, made fit to be shown: agents and models write into it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_episem.scrub import fit_to_print


def make_fit(report: pytest.TestReport) -> None:
    """Take secrets, lone surrogates and commands of a CI runner out of a report's failure and captured output.

    Terminal, JUnit file, other plugins' reports and the wire between xdist's processes all read it from there.
    """
    report.sections = [(title, fit_to_print(text)) for title, text in report.sections]
    report.longrepr = _fit(report.longrepr)


def _fit(shown: Any) -> Any:
    """Return what pytest made of an exception with all its texts made fit; its objects are changed in place."""
    if isinstance(shown, str):
        return fit_to_print(shown)
    if isinstance(shown, list | tuple):
        return [*map(_fit, shown)] if isinstance(shown, list) else tuple(map(_fit, shown))
    if type(shown).__module__.startswith("_pytest."):
        for name, value in getattr(shown, "__dict__", {}).items():
            setattr(shown, name, _fit(value))
    return shown
