"""What gates say when nothing else of ours is loaded. Imports nothing heavy."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import pytest

from pytest_episem.plugin.options import unknown_keys, value
from pytest_episem.plugin.screen import end_line

KEEPER = "episem-gates"
"""The name under which the keeper of the gates is registered, once somebody chose an agent."""
NO_AGENT = "no agent under test: give --episem-model or --episem-agent"
"""Why gates of a file were not evaluated."""


class NotEvaluated:
    """Gates stand in a file and nobody chose an agent: says so at the end, unless a test of the user's own did."""

    def __init__(self, config: pytest.Config) -> None:
        unknown = unknown_keys(config)
        if unknown:
            raise pytest.UsageError(unknown)
        self.config = config

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, Any]:
        try:
            return (yield)
        finally:
            keeper: Any = self.config.pluginmanager.get_plugin(KEEPER)
            if keeper is None or not keeper.decides:
                say(self.config, f"episem gate: not evaluated ({self._reason})")

    @property
    def _reason(self) -> str:
        chosen = value(self.config, "suite")
        if self.config.pluginmanager.has_plugin(KEEPER):
            return f"the gates that are set are of another suite than {chosen}"
        return NO_AGENT


def say(config: pytest.Config, line: str, **markup: bool) -> None:
    """Print a line that must be seen: through pytest's reporter, or without one past whatever captures output."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(reporter, "write_line"):
        end_line(reporter)
        reporter.write_line(line, **markup)
        return
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        print(line, flush=True)
