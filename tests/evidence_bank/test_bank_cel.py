"""The rule library is loaded without its command line, and is the one that everybody else gets."""

from __future__ import annotations

import subprocess
import sys

import pytest

ALONE = """
import sys
from pytest_episem.evidence.bank.cel_extension import cel
assert cel.compile("1 + 1 == 2").execute(cel.Context(variables={}, functions={})) is True
print([name for name in ("cel.cli", "typer", "prompt_toolkit", "pygments") if name in sys.modules])
import cel as package
print(package.Context is cel.Context, package.compile("2 > 1").execute(package.Context(variables={}, functions={})))
"""
AFTER = """
import cel as package
from pytest_episem.evidence.bank.cel_extension import cel
print(cel is package)
"""


@pytest.mark.parametrize(("code", "printed"), [(ALONE, "[]\nTrue True\n"), (AFTER, "True\n")])
def test_our_import_and_that_of_others_share_one_library(code, printed):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == printed
