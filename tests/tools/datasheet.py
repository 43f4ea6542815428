"""The numbers in the shipped bank's ``README.md``: ``python tests/tools/datasheet.py``.

The text around them is written by hand. The command writes what stands between the two marks anew; ``--check`` only
says whether it is what the bank gives, and exits 1 if not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_episem.banks.folder import shipped_bank_dir
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import Bank, Task, shipped_bank
from pytest_episem.evidence.validate.report import Count, Counts

BEGIN = "<!-- numbers: python tests/tools/datasheet.py -->"
END = "<!-- end of numbers -->"


def numbers(bank: Bank) -> str:
    """Return the Markdown of everything that is counted: version, hash, domains, cardinality, families."""
    return "\n".join([*_identity(bank), "", *_domains(bank), "", *_cardinality(bank), "", *_families(bank)])


def rewritten(text: str, bank: Bank) -> str:
    """Return a datasheet's text with the part between the marks replaced by ``numbers``.

    Raises:
        EpisemError: the marks are missing or not there exactly once.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise EpisemError(f"the datasheet must hold {BEGIN!r} and after it {END!r}, once each")
    return f"{text.partition(BEGIN)[0]}{BEGIN}\n\n{numbers(bank)}\n\n{END}{text.partition(END)[2]}"


def _identity(bank: Bank) -> Iterator[str]:
    total = Counts.of(bank.tasks.values()).total
    yield f"Version `{bank.version}`, SHA-256 of the family files `{bank.hash}`."
    yield ""
    yield (
        f"{total.pairs} pairs, {2 * total.pairs} worlds, {total.families} families; {total.atoms:,} maskable facts, "
        f"{total.critical} critical and {total.irrelevant} irrelevant; {total.masks:,} nonempty sets of critical facts."
    )


def _domains(bank: Bank) -> Iterator[str]:
    counts = Counts.of(bank.tasks.values())
    yield from _head("domain", "families", "pairs", "critical", "irrelevant", "critical masks")
    for name, count in [*counts.domains.items(), ("**all**", counts.total)]:
        yield _row(name, *_cells(count))


def _cells(count: Count) -> tuple[str, ...]:
    sizes = (count.families, count.pairs, count.critical, count.irrelevant, count.masks)
    return tuple(f"{size:,}" for size in sizes)


def _cardinality(bank: Bank) -> Iterator[str]:
    cardinality = Counts.of(bank.tasks.values()).cardinality
    yield from _head("critical facts of a pair", *(str(size) for size in cardinality))
    yield _row("pairs", *(str(pairs) for pairs in cardinality.values()))


def _families(bank: Bank) -> Iterator[str]:
    yield "| family | pairs | critical facts of each | irrelevant facts of each |"
    yield "| --- | ---: | --- | --- |"
    for name in bank.families:
        tasks = [task for task in bank.tasks.values() if task.id.startswith(f"{name}/")]
        yield _row(name, str(len(tasks)), _sizes(tasks, "critical"), _sizes(tasks, "irrelevant"))


def _sizes(tasks: Iterable[Task], role: str) -> str:
    return " ".join(str(size) for size in sorted(len(getattr(task, role)) for task in tasks))


def _head(first: str, *others: str) -> Iterator[str]:
    yield _row(first, *others)
    yield _row("---", *("---:" for _ in others))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str] | None = None) -> int:
    """Write the datasheet's numbers anew, or check them; return 1 where a check finds a difference."""
    parser = argparse.ArgumentParser(prog="python tests/tools/datasheet.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the file is not current")
    parser.add_argument("--file", type=Path, default=shipped_bank_dir() / "README.md", help="the datasheet")
    chosen = parser.parse_args(arguments)
    try:
        old = chosen.file.read_text(encoding="utf-8")
        new = rewritten(old, shipped_bank())
    except (EpisemError, OSError) as fault:
        print(f"{chosen.file}: {fault}", file=sys.stderr)
        return 2
    if chosen.check:
        print(f"{chosen.file}: {'current' if new == old else 'the numbers are not those of the bank'}")
        return int(new != old)
    if new != old:
        chosen.file.write_text(new, encoding="utf-8", newline="\n")
    print(f"{chosen.file}: {'written' if new != old else 'current'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
