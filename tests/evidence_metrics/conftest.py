"""Fixtures of the metrics tests."""

from __future__ import annotations

from types import ModuleType

import pytest
import run_builders


@pytest.fixture(scope="session")
def build() -> ModuleType:
    """The builders of fake plans, trials and runs."""
    return run_builders
