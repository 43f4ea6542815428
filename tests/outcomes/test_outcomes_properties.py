"""Properties that hold for every contract: the shield, the certificate and the adjudicator (outcome protocol, section 2)."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from outcome_strategies import proposals, small_model, templates

from pytest_episem.outcomes.adjudicator import adjudicate, disagreements
from pytest_episem.outcomes.episode import Episode
from pytest_episem.outcomes.model import Template
from pytest_episem.outcomes.serial import from_json, to_json
from pytest_episem.outcomes.support import EmptySupport, Model
from pytest_episem.outcomes.verdict import Trajectory

quick = settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


def played(data: st.DataObject, template: Template, shield: bool) -> tuple[Model, Trajectory]:
    """Let a random agent act in a random world of the support."""
    try:
        model = small_model(template)
    except EmptySupport:
        model = None
    assume(model is not None)
    assert model is not None
    world = data.draw(st.integers(0, len(model.worlds) - 1), "world")
    episode = Episode(model, world, shield=shield, proposals=8)
    while episode.terminal is None:
        episode.propose(data.draw(proposals(model, episode.belief), "action"))
    return model, episode.trajectory()


@quick
@given(st.data(), templates())
def test_behind_the_shield_recovery_creates_no_violation_and_no_certified_finish_fails(data, template):
    _, trajectory = played(data, template, shield=True)
    verdict = adjudicate(template, trajectory)
    assert verdict.new == ()
    assert verdict.terminal != "claim"
    if verdict.terminal == "completed":
        assert verdict.goal
    if verdict.terminal in ("completed", "withdrawn"):
        assert verdict.claim_holds


@quick
@given(st.data(), templates(), st.booleans())
def test_adjudicator_and_model_agree_on_every_answer_effect_and_verdict(data, template, shield):
    _, trajectory = played(data, template, shield)
    assert disagreements(template, trajectory) == []


@quick
@given(st.data(), templates())
def test_trajectory_and_template_survive_json(data, template):
    _, trajectory = played(data, template, shield=False)
    assert from_json(Trajectory, to_json(trajectory)) == trajectory
    assert from_json(Template, to_json(template)) == template
