"""The small bank's place, and writing family files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

SMALL = Path(__file__).parents[1] / "evidence_bank" / "small_bank"


class NoAliases(yaml.SafeDumper):
    """Writes every value out."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def write_family(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.dump(content, Dumper=NoAliases, sort_keys=False, allow_unicode=True), encoding="utf-8")
