"""Installed but not asked for, the plugin does nothing and loads nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("litellm", "rich", "yaml", "pydantic", "numpy", "jsonschema", "cel", "click", "pytest_episem.evidence.bank")

PROBE = """
import sys
def test_nothing_heavy_is_loaded(request):
    heavy = {heavy!r}
    assert [name for name in heavy if name in sys.modules] == []
    assert not request.config.pluginmanager.has_plugin("episem-face")
    assert any(name.startswith("pytest_episem.plugin") for name in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_plain_session_loads_nothing_heavy(pytester, workers):
    pytester.makepyfile(test_probe=PROBE.format(heavy=HEAVY))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *workers)
    result.assert_outcomes(passed=1)
    assert "episem" not in "\n".join(line for line in result.outlines if not line.startswith("plugins:"))
    made = {path.name for path in pytester.path.iterdir() if not path.name.startswith("runpytest-")}
    assert made <= {"test_probe.py", "__pycache__", "stdout", "stderr"}


def test_importing_the_entry_point_loads_few_modules():
    code = (
        "import pytest, sys; before = set(sys.modules)\n"
        "import pytest_episem.plugin; print(len(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 17  # nine of them the suites' own word of their metrics, which options are made of


def test_help_lists_every_option(pytester):
    result = pytester.runpytest("--help")
    from pytest_episem.plugin.options import OPTIONS

    text = "\n".join(result.outlines)
    assert all(option.flag in text for option in OPTIONS)
