"""Which rollouts may begin before their items run: those that this process will run, if they share one agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from pytest_episem.plugin.collect import BoundaryItem
from pytest_episem.plugin.node_ids import condition_of

NO_PREFETCH = "episem_no_prefetch"
"""Under this key a worker that replaces a crashed one is told to run one rollout after the other."""


def upcoming(item: pytest.Item, task: Callable[[str, str], Any]) -> Iterator[tuple[str, Any]]:
    """Yield what ``item`` and the items queued behind it will ask for, each with its suite: conditions, and tasks whose
    boundary is searched, which ``task`` gives by suite and id. The longest first.

    Nothing but ``item``'s own if the agent is made anew for each item: then no two rollouts may share one.
    """
    items = list(_queued(item)) if _shares_agent(item) else []
    groups: dict[str, list[tuple[str, Any]]] = {}
    for one in items:
        if isinstance(one, BoundaryItem):
            groups.setdefault(one.task_id, []).append((one.suite_name, task(one.suite_name, one.task_id)))
        elif (condition := condition_of(one)) is not None:
            groups.setdefault(condition.task, []).append((condition.suite, condition))
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
