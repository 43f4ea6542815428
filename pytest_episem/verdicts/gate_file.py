"""``gates.json`` of a run's directory: the limits that were set, and what became of them on which records.

A verdict is of the records it was computed from. Where these changed since (a run resumed, a line added), the kept
limits are held against what is there now.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_episem.errors import EpisemError
from pytest_episem.runs.run import RunHeader
from pytest_episem.runs.run_dir import Run
from pytest_episem.runs.store import TRIALS_FILE
from pytest_episem.runs.whole import write_whole
from pytest_episem.text import check_schema, dump_json, load_json
from pytest_episem.verdicts.baseline import Baseline
from pytest_episem.verdicts.gates import COMPLETE, GateResult, Gates, Limit, Verdict, evaluate, left_out

GATES_FILE, BASELINE_FILE = "gates.json", "gates-baseline.json"
SCHEMA = "episem.run-gates/1"


def keep(directory: Path, gates: Gates, result: GateResult) -> None:
    """Write the limits and their verdict beside the records; a directory that cannot be written keeps none."""
    if not gates.limits:
        return
    with contextlib.suppress(OSError, EpisemError):
        document = {
            "schema": SCHEMA,
            "limits": [asdict(limit) for limit in gates.limits],
            "gate_on": gates.gate_on,
            "min_coverage": gates.min_coverage,
            "max_unanswered": gates.max_unanswered,
            "records": _fingerprint(directory),
            "scope": result.scope,
            "verdicts": [asdict(verdict) for verdict in result.verdicts],
        }
        if gates.baseline is not None:
            gates.baseline.save(directory / BASELINE_FILE)
        write_whole(directory / GATES_FILE, f"{dump_json(document)}\n")


def kept(run: Run, banks: Sequence[Any] = ()) -> GateResult | None:
    """Return the verdict on the gates that were set for a run, as kept or, if its records changed, anew; ``None``
    without any. A file that cannot be read is a verdict too: failed. ``banks`` are those at hand."""
    path = None if run.directory is None else run.directory / GATES_FILE
    if path is None or not path.exists():
        return None
    try:
        document = check_schema(load_json(path.read_bytes()), SCHEMA, str(path))
        if document["records"] == _fingerprint(path.parent):
            return GateResult([Verdict(**one) for one in document["verdicts"]], str(document["scope"]))
        return evaluate(run, _gates(document, path.parent), left_out(run), banks=banks)
    except (EpisemError, OSError, ValueError, TypeError, KeyError) as fault:
        return GateResult([Verdict(COMPLETE, "the gates that were set", False, f"{path}: cannot be read: {fault}")])


def _gates(document: dict[str, Any], directory: Path) -> Gates:
    limits = tuple(Limit(**one) for one in document["limits"])
    baseline = directory / BASELINE_FILE
    return Gates(
        limits,
        document["gate_on"],
        document["min_coverage"],
        document["max_unanswered"],
        Baseline.load(baseline) if baseline.exists() else None,
    )


def _fingerprint(directory: Path) -> str:
    """Return the SHA-256 of what a verdict is computed from: the plan, what the session says of itself, the records.

    Raises:
        EpisemError: the header cannot be read.
    """
    header = RunHeader.load(directory)
    said = None if header.session is None else [header.session.complaints, header.session.ended is None]
    workflows = header.workflows and asdict(header.workflows)
    planned = [[asdict(task) for task in header.plan], sorted(header.planned_settings), said, workflows]
    digest = hashlib.sha256(dump_json(planned).encode())
    with contextlib.suppress(FileNotFoundError), open(directory / TRIALS_FILE, "rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
