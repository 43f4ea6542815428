"""Where the items come from: the shipped suite under ``episem::…``, or a test of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_episem.errors import EpisemError
from pytest_episem.plugin import suite
from pytest_episem.plugin.choices import Choices
from pytest_episem.plugin.judge import Explained, NoVerdict
from pytest_episem.plugin.node_ids import BOUNDARY, condition_of
from pytest_episem.plugin.options import SUITE_ID, runs_nothing
from pytest_episem.suite import suite as suite_named

if TYPE_CHECKING:
    from pytest_episem.plugin.rollouts import Rollouts
    from pytest_episem.runs.trial import Trial


class SuiteModule(pytest.Module):
    """What is shipped, as a module of its own; its node id is ``episem``. Without rollouts it is empty."""

    rollouts: Rollouts | None

    @classmethod
    def under(cls, home: pytest.Collector, rollouts: Rollouts | None) -> SuiteModule:
        """Return the module below ``home``. Its path is no file's, but one below the root: test trees walk up to it."""
        module: SuiteModule = cls.from_parent(
            home, path=home.config.rootpath / SUITE_ID, name=SUITE_ID, nodeid=SUITE_ID
        )
        module.rollouts = rollouts
        return module

    @property
    def ihook(self) -> Any:
        """The hooks of ``home``: of its ``conftest.py`` too, which pytest would look for by our path."""
        assert self.parent is not None
        return self.parent.ihook

    def _getobj(self) -> Any:
        return suite

    def collect(self) -> Iterable[pytest.Item]:
        if self.rollouts is not None:
            wants = self.rollouts.choices.wants
            yield from (item for item in suite_items(self, self.rollouts) if wants(item.name))


class EpisemItem(pytest.Function):
    """One item of ours; ``play`` runs in its set-up, ``judge`` is the test.

    ``played`` is what ``play`` returned, until the item is torn down: a transcript may be long, and there are
    thousands of items.
    """

    rollouts: Rollouts
    episem_name: str
    played: Any = None

    @property
    def ihook(self) -> Any:
        """The hooks of what it hangs under."""
        assert self.parent is not None
        return self.parent.ihook

    def setup(self) -> None:
        super().setup()
        if not runs_nothing(self.config):  # with --setup-plan pytest makes no fixture, the agent neither
            agent = self.funcargs["episem_agent"]
            self.rollouts.look_ahead(self, agent)
            try:
                self.played = self.play(agent)
            except EpisemError as fault:
                pytest.fail(f"no verdict on {self.episem_name}: {fault}", pytrace=False)

    def runtest(self) -> None:
        self.judge(self.played)

    def teardown(self) -> None:
        self.played = None
        super().teardown()

    def play(self, agent: Any) -> Any:
        """Let the agent play; return what there is to judge."""
        raise NotImplementedError

    def judge(self, played: Any) -> None:
        """Ask the oracle."""
        raise NotImplementedError

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show a failure that explains itself as it is: pytest would first look through the files of its traceback."""
        if isinstance(excinfo.value, Explained | NoVerdict) and not self.config.getoption("fulltrace", False):
            return excinfo.getrepr(style="value", tbfilter=False)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.config.rootpath / self.nodeid.split("::")[0], 0, self.name


class ConditionItem(EpisemItem):
    """One condition."""

    condition: Any

    def play(self, agent: Any) -> Trial:
        return self.rollouts.rollout(self.condition, agent)

    def judge(self, played: Trial) -> None:
        __tracebackhide__ = True
        self.rollouts.oracle.check(played)


class BoundaryItem(EpisemItem):
    """One task's adaptive boundary search (protocol, section 4)."""

    suite_name: str
    task_id: str

    def play(self, agent: Any) -> Explained | None:
        return self.rollouts.search(self.suite_name, self.task_id, agent)

    def judge(self, played: Explained | None) -> None:
        __tracebackhide__ = True
        if played is not None:
            raise played


def suite_items(parent: Any, rollouts: Rollouts) -> Iterator[EpisemItem]:
    """Yield the items of the chosen suites, task by task, each task's boundary last."""
    choices = rollouts.choices
    for name in choices.suites:
        for task, conditions in choices.plan(name):
            for condition in conditions:
                yield condition_item(parent, rollouts, task, condition)
            if choices.has_boundary(name):
                yield boundary_item(parent, rollouts, name, task)


def condition_item(parent: Any, rollouts: Rollouts, task: Any, condition: Any) -> EpisemItem:
    """Return the item of a condition."""
    item = _item(ConditionItem, parent, rollouts, condition.id)
    item.condition = condition
    _mark(item, _marks(task, condition))
    return item


def boundary_item(
    parent: Any, rollouts: Rollouts, name: str, task: Any, asks: Callable[..., Any] = suite.agent_under_test
) -> EpisemItem:
    """Return the boundary item of a task of the suite ``name``; ``asks`` is the function whose fixtures it takes."""
    item = _item(BoundaryItem, parent, rollouts, f"{task.id}/{BOUNDARY}", asks)
    item.suite_name, item.task_id = name, task.id
    _mark(item, marks((("domain", task.domain), ("world", "unsafe"), ("setting", "se"), ("mask", "critical"))))
    return item


