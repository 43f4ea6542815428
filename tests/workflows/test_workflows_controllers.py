"""The five controllers over the shipped bank: what must be so of each and of joint planning (workflow protocol, 3)."""

from __future__ import annotations

from collections import Counter

import pytest
from workflow_builders import contract, past, template

from pytest_episem.errors import UnknownName
from pytest_episem.workflows.actions import Attempt, Compensate, Revalidate
from pytest_episem.workflows.bank.load import WorkflowBank
from pytest_episem.workflows.controllers import CONTROLLERS, make_controller
from pytest_episem.workflows.controllers.exhaustive import Exhaustive
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.controllers.vector import ZERO, Vector
from pytest_episem.workflows.model import QueryTerms
from pytest_episem.workflows.study import Result, losses, table
from pytest_episem.workflows.summary import cost
from pytest_episem.workflows.support import Model

ACTIVE = ("verify-wait", "capability", "greedy", "joint")
SMALL = (
    "cloud/resize-unbounded",
    "cloud/rollback-repeated",
    "commerce/gateway-says-no",
    "commerce/replica-storefront",
    "documents/cached-receipt",
    "finance/billing-chain",
    "finance/double-capture",
    "finance/expired-key-recovery",
    "finance/late-mandate",
    "identity/directory-lag",
    "identity/retirement-already-inflight",
    "logistics/bounded-replica",
    "logistics/manifest-underway",
    "logistics/opaque-carrier",
    "people/clearance-at-acceptance",
    "people/starter-account",
    "travel/seat-nobody-asks",
)


def test_there_are_five():
    assert list(CONTROLLERS) == ["stop", "verify-wait", "capability", "greedy", "joint"]
    with pytest.raises(UnknownName, match="did you mean 'greedy'"):
        make_controller("greedi", Model(template({"pay": contract()}, [])))


@pytest.mark.slow
@pytest.mark.parametrize("over", ["over_assignments", "over_worlds"])
def test_nothing_new_goes_wrong_no_certificate_is_false_and_every_record_stands(over, request):
    results: list[Result] = request.getfixturevalue(over)
    for row in table(results).values():
        assert row.runs == row.certified + row.withdrawn + row.handed_off + row.unknown
        assert row.new == 0
        assert row.false_certificates == 0
        assert row.refuted == 0
    assert all(r.trajectory.verdict.goal for r in results if r.trajectory.verdict.terminal == "completed")


@pytest.mark.slow
def test_stop_certifies_only_what_needed_nothing(over_assignments):
    finished = {r.template for r in over_assignments if r.controller == "stop" and r.trajectory.verdict.claim_holds}
    assert finished == {"logistics/manifest-underway"}
    stopped = [r.trajectory.verdict for r in over_assignments if r.controller == "stop"]
    assert {(v.fee, v.actions, v.time) for v in stopped} == {(0, 0, 0)}


@pytest.mark.slow
def test_every_active_controller_certifies_where_the_rules_do(over_assignments):
    certified = Counter(r.controller for r in over_assignments if r.trajectory.verdict.terminal == "completed")
    assert len({certified[name] for name in ACTIVE}) == 1
    assert certified["joint"] > certified["stop"]


def sums(results: list[Result]) -> dict[tuple[str, str], Vector]:
    total: dict[tuple[str, str], Vector] = {}
    for result in results:
        key = (result.template, result.controller)
        total[key] = total.get(key, ZERO).plus(Vector(*cost(result.trajectory.verdict)))
    return total


@pytest.mark.slow
def test_joint_vector_over_each_support_is_at_most_every_controllers(over_worlds):
    total = sums(over_worlds)
    templates = {name for name, _ in total}
    assert len(templates) >= 19
    for name in templates:
        for other in CONTROLLERS:
            assert total[name, "joint"] <= total[name, other], (name, other)


@pytest.mark.slow
def test_joint_planning_gains_over_every_controller_somewhere(over_worlds):
    total = sums(over_worlds)
    for other in CONTROLLERS:
        if other != "joint":
            assert any(total[name, "joint"] < total[name, other] for name, _ in total)


