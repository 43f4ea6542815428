"""Whether a worker runs what the controller records: on another machine plugin, bank or ini file may be others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from pytest_episem.errors import EpisemError
from pytest_episem.runs.run import RunHeader, mismatch
from pytest_episem.text import dump_json

TERMS = "episem_terms"
"""Under this key a worker is given the controller's terms; one that is not sends its own with its first report."""


def terms_of(header: RunHeader, tasks: Iterable[str]) -> str:
    """Return, as JSON, what a process goes by: what binds a run, the plugin's version and the tasks chosen."""
    workflows = header.workflows and replace(header.workflows, planned=[])
    chosen = hashlib.sha256("\n".join(tasks).encode()).hexdigest()
    settings = {**header.settings, "plugin_version": header.plugin_version, "chosen_tasks": chosen}
    return dump_json(asdict(replace(header, run="", started="", plan=[], workflows=workflows, settings=settings)))


def check_terms(controller: str, worker: str) -> None:
    """Refuse a worker whose terms are not the controller's.

    Raises:
        EpisemError: naming every difference.
    """
    if controller != worker:
        ours, theirs = (TypeAdapter(RunHeader).validate_json(terms) for terms in (controller, worker))
        differences = mismatch(ours, theirs, ("in the controller", "in the worker"))
        if differences:
            raise EpisemError(f"runs something else than the controller: {'; '.join(differences)}")


def check_start(node: Any, error: object) -> None:
    """End the run when a worker was not able to start: xdist would start another one, for ever if ``--tx`` made it.

    Raises:
        pytest.UsageError: with the worker and the reason, in one line.
    """
    # Only what the worker itself raised is text of several lines; a worker that is gone has left no reason.
    lines = str(error).strip().splitlines()
    reason = next((line for line in reversed(lines) if line and not line.startswith(" ")), "")
    kind, _, text = reason.partition(": ")
    refused = kind.endswith("UsageError")
    if len(lines) > 1 and (refused or not hasattr(node, "workerinfo")):
        raise pytest.UsageError(f"{place(node)}: {text if refused else reason}")


def place(node: Any) -> str:
    """Return which worker a message is about, and where it is."""
    spec = str(node.gateway.spec).removeprefix("execmodel=main_thread_only//")
    return f"worker {node.gateway.id} ({spec})"