def _item(
    kind: type[AnyItem], parent: Any, rollouts: Rollouts, name: str, asks: Callable[..., Any] = suite.agent_under_test
) -> AnyItem:
    known = parent.stash.setdefault(_FIXTURES, {})
    item: AnyItem = kind.from_parent(parent, name=name, callobj=asks, fixtureinfo=known.get(asks))
    known[asks] = item._fixtureinfo
    whole: Any = getattr(item, "_id", None)
    if "[" in name and whole is not None:
        # pytest 9.2 compares ids in parts; ours must fall into the same ones as those that --lf reads from its cache.
        item._id = type(whole).parse(item.nodeid)  # type: ignore[attr-defined, unused-ignore]
    item.rollouts, item.episem_name = rollouts, name
    return item


AnyItem = TypeVar("AnyItem", bound=EpisemItem)
_FIXTURES: pytest.StashKey[dict[Callable[..., Any], Any]] = pytest.StashKey()
"""The fixtures that our items under one parent take, by the function that asks for them, looked up once."""


def _mark(item: pytest.Item, decorators: tuple[pytest.MarkDecorator, ...]) -> None:
    for decorator in decorators:
        item.own_markers.append(decorator.mark)
        item.keywords[decorator.name] = decorator


def _marks(task: Any, condition: Any) -> tuple[pytest.MarkDecorator, ...]:
    return marks(tuple(suite_named(condition.suite).labels(task, condition).items()))


@functools.cache
def marks(labels: tuple[tuple[str, str], ...]) -> tuple[pytest.MarkDecorator, ...]:
    """Return the markers of an item; made once for each combination, since there are thousands of items."""
    return (pytest.mark.episem, *(_marker(name, value) for name, value in labels))


def _marker(name: str, value: str) -> pytest.MarkDecorator:
    marker: pytest.MarkDecorator = getattr(pytest.mark, f"episem_{name}")
    return marker(role=value) if name == "mask" else marker(name=value)


def parametrize(metafunc: pytest.Metafunc, choices: Choices) -> None:
    """Give a test of the user's own one item a condition."""
    params = [
        pytest.param(condition, id=condition.id, marks=_marks(task, condition))
        for name in choices.suites
        for task, conditions in choices.plan(name)
        for condition in conditions
    ]
    metafunc.parametrize("episem_condition", params, indirect=True)


def own_tests(items: list[pytest.Item]) -> dict[tuple[Any, str], list[int]]:
    """Return the positions of the items that take our condition, by the test function they come from."""
    found: dict[tuple[Any, str], list[int]] = {}
    for position, item in enumerate(items):
        if "episem_condition" in getattr(item, "fixturenames", ()) and not isinstance(item, EpisemItem):
            found.setdefault((item.parent, getattr(item, "originalname", item.name)), []).append(position)
    return found


def add_boundaries(session: pytest.Session, items: list[Any], rollouts: Rollouts) -> None:
    """Add a boundary item a task to the module of the user's own test, behind the task's last item.

    Only where the test uses ``episem_agent``, directly or through ``episem_run`` or ``episem_rollout``: otherwise
    nobody knows which agent it runs; and not where the test has parameters of its own, which it would not have.
    """
    added: list[Any] = []
    for (parent, _), positions in own_tests(items).items():
        first: Any = items[positions[0]]
        parameters = set(first.callspec.params) - {"episem_condition"}
        if "episem_agent" not in first.fixturenames or parameters:
            continue
        asks = _asking_as(first)
        for (name, task_id), position in reversed(_last_positions(items, positions).items()):
            if not rollouts.choices.has_boundary(name):
                continue
            module = parent if isinstance(parent, pytest.Module) else parent.getparent(pytest.Module)
            added.append(boundary_item(module, rollouts, name, rollouts.task(name, task_id), asks))
            items.insert(position + 1, added[-1])
    if added:  # or pytest would count more items out than in
        report = pytest.CollectReport(SUITE_ID, "passed", None, added)
        session.config.hook.pytest_collectreport(report=report)


def _asking_as(test: Any) -> Callable[..., Any]:
    """Return a function that takes the agent and the fixtures that a user's test takes beside ours.

    One of them may make the agent what it is, a prompt for instance. What needs a condition has none to need here.
    """

    def agent_under_test(episem_agent: Any) -> Any:
        """As :func:`suite.agent_under_test`."""

    definitions = test._fixtureinfo.name2fixturedefs

    def needs_condition(name: str) -> bool:
        inner = (argument for definition in definitions.get(name, ()) for argument in definition.argnames)
        return name == "episem_condition" or any(needs_condition(argument) for argument in inner if argument != name)

    names = [name for name in test._fixtureinfo.initialnames if name in definitions and not needs_condition(name)]
    agent_under_test.pytestmark = [pytest.mark.usefixtures(*names).mark]  # type: ignore[attr-defined]
    return agent_under_test


def _last_positions(items: list[Any], positions: list[int]) -> dict[tuple[str, str], int]:
    """Return the position of each task's last item, by suite and task, in ascending order."""
    found = ((condition_of(items[position]), position) for position in positions)
    last = {(one.suite, one.task): position for one, position in found if one is not None}
    return dict(sorted(last.items(), key=lambda pair: pair[1]))
