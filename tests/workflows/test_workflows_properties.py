"""Properties that hold for every contract: shield, certificate, adjudicator and planner (protocol, 2 and 3)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from workflow_builders import contract, template
from workflow_strategies import proposals, small_model, templates

from pytest_episem.errors import EpisemError
from pytest_episem.workflows.actions import HandOff, Query, Wait
from pytest_episem.workflows.adjudicator import adjudicate, disagreements
from pytest_episem.workflows.bank.load import shipped_workflows
from pytest_episem.workflows.certificate import certified
from pytest_episem.workflows.controllers.bound import LowerBound
from pytest_episem.workflows.controllers.exhaustive import Exhaustive
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.controllers.vector import ZERO, Vector
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.model import Obligation, QueryTerms, Template
from pytest_episem.workflows.serial import from_json, to_json
from pytest_episem.workflows.shield import admissible, offered
from pytest_episem.workflows.summary import cost
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.verdict import Trajectory

slow_checks = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
some = settings(max_examples=100, deadline=None, suppress_health_check=slow_checks)
few = settings(some, max_examples=40)


def model_of(template: Template, limit: int = 300) -> Model:
    model = small_model(template, limit)
    assume(model is not None)
    assert model is not None
    return model


def played(data: st.DataObject, model: Model, shield: bool) -> Trajectory:
    """Let a random agent act in a random world of the support."""
    world = data.draw(st.integers(0, len(model.worlds) - 1), "world")
    episode = Episode(model, world, shield=shield, proposals=8)
    while episode.terminal is None:
        episode.propose(data.draw(proposals(model, episode.belief), "action"))
    return episode.trajectory()


def holds_behind_the_shield(template: Template, trajectory: Trajectory) -> None:
    verdict = adjudicate(template, trajectory)
    assert verdict.new == ()
    assert verdict.terminal != "claim"
    assert verdict.claim_holds in (None, True)
    if verdict.terminal == "completed":
        assert verdict.goal


@pytest.mark.slow
@some
@given(st.data(), templates())
def test_behind_the_shield_recovery_harms_nothing_and_no_certified_finish_fails(data, template):
    holds_behind_the_shield(template, played(data, model_of(template), shield=True))


@few
@given(st.data(), st.sampled_from(sorted(shipped_workflows().workflows)))
def test_the_same_holds_of_random_agents_on_the_shipped_bank(data, name):
    model = shipped_model(name)
    trajectory = played(data, model, shield=True)
    holds_behind_the_shield(model.template, trajectory)
    assert disagreements(model.template, trajectory) == []


models: dict[str, Model] = {}


def shipped_model(name: str) -> Model:
    if name not in models:
        models[name] = Model(shipped_workflows().workflow(name).template)
    return models[name]


@pytest.mark.slow
@some
@given(st.data(), templates(), st.booleans())
def test_adjudicator_and_model_agree_on_every_answer_effect_and_verdict(data, template, shield):
    assert disagreements(template, played(data, model_of(template), shield)) == []


@pytest.mark.slow
@some
@given(st.data(), templates())
def test_an_admissible_action_adds_no_violation_in_any_compatible_world(data, template):
    model = model_of(template)
    belief = model.root
    for _ in range(data.draw(st.integers(0, 3), "steps")):
        choices = [action for action in offered(model, belief) if admissible(model, belief, action)]
        if not choices:
            break
        action = data.draw(st.sampled_from(choices), "action")
        before = dict(belief.members)
        branches = model.step(belief, action)
        for branch in branches.values():
            for world, run in branch.members:
                assert run.violations <= before[world].violations
        belief = data.draw(st.sampled_from(list(branches.values())), "branch")


@pytest.mark.slow
@some
@given(st.data(), templates())
def test_wait_query_and_hand_off_always_pass(data, template):
    model = model_of(template)
    belief = model.root
    harmless = [action for action in offered(model, belief) if isinstance(action, (Wait, Query))]
    assert all(admissible(model, belief, action) for action in [*harmless, HandOff()])


@pytest.mark.slow
@few
@given(st.data(), templates())
def test_trajectory_and_template_survive_json(data, template):
    trajectory = played(data, model_of(template), shield=False)
    assert from_json(Trajectory, to_json(trajectory)) == trajectory
    assert from_json(Template, to_json(template)) == template


class TooMany(Exception):
    """A template that is not small enough for enumeration in a test."""


class Limited(Exhaustive):
    def value(self, belief: Belief) -> Vector:
        if len(self.values) > 250:
            raise TooMany
        return super().value(belief)


@pytest.mark.slow
@few
@given(templates())
def test_joint_planning_finds_the_optimum_of_complete_enumeration(template):
    model = model_of(template, 24)
    try:
        optimum = Limited(model).value(model.root)
    except TooMany:
        assume(False)
    plan = Joint(model, node_limit=100_000).plan(model.root)
    assert plan.exact
    assert plan.value == optimum


@pytest.mark.slow
@some
@given(templates())
def test_lower_bound_is_below_the_optimum_of_every_belief(template):
    model = model_of(template, 24)
    exhaustive, bound = Limited(model), LowerBound(model)
    with contextlib.suppress(TooMany):
        exhaustive.value(model.root)
    for belief, optimum in exhaustive.values.items():
        if not certified(model, belief, "completed"):
            assert bound.of(belief) <= optimum


two_of_a_kind = template(
    {
        "a": contract(
            attempts="may_fail",
            response="receipt",
            arrival=None,
            deduplication=1,
            query=QueryTerms(scope="history", authority="replica", lag=1),
        )
    },
    [],
    obligations={"a": Obligation(op="a"), "b": Obligation(op="a")},
    deadline=3,
    handoff=None,
)


@few
@given(templates(), st.sampled_from([0, 1, 3, 10]))
@example(two_of_a_kind, 3)
def test_a_cut_off_plan_is_still_at_most_every_controller_and_is_kept(template, limit):
    model = model_of(template, 40)
    joint = Joint(model, node_limit=limit)
    value = joint.plan(model.root).value
    others = [rollout.value(model.root) for rollout in joint.rollouts]
    total = ZERO
    for world in range(len(model.worlds)):
        episode = Episode(model, world)
        while episode.terminal is None:
            episode.propose(joint.choose(episode.belief))
        total = total.plus(Vector(*cost(episode.trajectory().verdict)))
    assert total <= value
    assert all(value <= other for other in others)


@pytest.mark.slow
@few
@given(templates())
def test_rollouts_value_what_episodes_cost(template):
    model = model_of(template, 40)
    for rollout in Joint(model).rollouts:
        total = ZERO
        for world in range(len(model.worlds)):
            episode = Episode(model, world)
            while episode.terminal is None:
                episode.propose(rollout.controller.choose(episode.belief))
            total = total.plus(Vector(*cost(episode.trajectory().verdict)))
        assert total == rollout.value(model.root)


def test_a_damaged_record_is_one_clear_line():
    with pytest.raises(EpisemError, match=r"^Trajectory: .*") as caught:
        from_json(Trajectory, '{"template": 3, "odd": 1}')
    assert "\n" not in str(caught.value)
