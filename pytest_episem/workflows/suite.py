"""The workflow suite as the faces see it (:mod:`pytest_episem.suite`). Light to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_episem.suite import Suite
from pytest_episem.workflows.metrics import METRICS


class WorkflowSuite(Suite):
    """Workflows that stopped half way, where nobody knows what happened."""

    name = "workflows"
    word = "workflow"
    many = "workflows"
    metrics = METRICS
    unit = ("case", "cases")

    def open(self, banks: Sequence[str], here: Path) -> Any:
        from pytest_episem.banks.folder import SHIPPED
        from pytest_episem.workflows.bank.load import holds_workflows, open_workflows

        holding = [name for name in banks if name == SHIPPED or holds_workflows(here / name)]
        return open_workflows(holding or banks, here)

    def conditions(self, task: Any, choice: Callable[[str], Any]) -> list[Any]:
        from pytest_episem.workflows.guidance import spelled
        from pytest_episem.workflows.plan import conditions

        shield, guidance = choice("shield") == "on", spelled(choice("guidance"))
        rest = (choice("repeats"), guidance, choice("form"), choice("split"))
        return list(conditions(task, choice("cases"), shield, *rest))

    def total(self, bank: Any, choice: Callable[[str], Any]) -> int:
        return sum(len(self.conditions(task, choice)) for task in bank.tasks.values()) // int(choice("repeats"))

    def start(self, task: Any, condition: Any) -> Any:
        from pytest_episem.workflows.cases import case_number
        from pytest_episem.workflows.recovery import Recovery

        number = case_number(task.model, task, condition.case)
        return Recovery(
            task.model,
            number,
            shield=condition.shield,
            condition=condition,
            guidance=condition.guidance,
            live=condition.form == "live",
        )

    def trial(self, task: Any, condition: Any, **envelope: Any) -> Any:
        from pytest_episem.workflows.trial import Trial

        return Trial(condition, **envelope)

    def behaviours(self) -> Mapping[str, Callable[[Any], None]]:
        from pytest_episem.workflows.players import BEHAVIOURS
        from pytest_episem.workflows.scripts import SCRIPTS

        return {**BEHAVIOURS, **SCRIPTS}

    def told(self, choice: Callable[[str], Any]) -> list[str]:
        unusual = {"guidance": "none", "form": "journal", "split": "all"}
        return [f"shield {choice('shield')}"] + [
            f"{name} {choice(name)}" for name, usual in unusual.items() if choice(name) != usual
        ]

    @property
    def turn_limit(self) -> int:
        from pytest_episem.workflows.episode import PROPOSALS

        return PROPOSALS

    @property
    def instruction(self) -> str:
        from pytest_episem.workflows.instruction import INSTRUCTION

        return INSTRUCTION

    def labels(self, task: Any, condition: Any) -> Mapping[str, str]:
        return {"domain": task.domain, "workflow": task.family}

    def fault(self, trial: Any) -> str:
        from pytest_episem.workflows.explain import fault

        return fault(trial.judged)

    def explain(self, task: Any, trial: Any, rerun: str, banks: Sequence[str]) -> str:
        from pytest_episem.workflows.explain import explain
        from pytest_episem.workflows.live import as_played

        model = as_played(task.model, trial.judged.live)
        return f"{explain(model, trial.judged, trial.condition.case, banks)}\nrerun      {rerun}"

    def rerun_options(self, condition: Any) -> list[str]:
        from pytest_episem.workflows.cases import WORLD

        worlds = condition.case.startswith(WORLD)
        chosen = [f"--episem-suite={self.name}"]
        chosen += ["--episem-cases=worlds"] * worlds + ["--episem-shield=off"] * (not condition.shield)
        chosen += [f"--episem-guidance={condition.guidance}"] * (condition.guidance != "none")
        return chosen + [f"--episem-form={condition.form}"] * (condition.form != "journal")

    @property
    def record(self) -> Any:
        from pytest_episem.workflows.record import CaseRecord

        return CaseRecord

    def unplanned(self, header: Any) -> Callable[[Any], str]:
        from pytest_episem.workflows.plan import unplanned

        return unplanned(header.workflows)

    def source(self, header: Any) -> Any:
        return header.workflows.bank

    def played(self, header: Any) -> dict[str, str]:
        plan = header.workflows
        return {"shield": "on" if plan.shield else "off", "guidance": plan.guidance, "form": plan.form}

    def group(self, run: Any, banks: Sequence[Any] = ()) -> list[Any]:
        from pytest_episem.workflows.plan import group

        return group(run, banks)

    def incomplete(self, run: Any, measured: Any) -> str:
        from pytest_episem.workflows.plan import incomplete

        return incomplete(run, measured)


WORKFLOWS = WorkflowSuite()
