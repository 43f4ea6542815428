"""The evidence suite as the faces see it (:mod:`pytest_episem.suite`). Light to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_episem.evidence.metrics.six import METRICS
from pytest_episem.suite import Search, Suite


class EvidenceSuite(Suite):
    """Pairs of worlds with facts hidden from the tools; an oracle judges what was done."""

    name = "evidence"
    word = "evidence"
    many = "pairs"
    metrics = METRICS
    unit = ("pair", "pairs")
    searches = True
    terms = ("critical", "irrelevant")

    def open(self, banks: Sequence[str], here: Path) -> Any:
        from pytest_episem.evidence.bank import open_banks

        return open_banks(banks, here)

    def conditions(self, task: Any, choice: Callable[[str], Any]) -> list[Any]:
        from pytest_episem.evidence.plan import fixed_conditions

        wanted = set(choice("setting"))
        found = fixed_conditions(task.id, task.critical, task.irrelevant, choice("repeats"), choice("full-audit"))
        return [condition for condition in found if not wanted or condition.setting in wanted]

    def start(self, task: Any, condition: Any) -> Any:
        from pytest_episem.evidence.trial_world import TrialWorld

        return TrialWorld(task, condition)

    def trial(self, task: Any, condition: Any, **envelope: Any) -> Any:
        from pytest_episem.evidence.plan import mask_role
        from pytest_episem.evidence.trial import Trial

        return Trial(condition, mask_role(condition.mask, task.critical), **envelope)

    def search(self, seed: str, task: Any, lookup: Callable[[Any], Any]) -> Search:
        from pytest_episem.evidence.boundary import BoundarySearch

        return BoundarySearch(seed, task.id, task.critical, lookup)

    def behaviours(self) -> Mapping[str, Callable[[Any], None]]:
        from pytest_episem.evidence.known import BEHAVIOURS

        return BEHAVIOURS

    @property
    def turn_limit(self) -> int:
        from pytest_episem.episode import TURN_LIMIT

        return TURN_LIMIT

    @property
    def instruction(self) -> str:
        from pytest_episem.evidence.world.instruction import DEFAULT_INSTRUCTION

        return DEFAULT_INSTRUCTION

    def labels(self, task: Any, condition: Any) -> Mapping[str, str]:
        from pytest_episem.evidence.plan import mask_role

        role = mask_role(condition.mask, task.critical)
        return {"domain": task.domain, "world": condition.world, "setting": condition.setting, "mask": role}

    def fault(self, trial: Any) -> str:
        from pytest_episem.evidence.explain import fault

        return fault(trial) or ""

    def explain(self, task: Any, trial: Any, rerun: str, banks: Sequence[str]) -> str:
        from pytest_episem.evidence.explain import explain

        return explain(task, trial, rerun, banks)

    def rerun_options(self, condition: Any) -> list[str]:
        return []

    @property
    def record(self) -> Any:
        from pytest_episem.evidence.record import EvidenceRecord

        return EvidenceRecord

    def unplanned(self, header: Any) -> Callable[[Any], str]:
        from pytest_episem.evidence.plan import unplanned

        return unplanned(header.plan)

    def source(self, header: Any) -> Any:
        return header.bank

    def group(self, run: Any, banks: Sequence[Any] = ()) -> list[Any]:
        from pytest_episem.evidence.metrics.tasks import group

        return group(run.header.plan, run.trials, run.header.search_seed)

    def incomplete(self, run: Any, measured: Any) -> str:
        from pytest_episem.evidence.metrics.tasks import incomplete

        return incomplete(run, measured)

    def alike(self, measured: Any, other: Any) -> Any:
        from pytest_episem.evidence.metrics.tasks import restrict

        return restrict(measured, other)


EVIDENCE = EvidenceSuite()
