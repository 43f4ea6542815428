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
from pytest_episem.workflows.study import run_case
from pytest_episem.workflows.support import Model


def play_workflow(workflow: Workflow, case: str, seed: int | None, shield: bool, banks: tuple[str, ...]) -> None:
    """Play a workflow on the truth of ``case``, or on one drawn by ``seed``, until it has ended or the input has."""
    model = workflow.model
    if case:
        number, known = case_number(model, workflow, case), f"The truth is that of case {case}, as you chose."
    else:
        dealt = random.SystemRandom().randrange(10**6) if seed is None else seed
        number = drawn(model, dealt)
        known = f"What is true stays hidden until the end; --seed {dealt} deals the same again."
    game = Game(model, number, shield)
    show(opening_page(model, known))
    game.list_actions()
    for line in typed_lines(lambda: f"t{game.episode.belief.time}> "):
        game.take(line)
        if game.episode.terminal is not None:
            break
    game.end(case_name(model, workflow, number), banks)


class Game:
    """One episode between a person and a hidden truth, with joint planning beside it."""

    def __init__(self, model: Model, number: int, shield: bool) -> None:
        self.model = model
        self.number = number
        self.episode = Episode(model, number, shield=shield)
        self.joint = Joint(model)

    def take(self, line: str) -> None:
        """Do what a line means; a line that means nothing is said so, and nothing has happened."""
        try:
            meant = read_action(line, self.model, self.episode.belief)
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
        show(actions_page(self.model, belief, [(typed_form(belief, a), a) for a in choices(self.model, belief)]))

    def _propose(self, action: Action) -> None:
        before = self.episode.belief
        step = self.episode.propose(action)
        show(step_page(self.model, before, self.episode.belief, step))

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
            show(told_page(self.model, belief) if ask == "told" else help_page())

    def end(self, name: str, banks: tuple[str, ...]) -> None:
        """Show how it ended; where the input ended first, the person has stopped."""
        if self.episode.terminal is None:
            write("\n  the input ended: stop\n")
            self.episode.propose(Stop())
        short = f"{self.model.template.id} --case {name}{bank_options(banks)}"
        again = f"again: episem play {short}\nall of it: episem show {short}"
        its = run_case(self.model, self.joint, name, self.number).trajectory
        yours = replace(self.episode.trajectory(), given_up=given_up(self.episode))
        show(verdict_page(self.model, yours, its, again))
