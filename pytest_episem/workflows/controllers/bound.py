"""What the rest of an episode costs at least, world by world (workflow protocol, section 3).

The bound looks at each world as if it were known. An obligation is *bare* in a run if nothing of it ever lands and
nothing that was sent for it could still be let through: it takes one attempt of its own, with its fee, and cannot be
fulfilled at all where the service refuses or loses what it is sent and nothing lands without an answer, or where its
approval has ended for good. A surplus effect takes a compensation. Everything else is taken to be free.
"""

from __future__ import annotations

from pytest_episem.workflows.controllers.vector import Vector
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.timeline import Renewal, Request, Run
from pytest_episem.workflows.world import line_of


class LowerBound:
    """Lower bounds of a template's beliefs, each world's part computed once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._known: dict[tuple[int, int, int], Vector] = {}

    def of(self, belief: Belief) -> Vector:
        """Return a vector that no policy can go below from a belief onward."""
        sums = [0] * len(Vector())
        for world, run in belief.members:
            key = (world, run.serial, belief.time)
            part = self._known.get(key)
            if part is None:
                part = self._known[key] = self._alone(world, run, belief.time)
            for place, amount in enumerate(part):
                sums[place] += amount
        return Vector(*sums)

    def _alone(self, world: int, run: Run, now: int) -> Vector:
        template = self.model.template
        bare = [name for name in template.obligations if _bare(run, name)]
        hopeless = any(self._hopeless(world, run, name, now) for name in bare)
        if not hopeless and "completed" in template.ends:
            fees = [template.contract(name).fee for name in bare] + self._undo_fees(run, keep=1)
            return Vector(fee=sum(fees), actions=len(fees))
        if "withdrawn" in template.ends:
            fees = self._undo_fees(run, keep=0)
            return Vector(uncertified=1, missed=1, fee=sum(fees), actions=len(fees))
        missed = 1 if hopeless else 0
        if template.handoff is not None:
            return Vector(uncertified=1, handed_off=1, missed=missed, actions=1)
        return Vector(uncertified=1, unknown=1, missed=missed)

    def _undo_fees(self, run: Run, keep: int) -> list[int]:
        """A fee for each effect that stands at the horizon beyond those to keep; only where no repeat of a key could
        still keep it from landing."""
        fees: list[int] = []
        for name in self.model.template.obligations:
            contract = self.model.template.contract(name)
            if contract.deduplication is None and contract.compensation is not None:
                surplus = run.count(name, self.model.template.horizon) - keep
                fees += [contract.compensation.fee] * max(0, surplus)
        return fees

    def _hopeless(self, world: int, run: Run, name: str, now: int) -> bool:
        truth, obligation = self.model.worlds[world], self.model.template.obligations[name]
        again = truth.again.get(obligation.op)
        silent = again is not None and again.kind == "landed"
        if not silent and truth.services[line_of(obligation.op, False)].kind in ("refused", "lost"):
            return True
        if obligation.approval is None:
            return False
        until = self.model.template.approvals[obligation.approval].until
        renewed = any(isinstance(e, Renewal) and e.granted and e.approval == obligation.approval for e in run.entries)
        return until is not None and until <= now and not renewed and not truth.renewals.get(obligation.approval, False)


def _bare(run: Run, obligation: str) -> bool:
    if any(effect.obligation == obligation for effect in run.ledger):
        return False
    return not any(
        isinstance(entry, Request)
        and (entry.obligation, entry.undo) == (obligation, False)
        and entry.fate.kind == "effective"
        and trace is not None
        and trace.repeats is None
        for entry, trace in zip(run.entries, run.traces, strict=True)
    )
