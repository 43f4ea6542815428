"""How items reach xdist's workers: all conditions of a pair go to one worker, so that its boundary search can reuse
what already ran there. Other tests are dealt one by one."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from xdist.report import report_collection_diff
from xdist.workermanage import parse_tx_spec_config


class PairScheduling:
    """xdist's ``Scheduling`` protocol, with a pair as the unit. A crashed item is not run again.

    ``ahead`` is how many items each worker has queued, at least two: a worker starts an item only when it knows
    the next one, or that there is none. ``unit`` gives a node id's pair, ``None`` for other tests.
    """

    def __init__(self, config: pytest.Config, ahead: int, unit: Callable[[str], str | None]) -> None:
        self.config = config
        self._unit = unit
        self._wanted = len(parse_tx_spec_config(config))
        self._ahead = max(2, ahead)
        self._collections: dict[Any, list[str]] = {}
        self._queued: dict[Any, list[int]] = {}
        self._units: deque[list[int]] = deque()
        self._collection: list[str] | None = None
        self._taken_back: set[Any] = set()

    @property
    def nodes(self) -> list[Any]:
        return list(self._queued)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collections) >= self._wanted

    @property
    def tests_finished(self) -> bool:
        return self.collection_is_completed and not self._units and all(len(q) < 2 for q in self._queued.values())

    @property
    def has_pending(self) -> bool:
        return bool(self._units) or any(self._queued.values())

    def add_node(self, node: Any) -> None:
        self._queued[node] = []

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        if self._collection is not None and list(collection) != self._collection:
            # A replacement that collected something else cannot be given indices of ours.
            node.shutdown()
            return
        self._collections[node] = list(collection)

    def schedule(self) -> None:
        """Deal out the first items; called again when a replacement worker is ready."""
        if self._collection is None:
            if not self._same_collections():
                return
            self._collection = next(iter(self._collections.values()))
            self._units = deque(dealing_order(units([self._unit(nodeid) for nodeid in self._collection])))
        for node in self.nodes:
            if node in self._collections:
                self._refill(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        self._queued[node].remove(item_index)
        self._refill(node)

    def mark_test_pending(self, item: str) -> None:
        assert self._collection is not None
        self._units.appendleft([self._collection.index(item)])
        for node in self.nodes:
            self._refill(node)

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        gone = set(indices)
        self._queued[node] = [index for index in self._queued[node] if index not in gone]

    def remove_node(self, node: Any) -> str | None:
        queued = self._queued.pop(node)
        if not queued:
            return None
        assert self._collection is not None
        crashed, rest = queued[0], queued[1:]
        self._units.extendleft(reversed(list(units([self._unit(nodeid) for nodeid in self._collection], rest))))
        for other in self.nodes:
            self._refill(other)
        return self._collection[crashed]

    def _refill(self, node: Any) -> None:
        queued = self._queued[node]
        if self._stopping():
            self._take_back(node)
        if node.shutting_down:
            return
        while self._units and len(queued) < self._ahead:
            try:
                node.send_runtest_some(self._units[0])
            except OSError:  # it has ended, which is among the events still to come
                return
            queued += self._units.popleft()
        if not self._units:
            node.shutdown()

    def _stopping(self) -> bool:
        session = self.config.pluginmanager.get_plugin("dsession")
        return bool(getattr(session, "shouldstop", False))

    def _take_back(self, node: Any) -> None:
        """After ``-x`` and the like: leave a worker the item it runs and the next, which it has taken already."""
        self._units.clear()
        waiting = self._queued[node][2:]
        if waiting and node not in self._taken_back:
            self._taken_back.add(node)
            with contextlib.suppress(OSError):  # it has ended: it was the one that stopped
                node.send_steal(waiting)

    def _same_collections(self) -> bool:
        (first, collection), *others = self._collections.items()
        same = True
        for node, other in others:
            difference = report_collection_diff(collection, other, first.gateway.id, node.gateway.id)
            if difference:
                same = False
                report = pytest.CollectReport(node.gateway.id, "failed", longrepr=difference, result=[])
                self.config.hook.pytest_collectreport(report=report)
        return same


def dealing_order(groups: Iterable[list[int]]) -> list[list[int]]:
    """Return the groups in the order of dealing: other tests, then pairs, those with the most items first.

    The pairs with the most facts have the longest boundary searches; dealt last, one worker would end alone with one.
    """
    return sorted(groups, key=lambda group: (len(group) > 1, -len(group)))


def units(unit_of: Sequence[str | None], indices: Iterable[int] | None = None) -> Iterable[list[int]]:
    """Return the indices in groups that must stay together, in the order of their first: one a pair or template, and
    every test without a unit alone."""
    groups: dict[str | int, list[int]] = {}
    for index in range(len(unit_of)) if indices is None else indices:
        unit = unit_of[index]
        groups.setdefault(index if unit is None else unit, []).append(index)
    return groups.values()
