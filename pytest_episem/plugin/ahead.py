"""Which rollouts may begin before their items run: those that this process will run, if they share one agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from pytest_episem.evidence.bank import Bank, Task
from pytest_episem.evidence.condition import Condition
from pytest_episem.plugin.collect import BoundaryItem, ConditionItem

NO_PREFETCH = "episem_no_prefetch"
"""Under this key a worker that replaces a crashed one is told to run one rollout after the other."""


def upcoming(bank: Bank, item: pytest.Item) -> Iterator[Condition | Task]:
    """Yield what ``item`` and the items queued behind it will ask for, the longest boundary searches first.

    Nothing but ``item``'s own if the agent is made anew for each item: then no two rollouts may share one.
    """
    items = list(_queued(item)) if _shares_agent(item) else []
    groups: dict[str, list[Condition | Task]] = {}
    for wanted in (_wanted(bank, one) for one in items):
        if wanted is not None:
            groups.setdefault(wanted.id if isinstance(wanted, Task) else wanted.task, []).append(wanted)
    for group in sorted(groups.values(), key=len, reverse=True):
        yield from group


def _shares_agent(item: Any) -> bool:
    definitions = item._fixtureinfo.name2fixturedefs.get("episem_agent", ())
    return bool(definitions) and definitions[-1].scope != "function"


def _queued(item: pytest.Item) -> Iterable[pytest.Item]:
    worker_input: dict[str, Any] | None = getattr(item.config, "workerinput", None)
    if worker_input is None:
        return item.session.items
    if worker_input.get(NO_PREFETCH):
        return []
    return [item.session.items[index] for index in _queued_indices(item.config)]


def _queued_indices(config: pytest.Config) -> list[int]:
    """Return the items that xdist has handed to this worker; none if this version of it keeps them elsewhere."""
    for plugin in config.pluginmanager.get_plugins():
        queue: Any = getattr(plugin, "torun", None)
        if hasattr(queue, "lock") and hasattr(plugin, "nextitem_index"):
            with queue.lock() as waiting:
                indices = [plugin.nextitem_index, *waiting]
            return [index for index in indices if isinstance(index, int)]
    return []


def _wanted(bank: Bank, item: pytest.Item) -> Condition | Task | None:
    if isinstance(item, ConditionItem):
        return item.condition
    if isinstance(item, BoundaryItem):
        return bank.task(item.task_id)
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("episem_condition") if callspec is not None else None
