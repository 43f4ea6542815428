"""What a person sees who plays a workflow: the public evidence, the actions, each answer, and at the end the truth."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from pytest_episem.report.layout import BAD, GOOD, NOTE, Cell, counted, heading, page, prose, rows, text
from pytest_episem.report.workflow_page import public_blocks, unknown_blocks, verdict_table
from pytest_episem.workflows.actions import Action, Finish, Step
from pytest_episem.workflows.contract_words import fee_text
from pytest_episem.workflows.controllers.joint import Plan
from pytest_episem.workflows.explain import fault, ledger_lines
from pytest_episem.workflows.refusal import action_text, fate_count, reason
from pytest_episem.workflows.summary import cost
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.trial import Judgement
from pytest_episem.workflows.verdict import Trajectory
from pytest_episem.workflows.words import truth_texts, unknown_texts

HELP: list[tuple[Cell, Cell]] = [
    ("NUMBER", "take an action of the list"),
    ("send WORK [KEY]", "send a piece of work under a new key, or under the key given"),
    ("undo WORK [KEY]", "send its reverse"),
    ("query WORK", "ask the provider about it"),
    ("renew APPROVAL", "ask for an approval to be renewed"),
    ("wait N", "let N instants pass; nothing else moves time"),
    ("hand off [WORK …]", "end: give the case away, naming what is unknown"),
    ("finish [completed]", "end: claim that all is done; or 'finish withdrawn', that nothing is left"),
    ("stop", "end without a claim"),
    ("actions", "list the actions again"),
    ("advice", "what joint planning would do next"),
    ("worlds", "what can still be true"),
    ("told", "show what you were told again"),
    ("help", "show this"),
    ("quit", "leave, which is a stop"),
]
COSTS = ("ended certified", "did not end unknown", "did not hand off", "reached the goal")
AMOUNTS = ("in fees", "in actions", "in time")


def opening_page(model: Model, known: str, live: bool = False) -> RenderableType:
    """Return what the agent is told; ``known`` says what is hidden and how to deal it again. The title of a workflow
    would tell trouble that is to come ``live``."""
    template = model.template
    return page(
        text("You are the agent.", "bold"),
        prose("Carry out the approved work." if live else f"{template.title}.", 0),
        prose(known, 0),
        *public_blocks(template, live),
    )


def told_page(model: Model, belief: Belief, live: bool = False) -> RenderableType:
    """Return what the agent was told, and the time."""
    return page(prose(f"It is t{belief.time}."), *public_blocks(model.template, live))


def actions_page(model: Model, belief: Belief, choices: Sequence[tuple[str, Action]]) -> RenderableType:
    """Return the numbered actions as they are typed, with what each means and costs, and the endings."""
    pairs: list[tuple[Cell, Cell]] = [
        (f"{number:>2}  {typed}", f"{action_text(model.template, belief, action)}, {fee_text(model.fee(action))}")
        for number, (typed, action) in enumerate(choices, 1)
    ]
    left = model.template.deadline - belief.time
    if left > 0:
        pairs.append(("    wait N", f"1 to {left} instants"))
    ends = ["hand off", *(f"finish {claim}" for claim in model.template.ends), "stop"]
    return page(
        heading("Actions"),
        rows([*pairs, ("    to end", ", ".join(ends)), ("    to ask us", "advice, worlds, told, actions, help")]),
    )


def help_page() -> RenderableType:
    """Return what can be typed."""
    return rows(HELP)


def step_page(model: Model, belief: Belief, after: Belief, step: Step) -> RenderableType:
    """Return what came of a proposal: the answer, or why it was refused."""
    if step.refused is not None:
        return prose(text(f"refused: {reason(model, belief, step.action)}", NOTE))
    parts = [step.answer] if step.answer else []
    parts += [f"fee {step.fee}"] if step.fee else []
    parts += [f"it is t{after.time}"] if after.time != belief.time else []
    here = after.time >= model.template.deadline and after is not belief
    parts += ["the deadline: finish, hand off or stop now, anything else ends it as unknown"] if here else []
    return prose("; ".join(parts) or "done")


def worlds_page(model: Model, belief: Belief) -> RenderableType:
    """Return what can still be true."""
    worlds = [world for world, _ in belief.members]
    unknown = unknown_texts(model.template, [model.worlds[world] for world in worlds])
    return page(*unknown_blocks(unknown or ["Nothing is open."], fate_count(model, worlds), len(worlds)))


def advice_page(belief: Belief, typed: str, plan: Plan) -> RenderableType:
    """Return what joint planning would do, and what it expects of it over the compatible worlds."""
    worlds = len(belief)
    sure = worlds - plan.value.uncertified
    if isinstance(plan.action, Finish):
        why = f"it is certain in {_all(worlds)}"
    elif not sure:
        why = f"no course leads to a certified completion in {_all(worlds)}"
    else:
        why = f"going on from there, completion is certified in {sure} of {counted(worlds, 'world')}"
    return prose(f"joint planning: {typed}; {why}.")


def _all(worlds: int) -> str:
    return "the one world that is left" if worlds == 1 else f"all {worlds} worlds that are left"


def verdict_page(model: Model, yours: Trajectory, joint: Trajectory, again: str) -> RenderableType:
    """Return the hidden truth, the ledger and the verdict, beside joint planning's run of the same truth."""
    wrong = fault(Judgement(yours))
    blocks: list[RenderableType] = [heading("What was true")]
    blocks += [prose(line) for line in truth_texts(model.template, yours.world, model.worlds) or ["all was known"]]
    blocks += [heading("The ledger"), *(prose(line) for line in ledger_lines(model, yours) or ["no effect"])]
    blocks += [heading("How it ended"), verdict_table([("you", yours.verdict), ("joint planning", joint.verdict)])]
    blocks += [prose(text(wrong, BAD))] if wrong else []
    blocks += [prose(_compared(yours, joint)), *_missed(yours), text(""), prose(again, 0)]
    return page(*blocks)


def _compared(yours: Trajectory, joint: Trajectory) -> Cell:
    """Whether joint planning was beaten on this truth, and in what."""
    if yours.verdict.new or yours.verdict.claim_holds is False:
        return text("Joint planning does no harm and claims nothing that is false, whatever the truth is.", NOTE)
    if yours.faulty("unsafe") or yours.faulty("false_claim"):
        return text("Joint planning proposes nothing that could do harm, and claims only what is certain.", NOTE)
    mine, its = cost(yours.verdict), cost(joint.verdict)
    if mine == its:
        return text("You did as well as joint planning.", GOOD)
    place = next(place for place, (a, b) in enumerate(zip(mine, its, strict=True)) if a != b)
    won = mine[place] < its[place]
    if place < len(COSTS):
        what = f"{'You' if won else 'Joint planning'} {COSTS[place]}"
    else:
        gap = abs(mine[place] - its[place])
        what = f"{'You' if won else 'Joint planning'} did better by {gap} {AMOUNTS[place - len(COSTS)]}"
    if won:
        return text(f"{what}: you beat joint planning, on this truth. It plans for all that could be true.", GOOD)
    return text(f"{what}.", NOTE)


def _missed(yours: Trajectory) -> list[RenderableType]:
    notes = []
    if yours.refused:
        notes.append(f"The shield refused {counted(yours.refused, 'proposal')} of yours.")
    if yours.certifiable:
        notes.append("When you ended, finishing would have been certified.")
    return [prose(note) for note in notes]
