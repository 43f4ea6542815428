"""The ``episem`` command. Commands load when they are called, so that ``--help`` and ``--version`` are instant."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from pytest_episem import __version__
from pytest_episem.cli.output import OutputClosed
from pytest_episem.errors import EpisemError, UnknownName

USAGE, INTERNAL, INTERRUPTED, CLOSED = 2, 3, 130, 141


class Entry(NamedTuple):
    """A command before it is loaded: its module in this package, and one line for the list."""

    module: str
    help: str


COMMANDS = {
    "list": Entry("list_tasks", "List the tasks of a bank, or its workflows."),
    "show": Entry("show", "Show a task or a workflow: what is seen, what is hidden, what is true."),
    "play": Entry("play", "Play the agent yourself and be judged."),
    "worth": Entry("worth", "Say what each promise of a workflow's providers is worth."),
    "serve": Entry("serve", "Serve one episode over MCP, for an agent in any language."),
    "validate": Entry("validate", "Check a bank against every rule it must meet."),
    "sign": Entry("sign", "Sign that a person has reviewed families of a bank."),
    "report": Entry("report", "Report finished runs from their records."),
    "compare": Entry("compare", "Compare two runs, task by task."),
    "merge": Entry("merge", "Join the shards of one run."),
    "gate": Entry("gate", "Hold finished runs to limits; the exit code is the answer."),
    "bless": Entry("bless", "Make a run the baseline that later ones are measured against."),
}
"""In the order of ``episem --help``; each module has the command under the name ``command``."""


class Commands(click.Group):
    """A group whose commands are imported only when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__name__}.{COMMANDS[cmd_name].module}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.command(
    cls=Commands,
    name="episem",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="The benchmark itself runs in pytest: pytest --episem-model=NAME. Nothing here needs a model or a key.",
)
@click.version_option(__version__, prog_name="episem", message="%(prog)s %(version)s")
@click.pass_context
def episem(ctx: click.Context) -> None:
    """Does an LLM agent act only on evidence it has, and still get the work done?

    Look into the tasks, play one, check a bank, and read, compare and join the records of runs.

    \b
    Examples:
      episem list -k finance
      episem show finance/payment-authorization/pr-58217 --setting se --mask authorization-limit
      episem play finance/payment-authorization/pr-58217
      episem play billing-chain
      episem report .episem/my-run
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 done; 1 the answer is no (a bank with problems); 2 something the user can mend, said in one line; 3 a fault of
    ours; 130 interrupted; 141 the reader of our output went away.
    """
    _forgive_encodings()
    try:
        code = episem.main(args=None if args is None else list(args), prog_name="episem", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as fault:
        where = f" (see '{fault.ctx.command_path} --help')" if fault.ctx else ""
        return _complain(f"{_one_line(fault.format_message())}{where}", fault.exit_code)
    except click.ClickException as fault:
        return _complain(fault.format_message(), USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", INTERRUPTED)
    except (OutputClosed, BrokenPipeError):
        return _closed()
    except EpisemError as fault:
        return _complain(str(fault), USAGE)
    except OSError as fault:
        if fault.errno == errno.EPIPE:
            return _closed()
        where = f"{fault.filename}: " if fault.filename else ""
        return _complain(f"{where}{fault.strerror or fault}", USAGE)
    except Exception as fault:
        if os.environ.get("EPISEM_DEBUG"):
            raise
        return _complain(
            f"internal error, {type(fault).__name__}: {fault} (EPISEM_DEBUG=1 shows where; please report it)", INTERNAL
        )


def _one_line(message: str) -> str:
    return " ".join(message.split()).rstrip(".")


def _complain(message: str, code: int) -> int:
    from pytest_episem.scrub import without_secrets
    from pytest_episem.text import printable

    with contextlib.suppress(OSError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        click.echo(f"episem: {printable(without_secrets(message))}", err=True)
    return code


def _closed() -> int:
    """Leave without a word; what Python flushes at its end goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED


def _forgive_encodings() -> None:
    """A character that the terminal cannot show is written as an escape, one that cannot be read is replaced."""
    streams: list[tuple[Any, str]] = [(sys.stdout, "backslashreplace"), (sys.stderr, "backslashreplace")]
    for stream, errors in [*streams, (sys.stdin, "replace")]:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)
