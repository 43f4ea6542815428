"""``episem serve``."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click

from pytest_episem.agents.mcp_server import FINAL_PATH, FINAL_TOOL, MCP_PATH, require_mcp, serve_http, serve_stdio
from pytest_episem.cli.banks import bank_option
from pytest_episem.cli.find import find, refuse
from pytest_episem.cli.output import write
from pytest_episem.cli.play import deal
from pytest_episem.cli.show import split_mask
from pytest_episem.episode import CALL_LIMIT, Episode
from pytest_episem.errors import EpisemError
from pytest_episem.evidence.bank import WORLDS, Task, WorldLabel
from pytest_episem.evidence.condition import SETTINGS, Setting
from pytest_episem.report.verdict import judged
from pytest_episem.runs.record import trial_to_json
from pytest_episem.suite import suite
from pytest_episem.workflows.bank.load import Workflow
from pytest_episem.workflows.cases import case_name, case_number, drawn
from pytest_episem.workflows.explain import explain
from pytest_episem.workflows.guidance import GUIDANCE, spelled
from pytest_episem.workflows.live import as_played
from pytest_episem.workflows.trial import Case, Form

LINGER = 0.5
"""Seconds an HTTP server stays after the end, so that the client finds it while it says goodbye."""


@click.command()
@click.argument("name")
@click.option("--world", type=click.Choice(WORLDS), help="Of a task: which world; at random by default.")
@click.option("--setting", type=click.Choice(SETTINGS), help="Of a task: full, se or re; at random by default.")
@click.option("--mask", metavar="FACT,…", default="", help="Of a task: ids of the facts to hide; at random by default.")
@click.option("--case", metavar="CASE", default="", help="Of a workflow: what is true; at random by default.")
@click.option("--shield", type=click.Choice(["on", "off"]), help="Of a workflow: refuse what could do harm, or let it.")
@click.option(
    "--guidance", metavar="KIND", type=click.Choice(GUIDANCE), help="Of a workflow: none, evidence or advice."
)
@click.option("--form", type=click.Choice(["journal", "live"]), help="Of a workflow: where its trouble happens.")
@click.option("--seed", type=click.IntRange(min=0), help="Deal the same choice again.")
@click.option("--http", metavar="HOST:PORT", help="Serve streamable HTTP instead of stdio; port 0 takes a free one.")
@click.option("--final-tool", is_flag=True, help=f"Add a tool, {FINAL_TOOL}, for the agent's last message.")
@click.option("--record", metavar="FILE", type=click.Path(path_type=Path), help="Append the trial's record here.")
@click.option("--name", "agent", metavar="AGENT", default="mcp", help="The agent's name in the record.")
@bank_option
def command(
    name: str,
    world: str | None,
    setting: str | None,
    mask: str,
    case: str,
    shield: str | None,
    guidance: str | None,
    form: Form | None,
    seed: int | None,
    http: str | None,
    final_tool: bool,
    record: Path | None,
    agent: str,
    banks: tuple[str, ...],
) -> None:
    """Serve one episode of a task, or of a workflow, over MCP, for an agent in any language, and judge it at the end.

    Over stdio the episode lasts until the client goes away; start this command from the client. Over HTTP it lasts
    until the operation was carried out, the agent's last message was sent as plain text to /final, or Ctrl-C. An
    agent that goes away without a last message is unfinished. The verdict goes to standard error.

    \b
    Examples:
      episem serve pr-58217 --world unsafe --setting full --final-tool
      episem serve pr-58217 --http 127.0.0.1:8765 --record trials.jsonl
      episem serve billing-chain --case landed --final-tool
    """
    require_mcp()
    dealt = secrets.randbelow(10**6) if seed is None else seed
    found = find(name, banks)
    task: Any = found if isinstance(found, Task) else found.workflow
    if isinstance(found, Task):
        refuse({"--case": case, "--shield": shield, "--guidance": guidance, "--form": form}, found.id, "evidence")
        chosen = cast("WorldLabel | None", world), cast("Setting | None", setting)
        condition: Any = deal(found, *chosen, split_mask(mask), dealt)
    else:
        refuse({"--world": world, "--setting": setting, "--mask": mask}, task.id, "workflow")
        dealt_case = deal_case(task, case or found.case or "", shield != "off", dealt)
        condition = replace(dealt_case, guidance=spelled(guidance or "none"), form=form or "journal")
    episode = Episode(suite(condition.suite).start(task, condition), turn_limit=CALL_LIMIT)
    if final_tool:
        episode.note("notice", text=f"the agent was given the tool {FINAL_TOOL}")
    address = _address(http) if http else None
    started = time.perf_counter()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_http(episode, *address, final_tool) if address else serve_stdio(episode, final_tool))
    episode.abandon("unfinished", "the agent went away without a last message")
    _conclude(task, condition, episode, time.perf_counter() - started, record, agent, banks)


async def _http(episode: Episode, host: str, port: int, final_tool: bool) -> None:
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, over.set)

    def changed() -> None:
        if episode.ended:
            over.set()

    async with serve_http(episode, host, port, final_tool, changed, below="") as base:
        write(f"MCP server: {base}{MCP_PATH}\nlast message: POST it as text to {base}{FINAL_PATH}\n")
        await over.wait()
        await asyncio.sleep(LINGER)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise EpisemError(f"--http {text!r}: expected HOST:PORT, such as 127.0.0.1:8765")
    return host, int(port)


def deal_case(workflow: Workflow, case: str, shield: bool, seed: int) -> Case:
    """Return the case to play: the one named, or one drawn by ``seed``.

    Raises:
        UnknownName: there is no such case.
    """
    model = workflow.model
    number = case_number(model, workflow, case) if case else drawn(model, seed)
    return Case(workflow.id, case_name(model, workflow, number), shield)


def _conclude(
    task: Any,
    condition: Any,
    episode: Episode,
    seconds: float,
    record: Path | None,
    agent: str,
    banks: tuple[str, ...],
) -> None:
    """Judge the ended episode, keep its record and say the verdict."""
    trial = suite(condition.suite).trial(
        task,
        condition,
        outcome=episode.outcome(),
        turns=episode.turns,
        seconds=round(seconds, 3),
        events=episode.events,
    )
    if record is not None:
        with record.open("a", encoding="ascii") as file:
            file.write(trial_to_json(trial, "serve", agent) + "\n")
    told = (
        judged(task, trial, banks)
        if isinstance(task, Task)
        else explain(as_played(task.model, trial.judged.live), trial.judged, condition.case, banks)
    )
    write(f"{told}\n", error=True)
