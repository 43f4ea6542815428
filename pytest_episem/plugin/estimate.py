"""``--episem-estimate``: collect as usual, say what running it would take, run nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_episem.agents import PREFIX
from pytest_episem.evidence.estimate import Range, Work, estimate_work
from pytest_episem.plugin.gate_notice import say
from pytest_episem.plugin.node_ids import BOUNDARY, name_of
from pytest_episem.suite import suite

if TYPE_CHECKING:
    from pytest_episem.plugin.face import Face


class Estimator:
    """Registered instead of running; makes pytest collect only, in this process, workers or not."""

    def __init__(self, face: Face) -> None:
        self.face = face
        face.config.option.collectonly = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        names = [name for name in map(name_of, session.items) if name]
        for line in self.lines(names):
            say(self.face.config, line)
        session.items.clear()  # else pytest lists thousands of them

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def lines(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the estimate of what the items of these names would run."""
        for name in self.face.choices.suites:
            yield from (self._evidence(names) if name == "evidence" else self._cases(name, names))

    def _evidence(self, names: Sequence[str]) -> Iterator[str]:
        choices = self.face.choices
        tasks = choices.tasks("evidence")
        conditions = self._conditions("evidence", names)
        searches = [task for name in names if (task := name.removesuffix(f"/{BOUNDARY}")) != name]
        todo = [condition for condition in conditions if condition not in self.face.log.recorded]
        work = estimate_work(tasks, todo, searches, choices.instruction)
        pairs = {condition.task for condition in conditions} | set(searches)
        yield f"episem estimate: {len(pairs):,} pairs, {len(conditions) + len(searches):,} items"
        yield f"  rollouts   {words(work.rollouts)} (how far each boundary search goes)"
        unsent = self._unsent()
        if unsent:
            yield unsent
            return
        yield f"  requests   {words(work.requests)} (all reads in one turn, or one call a turn)"
        yield f"  tokens     {words(work.prompt_tokens)} in, {words(work.completion_tokens)} out"
        yield f"  cost       {self.cost(work)}"
        if choices.option("cache"):
            yield "  cache      not counted: what it holds, and what conditions share, is not sent"

    def _cases(self, name: str, names: Sequence[str]) -> Iterator[str]:
        """Of a suite whose cases end when the agent ends them."""
        todo = [one for one in self._conditions(name, names) if one not in self.face.log.recorded]
        yield f"episem estimate: {len(todo):,} {suite(name).unit[1]}"
        most = self.face.choices.option("turn-limit") or suite(name).turn_limit
        yield (
            self._unsent() or f"  requests   {words(Range(2 * len(todo), most * len(todo)))} (few turns a case, or all)"
        )

    def _conditions(self, name: str, names: Sequence[str]) -> list[Any]:
        known = self.face.choices.conditions
        return [known[one] for one in names if one in known and known[one].suite == name]

    def _unsent(self) -> str:
        choices = self.face.choices
        if choices.option("controller") or (choices.model or choices.label).startswith(PREFIX):
            return "  requests   none: a built-in agent" if choices.model else "  requests   none: a controller"
        return "  requests   none: a replay" if choices.option("replay") else ""

    def cost(self, work: Work) -> str:
        """Return the cost in words."""
        from pytest_episem.agents.model_options import checked_model_args
        from pytest_episem.agents.prices import token_prices

        choices = self.face.choices
        model = choices.model
        prices = token_prices(model, checked_model_args(choices.option("model-args"))) if model else None
        if prices is None:
            return "unknown: litellm's price list does not have it" if model else "unknown: an agent of your own"
        cost = work.cost(*prices)
        return f"${cost.low:,.2f} to ${cost.high:,.2f} at litellm's listed price, without prompt caching or reasoning"


def words(found: Range) -> str:
    """Return a range as people read it: exact when small, else to two digits."""
    low, high = _rough(found.low), _rough(found.high)
    return low if low == high else f"{low} to {high}"


def _rough(number: float) -> str:
    for size, unit in ((1e9, " G"), (1e6, " M")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:,.0f}"


def install(face: Face) -> None:
    """Register the estimator if the option asks for it."""
    if face.choices.option("estimate") and face.worker_input is None:
        face.config.pluginmanager.register(Estimator(face), "episem-estimate")
