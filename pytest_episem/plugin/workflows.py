"""The workflow suite's items: one a hidden truth, run in the set-up and judged as the test (workflow protocol)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_episem.agents import PREFIX, import_attribute, known_agent_names
from pytest_episem.banks.folder import SHIPPED
from pytest_episem.errors import EpisemError, UnknownName
from pytest_episem.plugin.choices import Choices
from pytest_episem.plugin.judge import WorkflowFailed
from pytest_episem.plugin.node_ids import CaseName
from pytest_episem.plugin.options import SUITE_ID, runs_nothing
from pytest_episem.runs.run import BankId, WorkflowPlan
from pytest_episem.workflows.bank.load import WorkflowBank, holds_workflows, open_workflows
from pytest_episem.workflows.cases import case_names, case_number
from pytest_episem.workflows.controllers import Controller, controller_names, make_controller
from pytest_episem.workflows.explain import explain, rerun_command, workflow_fault
from pytest_episem.workflows.records import WorkflowRecord, record_of, workflow_from_json, workflow_to_json
from pytest_episem.workflows.study import check_controller, run_case
from pytest_episem.workflows.support import Model


class WorkflowSession:
    """Runs cases, each once, with a fresh controller; a template's compatible worlds, and what is planned over them,
    are kept between them.

    ``run`` gives the run's name, ``recorded`` the lines of what an earlier session of a resumed run completed.

    Raises:
        EpisemError: no controller is named, or what ``--episem-agent`` names makes none.
    """

    def __init__(self, choices: Choices, run: Callable[[], str], recorded: Callable[[], list[str]]) -> None:
        self.choices = choices
        self.shield: bool = choices.option("shield") == "on"
        self.over: Literal["assignments", "worlds"] = choices.option("cases")
        self.label = str(choices.controller or choices.option("agent"))
        self.factory = self._factory()
        self.model = functools.cache(self._model)
        self._run = run
        self._read_recorded = recorded
        self._finished: list[WorkflowRecord] = []

    def _factory(self) -> Callable[[Model], Controller]:
        """What makes the controller of a template."""
        choices, spec = self.choices, self.choices.option("agent")
        if choices.controller is not None:
            return functools.partial(make_controller, choices.controller.removeprefix(PREFIX))
        if choices.model is not None and not choices.runs_evidence:
            if choices.model in known_agent_names("evidence"):
                names = ", ".join(controller_names())
                raise EpisemError(f"{choices.model} plays the evidence suite; the workflow suite has {names}")
            raise UnknownName("controller of the workflow suite", choices.model, controller_names())
        if spec is None or choices.runs_evidence:
            named = f"--episem-model={' or '.join(controller_names())}"
            own = "" if choices.runs_evidence else "; or --episem-agent=MODULE:CLASS for one of your own"
            raise EpisemError(f"the workflow suite needs a controller: {named}{own}")
        factory = import_attribute(spec, choices.import_paths)
        if not callable(factory):
            raise EpisemError(f"agent {spec!r} must be a function of a model that returns a controller")
        made: Callable[[Model], Controller] = factory
        return made

    @functools.cached_property
    def bank(self) -> WorkflowBank:
        """The workflow part of the bank of the run; of several, those without one are left out."""
        here = self.choices.config.invocation_params.dir
        banks = self.choices.banks
        holding = [name for name in banks if name == SHIPPED or holds_workflows(here / name)]
        return open_workflows(holding or banks, here)

    @property
    def description(self) -> str:
        """One line on what runs, for pytest's header."""
        bank, shield = self.bank, "on" if self.shield else "off"
        return f"{self.label}, bank {bank.name} {bank.version} ({len(bank.workflows)} workflows), shield {shield}"

    @functools.cached_property
    def _recorded(self) -> dict[str, WorkflowRecord]:
        return {record.id: record for record in map(workflow_from_json, self._read_recorded())}

    def plan(self) -> WorkflowPlan:
        """Return what ``run.json`` says of the suite, with no case planned yet."""
        bank = self.bank
        return WorkflowPlan(BankId(bank.name, bank.version, bank.hash), self.label, self.shield, self.over, [])

    def cases(self) -> Iterator[CaseName]:
        """Yield every case to run."""
        for name, workflow in self.bank.workflows.items():
            model = self.model(name) if self.over == "worlds" else None
            yield from (CaseName(name, case) for case in case_names(workflow, model))

    def run(self, name: CaseName) -> WorkflowRecord:
        """Return the record of a case, letting the controller play it unless it ran already.

        Raises:
            EpisemError: the case is in no compatible world, or the bank's contract is broken.
        """
        if name.id in self._recorded:
            return self._recorded[name.id]
        model = self.model(name.template)
        number = case_number(model, self.bank.workflow(name.template), name.case)
        result = run_case(model, self._make_controller(name.template), name.case, number, self.shield)
        record = record_of(result, self._run(), self.label, name.template.partition("/")[0])
        self._finished.append(record)
        return record

    def check(self, record: WorkflowRecord) -> None:
        """Fail if something counts against a record (workflow protocol, section 2).

        Raises:
            WorkflowFailed: with the run as a small timeline.
        """
        __tracebackhide__ = True
        if workflow_fault(record.trajectory, record.faults):
            text = explain(self.model(record.trajectory.template), record.trajectory, record.case, self.choices.banks)
            raise WorkflowFailed(f"{text}\nrerun      {self._rerun_command(record)}")

    def take_finished(self) -> list[str]:
        """Return the lines of the records that were made since the last call."""
        finished, self._finished = self._finished, []
        return [workflow_to_json(record) for record in finished]

    def _model(self, template: str) -> Model:
        return Model(self.bank.workflow(template).template)

    def _make_controller(self, template: str) -> Controller:
        made = self.factory(self.model(template))
        check_controller(made, f"--episem-agent {self.label}")
        return made

    def _rerun_command(self, record: WorkflowRecord) -> str:
        agent = f"--episem-{'model' if self.choices.controller else 'agent'}={self.label}"
        command = rerun_command(agent, self.over == "worlds", self.shield, self.choices.bank_options)
        return f"{command} {SUITE_ID}::workflows/{record.id}"


class WorkflowItem(pytest.Item):
    """One case."""

    suite: WorkflowSession
    case: CaseName
    episem_name: str
    record: WorkflowRecord | None = None

    @property
    def ihook(self) -> Any:
        """The hooks of what it hangs under."""
        assert self.parent is not None
        return self.parent.ihook

    def setup(self) -> None:
        super().setup()
        if runs_nothing(self.config):
            return
        try:
            self.record = self.suite.run(self.case)
        except EpisemError as error:
            pytest.fail(f"no verdict on {self.case.id}: {error}", pytrace=False)

    def runtest(self) -> None:
        assert self.record is not None
        self.suite.check(self.record)

    def teardown(self) -> None:
        self.record = None  # there may be thousands of items
        super().teardown()

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.config.rootpath / SUITE_ID, 0, self.name


def workflow_items(parent: Any, suite: WorkflowSession) -> Iterator[WorkflowItem]:
    """Yield one item a case."""
    for name in suite.cases():
        item: WorkflowItem = WorkflowItem.from_parent(parent, name=name.item)
        item.suite, item.case, item.episem_name = suite, name, name.item
        item.add_marker(pytest.mark.episem)
        item.add_marker(pytest.mark.episem_domain(name=name.template.partition("/")[0]))
        item.add_marker(pytest.mark.episem_workflow(name=name.template.partition("/")[2]))
        yield item
