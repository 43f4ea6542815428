"""The documentation page works on one timeline: every number on it is computed here another way, from the public parts
of the suite or by hand. What its commands print is compared by the tests of the documentation."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from pytest_episem.workflows.actions import Attempt, Compensate, HandOff, Query, Revalidate, Step, Wait
from pytest_episem.workflows.bank.load import Workflow, WorkflowBank
from pytest_episem.workflows.controllers import CONTROLLERS
from pytest_episem.workflows.refusal import fate_count
from pytest_episem.workflows.shield import admissible, harmed
from pytest_episem.workflows.study import Result, run_workflow, table
from pytest_episem.workflows.summary import cost
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.verdict import Trajectory
from pytest_episem.workflows.words import cost_text
from pytest_episem.workflows.world import World

PAGE = (Path(__file__).parents[2] / "docs" / "workflows.md").read_text(encoding="utf-8")
PROSE = " ".join(re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE).split())
NUMBERS = {2: "two", 3: "three", 5: "five", 6: "six"}
ACTIVE = [name for name in CONTROLLERS if name != "stop"]


def rows(head: str) -> list[list[str]]:
    """The cells of the table whose first column is headed so."""
    lines = PAGE.split(f"\n| {head} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture(scope="module")
def workflow(bank: WorkflowBank) -> Workflow:
    return bank.workflow("finance/billing-chain")


@pytest.fixture(scope="module")
def model(workflow: Workflow) -> Model:
    return Model(workflow.template)


@pytest.fixture(scope="module")
def results(workflow: Workflow) -> list[Result]:
    """All five controllers in all 24 worlds."""
    return run_workflow(workflow, over="worlds")


def fate_words(world: World) -> str:
    fate = world.fates["c1"]
    return {
        "never_arrived": "never arrived",
        "rejected": "rejected",
        "never_effective": "accepted without any effect",
    }.get(fate.kind, f"effect at t{fate.lands}")


def test_the_clock_and_the_fees(workflow):
    template = workflow.template
    assert (template.start, template.deadline) == (1, 6)
    assert "Now it is t1, and the work must be done by t6." in PROSE
    fees = {name: template.contract(name).fee for name in ("charge", "receipt")}
    query = template.contract("charge").query
    assert query is not None
    assert query.fee == 0
    assert f"A charge costs {fees['charge']}, the receipt {fees['receipt']}, asking nothing." in PROSE


def test_six_fates_with_what_is_said_of_them_and_what_a_second_charge_does(model):
    expected = []
    for number, world in enumerate(model.worlds):
        if str(world.services["cards.charge"]) == "lands":
            run = model.initial[number]
            said, _ = model.execute(world, run, 1, Query("charge"))
            _, after = model.execute(world, run, 1, Attempt("charge", "second"))
            twice = any(violation.kind == "duplicate" for violation in after.violations)
            words = "charges twice" if twice else "is the only one"
            expected.append([fate_words(world), said.removeprefix("chg-7 "), words])
    assert sorted(rows("fate of the charge")) == sorted(expected)
    assert len(expected) == fate_count(model, list(range(24))) == 6
    assert f"{NUMBERS[6]} things can have become of it" in PROSE


def test_the_compatible_worlds_and_how_asking_narrows_them(model):
    assert f"so there are {len(model.worlds)} worlds" in PROSE
    after = model.step(model.root, Query("charge"))
    assert f'After "settled at 0" {len(after["chg-7 settled at 0"])} worlds are left' in PROSE
    accepted = after["chg-7 accepted"]
    assert f'After "accepted" {len(accepted)} are left' in PROSE
    later = model.step(accepted, Wait(1))[""]
    assert set(model.step(later, Query("charge"))) == {"chg-7 accepted", "chg-7 settled at 2"}


def test_what_is_admissible_at_the_start(model):
    attempt = Attempt("charge", "second")
    bad = fate_count(model, [world for world, _ in harmed(model, model.root, attempt)])
    assert not admissible(model, model.root, attempt)
    assert f"it would charge twice in {NUMBERS[bad]} of the {NUMBERS[6]} fates" in PROSE
    assert "Harm is one of five things" in PROSE


def done(step: Step) -> str:
    action = step.action
    if isinstance(action, Attempt):
        return {"charge": "charge", "receipt": "send the receipt"}[action.obligation]
    words = {Query: "ask", Wait: "wait", HandOff: "hand off"}
    return words.get(type(action), "")


def path(trajectory: Trajectory) -> str:
    return ", ".join(filter(None, map(done, trajectory.steps)))


def truth(world: World) -> str:
    words = fate_words(world)
    if words.startswith("effect"):
        return "effect at t2" if words == "effect at t2" else "effect at t0 or t1"
    service = world.services["cards.charge"]
    lands = f"charges land {service.delay} later" if service.delay else "charges land at once"
    served = {"lands": lands, "refused": "charges are rejected"}[service.kind]
    return f"{'no effect' if 'without' in words else 'never arrived or rejected'}, {served}"


def test_what_the_four_do_in_the_worlds(results):
    endings = {"completed": "completed", "handed_off": "handed off"}
    for name in ACTIVE:
        found = Counter(
            (truth(run.world), path(run), endings[v.terminal], str(v.fee), str(v.actions), str(v.time))
            for run, v in ((r.trajectory, r.trajectory.verdict) for r in results if r.controller == name)
        )
        assert sorted([*key, str(count)] for key, count in found.items()) == sorted(rows("what is true"))
    assert f"In the {len(results) // 5} worlds:" in PROSE


def test_twenty_one_of_twenty_four_is_the_most_that_is_possible(model, results):
    """Where the first charge has no effect and a new one is rejected, nothing makes the goal true."""
    hopeless = [
        world
        for world in model.worlds
        if world.fates["c1"].kind != "effective" and world.services["cards.charge"].kind == "refused"
    ]
    assert f"{24 - len(hopeless)} of 24 is the most that is possible. In the other {len(hopeless)} worlds" in PROSE
    certified = {name: row.certified for name, row in table(results).items()}
    assert certified == {"stop": 0, **dict.fromkeys(ACTIVE, 21)}


def test_the_sums_of_the_report_follow_from_the_paths(results):
    """By hand, from the table of paths: fees 8 x 1 + 4 x 1 + 6 x 4 + 2 x 3 + 3 x 4 + 3, and so on."""
    paths = [list(map(int, row[3:])) for row in rows("what is true")]
    fee, actions, time = (sum(row[place] * row[3] for row in paths) for place in range(3))
    assert (fee, actions, time) == (57, 82, 17)
    for name in ACTIVE:
        (line,) = re.findall(rf"^episem/{name} +21/24.*$", PAGE, flags=re.MULTILINE)
        assert line.split()[1:] == ["21/24", "21", "0", "3", "0", "0", "57", "82", "17", "0", "0"]
        row = table(results)[name]
        assert (row.handed_off, row.fee, row.actions, row.time) == (3, 57, 82, 17)
    (line,) = re.findall(r"^episem/stop +0/24.*$", PAGE, flags=re.MULTILINE)
    assert line.split()[1:] == ["0/24", "0", "0", "0", "0", "24", "0", "0", "0", "0", "0"]


@pytest.mark.slow
def test_the_table_over_the_whole_bank(bank, over_assignments):
    assert f"Over all {len(bank.workflows)} workflows and {len(bank.assignments)} named cases" in PROSE
    fields = ("certified", "withdrawn", "handed_off", "unknown", "new", "fee", "actions", "time")
    found = [[name, *(str(getattr(row, field)) for field in fields)] for name, row in table(over_assignments).items()]
    assert rows("controller") == found
    for row in found:
        assert sum(map(int, row[1:5])) == len(bank.assignments)


@pytest.mark.slow
def test_the_cases_that_joint_planning_loses(over_assignments):
    by_case: dict[str, dict[str, Trajectory]] = {}
    for result in over_assignments:
        by_case.setdefault(f"{result.template}/{result.case}", {})[result.controller] = result.trajectory
    lost = []
    for case, runs in by_case.items():
        joint = runs["joint"].verdict
        best = min((run.verdict for name, run in runs.items() if name != "joint"), key=cost)
        if cost(best) < cost(joint):
            lost.append([case, cost_text(best), cost_text(joint)])
    assert rows("case") == lost
    assert f"That happens in {len(lost)} of the {len(by_case)} cases" in PROSE


@pytest.mark.slow
def test_joint_planning_is_never_worse_over_the_worlds_of_a_workflow(over_worlds):
    sums: dict[tuple[str, str], list[int]] = {}
    for result in over_worlds:
        total = sums.setdefault((result.template, result.controller), [0] * 7)
        sums[result.template, result.controller] = [
            a + b for a, b in zip(total, cost(result.trajectory.verdict), strict=True)
        ]
    assert all(sums[template, "joint"] <= total for (template, _), total in sums.items())


def test_the_five_controllers_and_the_endings_are_all_there_are():
    assert [row[0] for row in rows("name")] == [f"`episem/{name}`" for name in CONTROLLERS]
    assert [row[0] for row in rows("ending")] == ["completed", "withdrawn", "handed off", "unknown", "claim"]


@pytest.mark.slow
def test_the_sums_of_the_two_named_cases(over_assignments):
    """Landed: ask, send the receipt. Lost: ask, charge, send the receipt. The retry of one's own: charge, receipt."""
    joint = [
        r.trajectory.verdict
        for r in over_assignments
        if (r.template, r.controller) == ("finance/billing-chain", "joint")
    ]
    assert sum(verdict.fee for verdict in joint) == 1 + (3 + 1)
    assert sum(verdict.actions for verdict in joint) == 2 + 3
    assert "fee 5, 5 actions, 0 instants" in PAGE
    assert f"fee {2 * (3 + 1)}, {2 * 2} actions, 0 instants" in PAGE


def test_fees_are_due_for_every_request_also_a_rejected_one(results):
    for result in results:
        steps = [step for step in result.trajectory.steps if isinstance(step.action, (Attempt, Compensate, Revalidate))]
        assert all(step.fee == {"charge": 3, "receipt": 1}[step.action.obligation] for step in steps)  # type: ignore[union-attr]
    assert any(step.answer == "rejected" for result in results for step in result.trajectory.steps)
