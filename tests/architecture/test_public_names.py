"""The public face: what ``pytest_episem`` exports is there, light until it is asked for, and described."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pytest_episem

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"


@pytest.mark.parametrize("name", pytest_episem.__all__)
def test_every_public_name_is_there_and_has_words_of_its_own(name):
    found = getattr(pytest_episem, name)
    assert (found.__doc__ or "").strip()
    assert f"### {name}\n" in REFERENCE.read_text(encoding="utf-8")


def test_the_groups_and_the_list_say_the_same():
    grouped = [name for names in pytest_episem.PUBLIC.values() for name in names]
    assert sorted(grouped) == sorted(pytest_episem.__all__)
    assert len(set(grouped)) == len(grouped)
    assert set(pytest_episem.__all__) <= set(dir(pytest_episem))


def test_a_name_that_is_none_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pytest_episem.nothing


def test_importing_the_package_loads_nothing_of_it():
    code = "import sys, pytest_episem; print([m for m in sys.modules if m.startswith('pytest_episem.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_public_name_is_no_module_of_the_package():
    """Importing the module would put it in the name's place."""
    modules = {path.stem for path in Path(pytest_episem.__file__).parent.iterdir()}
    assert modules.isdisjoint(pytest_episem.__all__)
