"""A person plays a workflow of the workflow suite."""

from __future__ import annotations

import random
from dataclasses import replace

from pytest_episem.banks.folder import bank_options
from pytest_episem.cli.action_input import Ask, choices, read_action, typed_form
from pytest_episem.cli.output import show, write
from pytest_episem.cli.prompt import typed_lines
from pytest_episem.errors import EpisemError
from pytest_episem.report.workflow_play_page import (
    actions_page,
    advice_page,
    help_page,
    opening_page,
    step_page,
    told_page,
    verdict_page,
    worlds_page,
)
from pytest_episem.text import printable
from pytest_episem.workflows.actions import Action, Stop
from pytest_episem.workflows.bank.load import Workflow
from pytest_episem.workflows.cases import case_name, case_number, drawn
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.episode import Episode
from pytest_episem.workflows.giving_up import given_up
from pytest_episem.workflows.live import LiveEpisode, stage_of
from pytest_episem.workflows.study import run_case
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.verdict import Trajectory


def play_workflow(
    workflow: Workflow, case: str, seed: int | None, shield: bool, banks: tuple[str, ...], live: bool = False
) -> None:
    """Play a workflow on the truth of ``case``, or on one drawn by ``seed``, until it has ended or the input has;
    ``live``: from before its trouble."""
    model = workflow.model
    if case:
        number, known = case_number(model, workflow, case), f"The truth is that of case {case}, as you chose."
    else:
        dealt = random.SystemRandom().randrange(10**6) if seed is None else seed
        number = drawn(model, dealt)
        known = f"What is true stays hidden until the end; --seed {dealt} deals the same again."
    game = Game(model, number, shield, live)
    show(opening_page(game.model, known, live))
    game.list_actions()
    for line in typed_lines(lambda: f"t{game.episode.belief.time}> "):
        game.take(line)
        if game.episode.terminal is not None:
            break
    game.end(case_name(model, workflow, number), banks)


class Game:
    """One episode between a person and a hidden truth, with joint planning beside it."""

    def __init__(self, model: Model, number: int, shield: bool, live: bool = False) -> None:
        self.number = number
        self._journal = model
        self._kind = LiveEpisode if live else Episode
        self.episode: Episode | LiveEpisode = self._kind(model, number, shield=shield)
        self.joint = Joint(self.model)

    @property
    def model(self) -> Model:
        """What is compatible with what was called; it changes with trouble that comes live."""
        return self.episode.model

    @property
    def batches(self) -> list[tuple[str, ...]]:
        """The pieces of work that may be sent in one request now."""
        return self.episode.batches if isinstance(self.episode, LiveEpisode) else []

    def take(self, line: str) -> None:
        """Do what a line means; a line that means nothing is said so, and nothing has happened."""
        try:
            meant = read_action(line, self.model, self.episode.belief, self.batches)
        except EpisemError as fault:
            write(f"  {printable(fault)}\n")
            return
        if isinstance(meant, str):
            self._answer(meant)
        elif meant is not None:
            self._propose(meant)

    def list_actions(self) -> None:
        """Show what can be done now."""
        belief = self.episode.belief
        offered = choices(self.model, belief, self.batches)
        show(actions_page(self.model, belief, [(typed_form(belief, action), action) for action in offered]))

    def _propose(self, action: Action) -> None:
        model, before = self.model, self.episode.belief
        step = self.episode.propose(action)
        show(step_page(model, before, self.episode.belief, step))
        if self.model is not model:
            self.joint = Joint(self.model)

    def _answer(self, ask: Ask) -> None:
        belief = self.episode.belief
        if ask == "actions":
            self.list_actions()
        elif ask == "advice":
            plan = self.joint.plan(belief)
            show(advice_page(belief, typed_form(belief, plan.action), plan))
        elif ask == "worlds":
            show(worlds_page(self.model, belief))
        else:
            show(told_page(self.model, belief, self._kind is LiveEpisode) if ask == "told" else help_page())

    def end(self, name: str, banks: tuple[str, ...]) -> None:
        """Show how it ended; where the input ended first, the person has stopped."""
        if self.episode.terminal is None:
            write("\n  the input ended: stop\n")
            self.episode.propose(Stop())
        short = f"{self.model.template.id} --case {name}{bank_options(banks)}"
        live = " --live" if self._kind is LiveEpisode else ""
        again = f"again: episem play {short}{live}\nall of it: episem show {short}"
        yours = replace(self.episode.trajectory(), given_up=given_up(stage_of(self.episode)))
        show(verdict_page(self.model, yours, self._joint_planning(name), again))

    def _joint_planning(self, name: str) -> Trajectory:
        """Joint planning's run of the same truth."""
        if self._kind is Episode:
            return run_case(self.model, self.joint, name, self.number).trajectory
        episode = LiveEpisode(self._journal, self.number)
        while episode.terminal is None:
            episode.propose(Joint(episode.model).choose(episode.belief))
        return episode.trajectory()
