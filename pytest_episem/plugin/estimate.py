"""``--episem-estimate``: collect as usual, say what running it would take, run nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_episem.agents import PREFIX
from pytest_episem.evidence.estimate import Range, Work, estimate_work
from pytest_episem.plugin.choices import BOUNDARY
from pytest_episem.plugin.gate_notice import say
from pytest_episem.plugin.node_ids import name_of, parse_case, parse_item

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
        yield from self._evidence(names)
        cases = sum(parse_case(name) is not None for name in names)
        if self.face.workflows is not None:
            yield f"  workflows   {cases:,} cases, no requests"

    def _evidence(self, names: Sequence[str]) -> Iterator[str]:
        choices = self.face.choices
        found = [parsed for parsed in map(parse_item, names) if parsed and parsed[0] in choices.tasks]
        conditions = [choices.conditions["/".join(parts)] for parts in found if "/".join(parts) in choices.conditions]
        searches = [task for task, name in found if name == BOUNDARY]
        done = self.face.log.recorded
        todo = [condition for condition in conditions if condition not in done]
        work = estimate_work(choices.tasks, todo, searches, choices.instruction)
        yield f"episem estimate: {len({task for task, _ in found}):,} pairs, {len(found):,} items"
        yield f"  rollouts   {words(work.rollouts)} (how far each boundary search goes)"
        if (choices.model or choices.label).startswith(PREFIX):
            yield "  requests   none: a built-in agent"
            return
        if choices.option("replay"):
            yield "  requests   none: a replay"
            return
        yield f"  requests   {words(work.requests)} (all reads in one turn, or one call a turn)"
        yield f"  tokens     {words(work.prompt_tokens)} in, {words(work.completion_tokens)} out"
        yield f"  cost       {self.cost(work)}"
        if choices.option("cache"):
            yield "  cache      not counted: what it holds, and what conditions share, is not sent"

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