@pytest.mark.slow
def test_single_runs_may_lose_and_are_listed(over_assignments):
    """The bank still remembers the key: resending costs 3 in all, but asking first is cheaper over the support."""
    lost = losses(over_assignments)
    line = "finance/valid-key-recovery/lost: capability (0, 0, 0, 0, 3, 2, 0), joint (0, 0, 0, 0, 4, 3, 0)"
    assert line in lost


@pytest.mark.parametrize("name", SMALL)
def test_exhaustive_enumeration_agrees(bank: WorkflowBank, name: str):
    model = Model(bank.workflow(name).template)
    plan = Joint(model).plan(model.root)
    assert plan.exact
    assert plan.value == Exhaustive(model).value(model.root)


def test_joint_plan_of_the_billing_chain_by_hand(bank: WorkflowBank):
    """24 worlds, six fates by a service that charges after 0, 1, 2 instants or refuses. After the free question:
    settled at 0 or 1 (8 worlds): receipt. Absent or rejected (8): charge; the answer names the instant, so the receipt
    goes out then, after waiting 0, 1 or 2; the 2 refused are handed off. Accepted (8): wait one, ask; the 4 that landed
    get the receipt, of the 4 stuck ones 3 are served as above.

    Fees: 8 x 1, 6 x (3 + 1) + 2 x 3, 4 x 1 + 3 x (3 + 1) + 3 = 57. Actions: 24 questions; 8 receipts; 8 charges, 4
    waits, 6 receipts, 2 hand-offs; 8 waits, 8 questions, 4 receipts, 4 charges, 2 waits, 3 receipts, 1 hand-off = 82.
    Time: 2 x (1 + 2), 8, 1 + 2 = 17.
    """
    model = Model(bank.workflow("finance/billing-chain").template)
    assert Joint(model).plan(model.root).value == Vector(3, 0, 3, 3, 57, 82, 17)


def test_cut_off_search_is_recorded_and_falls_back(bank: WorkflowBank):
    model = Model(bank.workflow("documents/file-fork").template)
    joint = Joint(model, node_limit=0)
    joint.choose(model.root)
    assert (joint.nodes, joint.decisions, joint.cutoffs, joint.fallbacks) == (0, 1, 1, 1)
    free = Joint(model)
    free.choose(model.root)
    assert (free.decisions, free.cutoffs, free.fallbacks) == (1, 0, 0)
    assert free.plan(model.root).value < joint.plan(model.root).value


@pytest.mark.slow
def test_a_shipped_workflow_has_over_a_hundred_worlds_and_cuts_the_search_off(bank: WorkflowBank, over_assignments):
    cut = {r.template for r in over_assignments if r.trial.judged.search.cutoffs}
    assert "people/batch-items" in cut
    assert bank.workflow("people/batch-items").support > 100


@pytest.mark.slow
def test_at_most_two_recovery_attempts_of_one_thing(over_worlds):
    for result in over_worlds:
        actions = [s.action for s in result.trajectory.steps]
        attempts = Counter(a.obligation for a in actions if isinstance(a, Attempt))
        undone = Counter(a.obligation for a in actions if isinstance(a, Compensate))
        renewed = Counter(a.approval for a in actions if isinstance(a, Revalidate))
        assert max([*attempts.values(), *undone.values(), *renewed.values()], default=0) <= 2


def test_rules_differ_where_asking_and_resending_have_a_price():
    """Asking costs 3, resending 1: verify-and-wait asks, the capability rules resend under the old key."""
    terms = QueryTerms(scope="history", authority="authoritative", lag=0, fee=3)
    model = Model(template({"pay": contract(fee=1, deduplication=9, query=terms)}, [past("pay")]))
    assert make_controller("verify-wait", model).choose(model.root).kind == "query"
    assert make_controller("capability", model).choose(model.root) == Attempt("pay", "k-pay")
    assert make_controller("joint", model).choose(model.root) == Attempt("pay", "k-pay")
