"""Every benchmark in one session, one table: ``python tests/benchmarks/run.py``.

    python tests/benchmarks/run.py                                 everything, half an hour on two cores
    python tests/benchmarks/run.py --out docs/benchmarks.md        the same, written into the page between its marks
    python tests/benchmarks/run.py --only rollout start            some comparisons
    python tests/benchmarks/run.py --quick                         tiny sizes: whether it works, not how fast

Makes a virtual environment for each engine under ``build/benchmarks`` (from the package index, once; ``--fresh`` makes
them anew with the newest versions). Linux and macOS. No part of the plain ``pytest``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from comparisons import COMPARISONS, FULL, QUICK, Bench, Row
from environments import Environments
from measure import Failed

BEGIN, END = "<!-- table: python tests/benchmarks/run.py -->", "<!-- end of table -->"


def main() -> int:
    options = parse()
    size = QUICK if options.quick else FULL
    if options.rounds:
        size = replace(size, rounds=options.rounds)
    rows: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as work:
        bench = Bench(size, Environments(options.here, options.fresh), Path(work))
        try:
            for name in options.only:
                began = time.monotonic()
                rows[name] = list(COMPARISONS[name](bench))
                print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            text = table(rows, bench.environments.versions(), size.rounds, judged=not options.quick)
        except Failed as failed:
            print(f"failed: {failed}", file=sys.stderr)
            return 1
    print(text)
    if options.out:
        write(options.out, text)
    if options.json:
        options.json.write_text(json.dumps(data(rows, bench.counts), indent=1), encoding="utf-8")
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(COMPARISONS), default=list(COMPARISONS))
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each comparison")
    parser.add_argument("--here", action="store_true", help="our engine in the running Python, not one made for it")
    parser.add_argument("--fresh", action="store_true", help="make the environments anew")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table to FILE, or between its marks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and counts to FILE")
    options = parser.parse_args()
    if options.out and marked(options.out) and (options.quick or set(options.only) != set(COMPARISONS)):
        parser.error(f"{options.out} holds the table of one whole session: leave out --only and --quick")
    return options


def table(rows: dict[str, list[Row]], versions: list[str], rounds: int, judged: bool) -> str:
    """Return the table as Markdown, with what was measured above it. Tiny sizes are not judged."""
    head = f"{time.strftime('%B %Y')}: {', '.join(versions)}. Minimum (median) of {rounds} rounds.\n"
    lines = ["| | pytest-episem | compared with | ratio | target |", "| --- | --- | --- | --- | --- |"]
    for name, group in rows.items():
        lines += [f"| **{name}** | | | | |", *(line(row, judged) for row in group)]
    return "\n".join([head, *lines, ""])


def line(row: Row, judged: bool) -> str:
    words = (
        {True: "met", False: "missed", None: "unknown"} if judged else dict.fromkeys((True, False, None), "not judged")
    )
    ratio = "" if row.ratio is None else f"{row.ratio:.3f}" if row.ratio.median < 0.1 else f"{row.ratio:.2f}"
    target = "" if row.target is None else f"{row.target:g}, {words[row.met]}"
    return f"| {row.what} | {row.ours} | {row.other} | {ratio} | {target} |"


def marked(file: Path) -> bool:
    return file.is_file() and BEGIN in file.read_text(encoding="utf-8")


def write(file: Path, text: str) -> None:
    """Write the table to a file of its own, or between the marks of a page that has them."""
    if marked(file):
        before, _, rest = file.read_text(encoding="utf-8").partition(BEGIN)
        text = f"{before}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}"
    file.write_text(text, encoding="utf-8")


def data(rows: dict[str, list[Row]], counted: dict[str, int]) -> dict[str, object]:
    """Return the figures for a program."""
    return {
        "rows": {
            name: [
                {
                    "what": row.what,
                    "ratio": None if row.ratio is None else [row.ratio.minimum, row.ratio.median],
                    "target": row.target,
                    "met": row.met,
                }
                for row in group
            ]
            for name, group in rows.items()
        },
        "counts": counted,
    }


if __name__ == "__main__":
    sys.exit(main())
