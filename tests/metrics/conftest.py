"""Fixtures of the metrics tests. The builders are loaded by path, so that any import mode of pytest works."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load_builders() -> ModuleType:
    name = "episem_test_builders"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("builders.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def build() -> ModuleType:
    """The builders of fake plans, trials and runs."""
    return load_builders()
