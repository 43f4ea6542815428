"""Ways to break a copy of the small bank that was worked out by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bank_files import SMALL, write_family

from pytest_episem.banks.problem import BankError
from pytest_episem.banks.yaml_file import read_yaml
from pytest_episem.evidence.bank import load_bank


@pytest.fixture
def copy_of_bank(tmp_path: Path) -> Path:
    """A copy of the small bank that a test may change."""
    return Path(shutil.copytree(SMALL, tmp_path / "bank"))


@pytest.fixture
def broken(copy_of_bank: Path) -> Callable[[str, Callable[[dict[str, Any]], Any]], BankError]:
    """``broken(family, change)`` loads a copy of the bank with one family changed; returns the error it gives."""

    def load(family: str, change: Callable[[dict[str, Any]], Any]) -> BankError:
        file = copy_of_bank / f"{family}.yaml"
        content = read_yaml(file)
        change(content)
        write_family(file, content)
        with pytest.raises(BankError) as raised:
            load_bank(copy_of_bank)
        return raised.value

    return load
