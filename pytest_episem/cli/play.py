"""``episem play``."""

from __future__ import annotations

import random
from typing import cast

import click

from pytest_episem.cli.banks import bank_option
from pytest_episem.cli.find import find, refuse
from pytest_episem.cli.output import show, write
from pytest_episem.cli.play_input import LastMessage, read_line
from pytest_episem.cli.prompt import typed_lines
from pytest_episem.cli.show import split_mask
from pytest_episem.episode import Call, Episode
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import WORLDS, Task, WorldLabel
from pytest_episem.evidence.condition import SETTINGS, Condition, Setting
from pytest_episem.evidence.plan import mask_role
from pytest_episem.evidence.trial import Trial
from pytest_episem.evidence.trial_world import TrialWorld
from pytest_episem.report.play_page import help_page, observation_page, opening_page, tools_page, verdict_page
from pytest_episem.report.task_view import MASKED, checked_mask
from pytest_episem.text import printable

PROMPT = "agent> "


@click.command()
@click.argument("name")
@click.option("--world", type=click.Choice(WORLDS), help="Of a task: which world; hidden and at random by default.")
@click.option("--setting", type=click.Choice(SETTINGS), help="Of a task: full, se or re; hidden, at random by default.")
@click.option("--mask", metavar="FACT,…", default="", help="Of a task: ids of the facts to hide; at random by default.")
@click.option("--case", metavar="CASE", default="", help="Of a workflow: what is true; hidden, at random by default.")
@click.option("--shield", type=click.Choice(["on", "off"]), help="Of a workflow: refuse what could do harm, or let it.")
@click.option("--live", is_flag=True, help="Of a workflow: begin before its trouble, and make the calls yourself.")
@click.option("--seed", type=click.IntRange(min=0), help="Deal the same hidden choice again.")
@bank_option
def command(
    name: str,
    world: str | None,
    setting: str | None,
    mask: str,
    case: str,
    shield: str | None,
    live: bool,
    seed: int | None,
    banks: tuple[str, ...],
) -> None:
    """Play a task of the evidence suite or a workflow of the workflow suite yourself, and be judged.

    Of a task: get the request and the tools, read, then act, stop or escalate. World, setting and mask are dealt at
    random and told at the end, but for those given. Of a workflow: find out what became of it, and finish the work
    without doing anything twice; joint planning plays the same hidden truth beside you.

    Lines are read from standard input, so that a script can play; where it ends without a decision the episode is
    unfinished, and a workflow is stopped.

    \b
    Examples:
      episem play finance/payment-authorization/pr-58217
      episem play finance/payment-authorization/pr-58217 --setting re --seed 7
      episem play billing-chain
      episem play billing-chain --live
      episem play billing-chain --case landed --shield off
    """
    found = find(name, banks)
    if isinstance(found, Task):
        refuse({"--case": case, "--shield": shield, "--live": live}, found.id, "evidence")
        dealt = random.SystemRandom().randrange(10**6) if seed is None else seed
        given = (cast("WorldLabel | None", world), cast("Setting | None", setting), split_mask(mask))
        _play(found, deal(found, *given, dealt), _known(hidden_parts(*given), dealt), banks)
        return
    refuse({"--world": world, "--setting": setting, "--mask": mask}, found.workflow.template.id, "workflow")
    # Nothing of the workflow suite is needed for a task.
    from pytest_episem.cli.play_workflow import play_workflow

    play_workflow(found.workflow, case or found.case or "", seed, shield != "off", banks, live)


def _known(hidden: list[str], dealt: int) -> str:
    if not hidden:
        return "Nothing of this episode is hidden from you but what the mask hides."
    return f"Hidden until the end: {', '.join(hidden)}; --seed {dealt} deals the same again."


def deal(task: Task, world: WorldLabel | None, setting: Setting | None, mask: list[str], seed: int) -> Condition:
    """Return the condition to play: what is given as given, the rest by ``seed``.

    Raises:
        EpisemError: a mask that the task or the setting does not allow.
    """
    dice = random.Random(f"{seed}/{task.id}")
    dealt_world = dice.choice(WORLDS)
    dealt_setting = dice.choice(MASKED if mask else ("full", *MASKED))
    dealt_mask = dice.choice([*task.critical, *task.irrelevant])
    chosen: Setting = setting or dealt_setting
    atoms = mask or ([dealt_mask] if chosen in MASKED else [])
    return Condition(task.id, world or dealt_world, chosen, checked_mask(task, chosen, atoms))


def hidden_parts(world: WorldLabel | None, setting: Setting | None, mask: list[str]) -> list[str]:
    """Return which of world, setting and mask are dealt and not told."""
    open_mask = not mask and setting in (None, *MASKED)
    return [name for name, dealt in (("world", not world), ("setting", not setting), ("mask", open_mask)) if dealt]


def _play(task: Task, condition: Condition, known: str, banks: tuple[str, ...]) -> None:
    episode = Episode(TrialWorld(task, condition))
    show(opening_page(episode, known))
    lines = typed_lines(lambda: PROMPT)
    while not episode.ended:
        line = next(lines, None)
        if line is None:
            episode.abandon("unfinished", "the input ended")
        else:
            _step(episode, line)
    role = mask_role(condition.mask, task.critical)
    trial = Trial(condition, role, outcome=episode.outcome(), turns=episode.turns, events=episode.events)
    show(verdict_page(task, trial, banks))


def _step(episode: Episode, line: str) -> None:
    try:
        meant = read_line(line, {tool.name: tool.parameters for tool in episode.tools})
    except EpisemError as fault:
        write(f"  {printable(fault)}\n")
        return
    if isinstance(meant, Call):
        for observation in episode.turn([meant]):
            show(observation_page(observation, episode))
    elif isinstance(meant, LastMessage):
        episode.finish(meant.text, disposition=meant.disposition)
    elif meant == "help":
        show(help_page())
    elif meant == "tools":
        show(tools_page(episode))
    elif meant == "request":
        write(f"  {printable(episode.goal)}\n")
