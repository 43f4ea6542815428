"""Keeps the name of a test from the agent that plays it.

It says world, setting and mask, and pytest and pytest-xdist write it where any code can read it: into the environment,
which child processes inherit, and the title of the process. An agent could decide from that alone.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from _pytest import runner

from pytest_episem.plugin.node_ids import is_ours
from pytest_episem.plugin.options import SUITE_ID

CURRENT_TEST = "PYTEST_CURRENT_TEST"


def plays(item: pytest.Item) -> bool:
    """Return whether an agent plays in this item: one of ours, or a user's own test with our fixtures."""
    return is_ours(item.nodeid) or any(name.startswith("episem_") for name in getattr(item, "fixturenames", ()))


def install(config: pytest.Config) -> None:
    """Let ``PYTEST_CURRENT_TEST`` say ``episem (setup)`` and so on for our items, until ``config`` is unconfigured.

    pytest writes the variable and calls the item in one step, so no hook comes between. It has to exist: pytest removes
    it at the end, and libraries look whether it is there.
    """
    module: Any = runner
    original = module._update_current_test_var

    def update(item: pytest.Item, when: str | None) -> None:
        if when and plays(item):
            os.environ[CURRENT_TEST] = f"{SUITE_ID} ({when})"
        else:
            original(item, when)

    module._update_current_test_var = update
    config.add_cleanup(lambda: setattr(module, "_update_current_test_var", original))


def name_process(item: pytest.Item) -> None:
    """Take the item's name out of the title that pytest-xdist gives a worker's process, where it can."""
    titles: Any = sys.modules.get("setproctitle")
    if titles is not None and plays(item):
        titles.setproctitle(f"[pytest-xdist running] {SUITE_ID}")
