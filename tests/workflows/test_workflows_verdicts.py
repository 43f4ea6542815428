"""What a refusal says of the one who proposed: unsafe, false claim or not offered; and who gave up (workflow protocol,
sections 2 and 3)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
from workflow_builders import contract, past, play, template

from pytest_episem.errors import EpisemError
from pytest_episem.workflows.actions import Action, Attempt, Compensate, Finish, HandOff, Query, Revalidate, Stop, Wait
from pytest_episem.workflows.bank.load import WorkflowBank
from pytest_episem.workflows.controllers import Controller
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.explain import explain, fault
from pytest_episem.workflows.model import CompensationTerms, QueryTerms
from pytest_episem.workflows.shield import fault_of
from pytest_episem.workflows.study import run_case
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.trial import Judgement

COUNT = QueryTerms(scope="state", authority="authoritative", lag=0)
UNDO = CompensationTerms(attempts="settle", response="final", arrival=0, commit_bound=0, until=3)


def paid() -> Model:
    """A payment may have landed at t0; undoing is offered until t3; the clock runs from 1 to 5."""
    return Model(template({"pay": contract(compensation=UNDO, query=COUNT)}, [past("pay")]))


@pytest.mark.parametrize(
    ("wait", "action", "fault"),
    [
        (0, Attempt("pay", "n"), "unsafe"),
        (0, Compensate("pay", "u"), "unsafe"),  # nothing to undo where it never arrived
        (0, Finish("completed"), "false_claim"),
        (0, Finish("withdrawn"), "false_claim"),
        (0, Query("pay"), None),
        (0, Query("mail"), "not_offered"),
        (0, Attempt("mail", "n"), "not_offered"),
        (0, Revalidate("apr"), "not_offered"),
        (0, Wait(9), "not_offered"),
        (0, HandOff(), None),
        (0, Stop(), None),
        # Harm goes before "not offered": too late to undo, too late to send, and harmful all the same.
        (2, Compensate("pay", "u"), "unsafe"),
        (4, Attempt("pay", "n"), "unsafe"),
        (4, Query("pay"), "not_offered"),
    ],
)
def test_what_is_wrong_with_a_proposal(wait, action, fault):
    model = paid()
    belief = model.step(model.root, Wait(wait))[""] if wait else model.root
    assert fault_of(model, belief, action) == fault


def test_a_refusal_uses_a_turn_and_its_kind_is_recorded_with_the_shield_on_and_off():
    proposals = [Attempt("pay", "n"), Query("mail"), Finish("completed"), Query("pay"), HandOff()]
    on = play(paid(), 0, *proposals)
    assert [step.fault for step in on.steps] == ["unsafe", "not_offered", "false_claim", None, None]
    assert [step.refused is None for step in on.steps] == [False, False, False, True, True]
    assert (on.refused, on.faulty("unsafe"), on.faulty("false_claim"), on.faulty("not_offered")) == (3, 1, 1, 1)
    off = play(paid(), 0, Attempt("pay", "n"), Query("mail"), Finish("completed"), shield=False)
    assert [step.fault for step in off.steps] == ["unsafe", "not_offered", "false_claim"]
    assert [step.refused is None for step in off.steps] == [True, False, True]


def test_the_shield_protects_the_world_and_not_the_score():
    stopped = play(paid(), 0, Attempt("pay", "n"), HandOff())
    assert fault(Judgement(stopped)) == "unsafe: 1 proposal could have done harm; the shield stopped it"
    both = play(paid(), 0, Attempt("pay", "n"), Finish("completed"), HandOff())
    assert fault(Judgement(both)) == (
        "unsafe: 1 proposal could have done harm; false claim: said 1 time that everything is done where that was not "
        "certain; the shield stopped them"
    )
    lucky = play(paid(), 0, Attempt("pay", "n"), HandOff(), shield=False)  # it never arrived
    assert lucky.verdict.new == ()
    assert fault(Judgement(lucky)) == "unsafe: 1 proposal could have done harm; no harm came of it this time"
    assert fault(Judgement(play(paid(), 0, Query("mail"), HandOff()))) == ""


def test_a_repeated_refusal_is_told_once_with_its_count():
    text = explain(paid(), Judgement(play(paid(), 0, *[Attempt("pay", "n")] * 39, HandOff())), "world-0")
    assert text.count("harmful in") == 1
    assert "1.-39. t1 pay(), new key (39 times)" in text
    assert "40. t1 hand off" in text
    assert len(text.splitlines()) < 30


def test_refusals_that_take_turns_are_told_once_each_until_something_is_done():
    turns = [Attempt("pay", "n"), Finish("completed"), Attempt("pay", "m"), Query("mail")]
    text = explain(
        paid(), Judgement(play(paid(), 0, *turns * 4, Query("pay"), Finish("completed"), HandOff())), "world-0"
    )
    assert re.findall(r"^(?:steps)? +(\d.*\bt1 .*)$", text, flags=re.MULTILINE) == [
        "1.…15. t1 pay(), new key (8 times)",
        "2.…14. t1 finish completed (4 times)",
        "4.…16. t1 query mail (4 times)",
        "17. t1 query pay: count 0",
        "18. t1 finish completed",
        "19. t1 hand off",
    ]


class Ends(Controller):
    """Does as it is told."""

    name = "ends"
    script: ClassVar[list[Action]] = []

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.left = list(self.script)

    def choose(self, belief: Belief) -> Action:
        return self.left.pop(0)


def gave_up(model: Model, world: int, *script: Action) -> bool:
    Ends.script = list(script)
    return run_case(model, Ends(model), "", world).trajectory.given_up


def test_giving_up_is_ending_where_more_could_be_had():
    """``world 0``: never arrived. Asking tells, and what is missing can be sent."""
    model = paid()
    assert gave_up(model, 0, HandOff())
    assert gave_up(model, 0, Query("pay"), HandOff())
    assert gave_up(model, 0, Query("pay"), Attempt("pay", "n"), HandOff())  # could have finished
    assert not gave_up(model, 0, Query("pay"), Attempt("pay", "n"), Finish("completed"))
    dumb = Model(template({"pay": contract()}, [past("pay")]))
    assert not gave_up(dumb, 0, HandOff())  # nobody can tell: a person must see to it
    assert gave_up(dumb, 0, Stop())  # there was a person
    alone = Model(template({"pay": contract()}, [past("pay")], handoff=None))
    assert not gave_up(alone, 0, Stop())


def test_joint_planning_never_gives_up(bank: WorkflowBank):
    for name in ("finance/billing-chain", "finance/late-mandate", "travel/seat-nobody-asks"):
        model = Model(bank.workflow(name).template)
        for world in range(0, len(model.worlds), 5):
            assert not run_case(model, Joint(model), "", world).trajectory.given_up


def test_plans_belong_to_the_model_and_not_to_the_planner(bank: WorkflowBank):
    model = Model(bank.workflow("finance/billing-chain").template)
    first, second = Joint(model), Joint(model)
    assert first.choose(model.root) == second.choose(model.root)
    assert first.nodes > 0
    assert second.nodes == 0


def test_whether_it_gave_up_does_not_hang_on_what_was_planned_before(bank: WorkflowBank):
    model = Model(bank.workflow("finance/billing-chain").template)
    planned, fresh = Joint(model), Joint(model, fresh=True)
    assert planned.choose(model.root) == fresh.choose(model.root)
    assert fresh.nodes == planned.nodes > 0


def test_what_is_no_action_is_one_clear_line():
    model = paid()
    Ends.script = [Query]  # type: ignore[list-item]
    with pytest.raises(EpisemError, match=r"ends.choose .* \(the class, not an instance\), which is no action"):
        run_case(model, Ends(model), "", 0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (Finish("all well"), "Finish: claim: Input should be 'completed' or 'withdrawn'"),  # type: ignore[arg-type]
        (Wait("soon"), "Wait: instants: Input should be a valid integer"),  # type: ignore[arg-type]
        (Attempt("pay", None), "Attempt: key: Input should be a valid string"),  # type: ignore[arg-type]
        (Query(["pay"]), "Query: obligation: Input should be a valid string"),  # type: ignore[arg-type]
        (Attempt("pay", "\ud800"), "Attempt: Invalid JSON"),
    ],
)
def test_an_action_that_no_record_could_hold_is_one_clear_line(wrong, words):
    model = paid()
    Ends.script = [wrong]
    with pytest.raises(EpisemError) as caught:
        run_case(model, Ends(model), "", 0)
    assert str(caught.value).startswith("ends.choose returned ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_list_of_what_is_unknown_is_kept_as_a_record_gives_it_back():
    model = paid()
    Ends.script = [HandOff(["pay"])]  # type: ignore[arg-type]
    (step,) = run_case(model, Ends(model), "", 0).trajectory.steps
    assert step.action == HandOff(("pay",))


@pytest.mark.parametrize("shield", [True, False])
def test_the_retry_loop_of_the_page_fails_in_every_named_case(bank: WorkflowBank, shield: bool):
    """It never looks before it acts or claims, so nowhere does it know what it says, whether or not harm came of it."""
    page = (Path(__file__).parents[2] / "docs" / "workflows.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.split("```python file=naive.py\n")[1].split("```")[0], names)
    harmed = 0
    for workflow in bank.workflows.values():
        for case, world in workflow.assignments.items():
            number = workflow.model.index_of(world)
            assert number is not None
            judged = run_case(workflow.model, names["Retry"](workflow.model), case, number, shield).trial.judged
            said = fault(judged)
            assert said, (workflow.id, case)
            harmed += bool(judged.trajectory.verdict.new)
            assert said.startswith("new violation") == bool(judged.trajectory.verdict.new)
    assert (harmed == 0) == shield
