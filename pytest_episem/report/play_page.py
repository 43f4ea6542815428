"""What a person sees who plays the agent: the same as an agent, laid out for people, and at the end the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from pytest_episem.episode import Episode, Observation
from pytest_episem.evidence.bank import Task
from pytest_episem.evidence.trial import Trial
from pytest_episem.report.layout import BAD, GOOD, NOTE, Cell, heading, indented, json_text, page, prose, rows, text
from pytest_episem.report.tool_words import tool_block
from pytest_episem.report.verdict import judged

HELP: list[tuple[Cell, Cell]] = [
    ("TOOL NAME=VALUE …", 'use a tool, as in: lookup id=A-1 note="two words" days=3'),
    ('TOOL {"NAME": VALUE}', "the same, with the arguments as JSON"),
    ('{"tool": …, "arguments": …}', "the same, all of it as JSON"),
    ("tools", "list the tools again"),
    ("request", "show the request again"),
    ("stop TEXT", "end: you do not carry it out, and say what is missing"),
    ("escalate TEXT", "end: you refer it to a person"),
    ("help", "show this"),
    ("quit", "leave; the episode is unfinished"),
]


def opening_page(episode: Episode, known: str) -> RenderableType:
    """Return what the agent is told; ``known`` says what of the condition is not told."""
    return page(
        text("You are the agent.", "bold"),
        prose(known, 0),
        heading("Instruction"),
        prose(episode.instruction),
        heading("Request"),
        prose(episode.goal),
        heading("Tools"),
        tools_page(episode),
        text(""),
        prose("Use a tool, stop or escalate; carrying out the operation ends the episode. 'help' says how.", 0),
    )


def tools_page(episode: Episode) -> RenderableType:
    """Return the tools as the agent is told of them: nothing says which one is the operation itself."""
    return page(*(tool_block(tool) for tool in episode.tools))


def help_page() -> RenderableType:
    """Return what can be typed."""
    return rows(HELP)


def observation_page(observation: Observation, episode: Episode) -> RenderableType:
    """Return a tool's answer, and how many turns are left."""
    note = "" if observation.valid else "an invalid call, which is held against the agent; "
    left = episode.turn_limit - episode.turns
    count = Text() if episode.ended else text(f"{note}turn {episode.turns}, {left} left", "dim" if not note else NOTE)
    return page(indented(json_text(observation.content, indent=2)), *([indented(count)] if count else []))


def verdict_page(task: Task, trial: Trial, banks: Sequence[str] = ()) -> RenderableType:
    """Return how the episode was judged, and all that had been hidden; ``banks`` are those that were named."""
    first, *lines = judged(task, trial, banks).split("\n")
    style = GOOD if first.startswith("passed") else BAD if first.startswith("failed") else NOTE
    pairs: list[tuple[Cell, Cell]] = [(line[:11].strip(), Text(line[11:])) for line in lines]
    return page(heading("How it was judged"), prose(Text(first, style=style)), rows(pairs))
