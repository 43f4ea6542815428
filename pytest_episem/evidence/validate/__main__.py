"""``python -m pytest_episem.evidence.validate [DIR] [--domain D] [--family F]``: the validator by itself."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.evidence.validate.run import validate_bank


def main(arguments: list[str] | None = None) -> int:
    """Print the problems and the counts; return 1 where there is a problem."""
    parser = argparse.ArgumentParser(prog="python -m pytest_episem.evidence.validate", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=shipped_bank_dir())
    parser.add_argument("--domain", default="", help="check one domain")
    parser.add_argument("--family", default="", help="check one family of it")
    parser.add_argument("--shipped", action="store_true", help="hold the bank to its reviews and counts")
    chosen = parser.parse_args(arguments)
    if chosen.family and not chosen.domain and "/" not in chosen.family:
        parser.error("--family needs --domain, or is written domain/family")
    only = chosen.family if "/" in chosen.family else "/".join(p for p in (chosen.domain, chosen.family) if p)
    report = validate_bank(chosen.directory, shipped=chosen.shipped, only=only)
    for problem in report.problems:
        print(problem)
    print(*report.counts.lines(), sep="\n")
    print(f"{len(report.problems)} problems" if report.problems else "no problems")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
