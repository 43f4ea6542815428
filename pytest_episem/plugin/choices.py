"""What the session's options choose: suite, bank, tasks, conditions, settings and the agent under test."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_episem.agents import (
    PREFIX,
    Agent,
    as_agent,
    import_attribute,
    known_agent,
    known_agent_names,
    own_name,
)
from pytest_episem.banks.folder import SHIPPED
from pytest_episem.banks.selection import Shard, sample
from pytest_episem.errors import EpisemError, UnknownName, suggestion
from pytest_episem.files import read_regular
from pytest_episem.plugin.node_ids import BOUNDARY
from pytest_episem.plugin.options import OPTIONS, SPENDING, ini_folder, names_suite, run_name, value
from pytest_episem.runs.rollout import RunSettings
from pytest_episem.scrub import fit_to_print, without_secrets
from pytest_episem.suite import SUITES, Suite, suite
from pytest_episem.text import printable

if TYPE_CHECKING:
    from pytest_episem.agents.spending import Spending

FIXTURE = "episem_agent fixture"
NO_AGENT = "no agent under test: give --episem-model, --episem-agent or override episem_agent"
LARGEST_TEXT = 10_000_000
"""Bytes of a file with tasks or an instruction."""


@contextlib.contextmanager
def usage() -> Iterator[None]:
    """Turn a fault the user can mend into pytest's usage error: one line, exit code 4."""
    try:
        yield
    except EpisemError as error:
        raise pytest.UsageError(fit_to_print(str(error))) from None


class Choices:
    """What one pytest process was asked to run, read from options, ini file and node ids."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.in_worker = hasattr(config, "workerinput")
        self.wanted_ids = self._take_node_ids()
        self._banks: dict[str, Any] = {}
        self._tasks: dict[str, tuple[dict[str, Any], list[str]]] = {}
        self._plans: dict[str, list[tuple[Any, list[Any]]]] = {}

    def option(self, name: str) -> Any:
        """Return an option's value: the command line's, else the ini file's, else the default."""
        return value(self.config, name)

    def check(self) -> None:
        """Raise ``EpisemError`` or ``UsageError`` for whatever is wrong before anything runs."""
        self._check_suite()
        self._check_one_agent()
        for name, least in (("repeats", 1), ("concurrency", 1), ("turn-limit", 1)):
            if self.option(name) is not None and self.option(name) < least:
                raise EpisemError(f"--episem-{name} must be at least {least}, not {self.option(name)}")
        if not self.option("timeout") > 0:
            raise EpisemError(f"--episem-timeout must be more than 0 seconds, not {self.option('timeout')}")
        if self.config.getoption("dist", "no") == "each":
            raise EpisemError("--dist each would run every condition on every worker; leave it out")
        if self.config.getoption("tx", None) and self.config.getoption("dist") == "no" and not self.in_worker:
            raise EpisemError("--tx alone starts no worker, and everything would run here: add -d")
        self._check_cache()
        _ = self.settings
        for name in self.suites:
            _ = self.tasks(name)
        if self.names_agent:
            self.chosen_agent()

    # Which suite ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def suites(self) -> list[str]:
        """The names of the chosen suites."""
        chosen = self.option("suite")
        return list(SUITES) if chosen == "all" else [chosen]

    def _check_suite(self) -> None:
        for option in OPTIONS:
            other = option.suite is not None and option.suite not in self.suites
            if other and self.config.getoption(option.dest) is not None:
                more = "all" if option.suite == "evidence" else option.suite
                raise EpisemError(
                    f"{option.flag} is for the {suite(option.suite).word} suite; leave it out, or add "
                    f"--episem-suite={more}"
                )

    # Which tasks ------------------------------------------------------------------------------------------------

    def _take_node_ids(self) -> list[str] | None:
        """Take ``episem`` and ``episem::…`` off the arguments, where pytest would look for files of that name."""
        config = self.config
        taken = [arg for arg in config.args if names_suite(arg, config)]
        if not taken:
            return None
        config.args[:] = [arg for arg in config.args if arg not in taken]
        names = [arg.partition("::")[2] for arg in taken]
        return [] if "" in names else names

    def check_node_ids(self) -> None:
        """Refuse a node id that names no item.

        Raises:
            UnknownName: with the nearest.
        """
        for wanted in self.wanted_ids or ():
            names = self._items_near(wanted)
            if not any(name == wanted or name.startswith(f"{wanted}/") for name in names):
                raise UnknownName("item", wanted, names or [task for name in self.suites for task in self.tasks(name)])

    def _items_near(self, wanted: str) -> list[str]:
        return [
            *self.conditions,
            *(
                f"{task.id}/{BOUNDARY}"
                for name in self.suites
                if self.has_boundary(name)
                for task in self.tasks(name).values()
                if _concerns(wanted, task.id)
            ),
        ]

    def wants(self, name: str) -> bool:
        """Whether the node ids of the command line, if any, name the item ``name``."""
        wanted = self.wanted_ids
        return not wanted or any(name == one or name.startswith(f"{one}/") for one in wanted)

    @functools.cached_property
    def _known_banks(self) -> dict[str, str]:
        """The directories of the banks that have a name."""
        known: dict[str, str] = {SHIPPED: SHIPPED}
        for given in self.config.hook.pytest_episem_banks(config=self.config):
            for name, directory in given.items():
                if name in known:
                    raise EpisemError(f"pytest_episem_banks: the name {name!r} is taken")
                known[name] = str(directory)
        return known

    @functools.cached_property
    def bank_options(self) -> list[str]:
        """The banks named, as one would name them here; those of the ini file stand below its folder."""
        named: list[str] = self.option("bank")
        if self.config.getoption("episem_bank") is not None:
            return named
        here, folder = self.config.invocation_params.dir, ini_folder(self.config)
        paths = {name: Path(os.path.normpath(folder / name)) for name in named if name not in self._known_banks}
        shown = {name: path.relative_to(here) if path.is_relative_to(here) else path for name, path in paths.items()}
        return [str(shown.get(name, name)) for name in named]

    @functools.cached_property
    def banks(self) -> list[str]:
        """The banks named, those that a plugin has a name for as their directories; empty means the shipped one."""
        known, here = self._known_banks, self.config.invocation_params.dir
        for name in self.bank_options:
            if len(known) > 1 and name not in known and not (here / name).exists():
                near = suggestion(name, known)
                raise EpisemError(f"--episem-bank {name}: no such directory, and no bank's name{near}")
        return [known.get(name, name) for name in self.bank_options]

    def bank(self, suite_name: str) -> Any:
        """Return the bank of a suite; read once."""
        if suite_name not in self._banks:
            self._banks[suite_name] = suite(suite_name).open(self.banks, self.config.invocation_params.dir)
        return self._banks[suite_name]

    def tasks(self, suite_name: str) -> dict[str, Any]:
        """Return the tasks of a suite that the ``--episem-*`` options leave in, in the bank's order."""
        return self._chosen(suite_name)[0]

    def other_shards(self, suite_name: str) -> list[str]:
        """Return the tasks of a suite that the other shards of this run have."""
        return self._chosen(suite_name)[1]

    def _chosen(self, suite_name: str) -> tuple[dict[str, Any], list[str]]:
        if suite_name not in self._tasks:
            self._tasks[suite_name] = self._choose(suite(suite_name))
        return self._tasks[suite_name]

    def _choose(self, of: Suite) -> tuple[dict[str, Any], list[str]]:
        tasks, size, shard = self._listed(of.name), self.option("sample"), self.option("shard")
        if size is not None:
            kept = sample(list(tasks.values()), size, of.many)
            tasks = {name: task for name, task in tasks.items() if name in kept}
        if shard is None:
            return tasks, []
        sizes = {name: len(of.conditions(task, self.option)) for name, task in tasks.items()}
        kept = Shard.parse(shard).choose(list(tasks.values()), lambda task: sizes[task.id], of.many)
        return {name: task for name, task in tasks.items() if name in kept}, [n for n in tasks if n not in kept]

    def _listed(self, suite_name: str) -> dict[str, Any]:
        listed, bank = self.option("tasks"), self.bank(suite_name)
        if listed is None:
            return dict(bank.tasks)
        wanted = self._lines_of(listed)
        strange = next((name for name in wanted if all(name not in self.bank(one).tasks for one in self.suites)), None)
        if strange is not None:
            bank.task(strange)  # which says what there is instead
        return {name: task for name, task in bank.tasks.items() if name in wanted}

    def _lines_of(self, listed: str) -> list[str]:
        lines = (line.split("#", 1)[0].strip() for line in self._read("tasks", listed).splitlines())
        wanted = [line for line in lines if line]
        if not wanted:
            raise EpisemError(f"--episem-tasks {listed}: lists no task")
        return wanted

    def _read(self, option: str, file: str) -> str:
        try:
            path = self.config.invocation_params.dir / file
            return read_regular(path, LARGEST_TEXT).decode("utf-8-sig").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            raise EpisemError(f"--episem-{option} {file}: cannot be read: {error}") from None

    # Which conditions -------------------------------------------------------------------------------------------

    def has_boundary(self, suite_name: str) -> bool:
        """Return whether a suite has an adaptive search and the selected settings leave it in."""
        wanted = self.option("setting")
        return suite(suite_name).searches and (not wanted or {"full", "se"} <= set(wanted))

    def plan(self, suite_name: str) -> list[tuple[Any, list[Any]]]:
        """Return each selected task of a suite with its fixed conditions."""
        if suite_name not in self._plans:
            self._plans[suite_name] = list(self._plan(suite(suite_name)))
        return self._plans[suite_name]

    def _plan(self, of: Suite) -> Iterator[tuple[Any, list[Any]]]:
        for task in self.tasks(of.name).values():
            if not self.wanted_ids or any(_concerns(_below(of.name, name), task.id) for name in self.wanted_ids):
                yield task, of.conditions(task, self.option)

    @functools.cached_property
    def conditions(self) -> dict[str, Any]:
        """The selected fixed conditions by id."""
        return {one.id: one for name in self.suites for _, found in self.plan(name) for one in found}

    @functools.cached_property
    def instruction(self) -> str:
        """The system instruction."""
        file = self.option("instruction")
        return suite(self.suites[0]).instruction if file is None else self._read("instruction", file)

    @functools.cached_property
    def settings(self) -> RunSettings:
        """What every rollout of the run shares."""
        return RunSettings(
            instruction=None if self.option("instruction") is None else self.instruction,
            turn_limit=self.option("turn-limit"),
            timeout=self.option("timeout"),
            concurrency=self.option("concurrency"),
            search_seed=self.option("seed"),
        )

    # Which agent ------------------------------------------------------------------------------------------------

    def _check_one_agent(self) -> None:
        """Refuse a second agent, which would be left out without a word: options in ``addopts`` count as well."""
        given = [name for name in ("model", "agent", "controller") if self.option(name)]
        if len(given) > 1:
            raise EpisemError(f"give --episem-{given[0]} or --episem-{given[1]}, not both")
        for option in given:
            for first, second in itertools.combinations(dict.fromkeys(self.config.getoption(f"episem_{option}")), 2):
                raise EpisemError(
                    f"--episem-{option} names {first} and {second}: a run has one agent. Run each in a session of "
                    "its own and hold them against each other with episem compare"
                )
        if self.option("name") is not None and not printable(self.option("name")).strip():
            raise EpisemError("--episem-name is empty")
        if self.model is not None and self.model.startswith(PREFIX):
            self._check_plays(self.model)

    def _check_plays(self, name: str) -> None:
        """Refuse a built-in agent that does not play each of the chosen suites."""
        playing = [one for one in SUITES if name in known_agent_names(one)]
        for chosen in self.suites:
            if chosen in playing:
                continue
            if not playing:
                raise UnknownName("built-in agent", name, known_agent_names(chosen))
            plays = f"{name} plays the {suite(playing[0]).word} suite"
            if self.option("suite") == "all":
                raise EpisemError(f"{plays} alone: give each suite a session and an agent of its own")
            if chosen == "evidence":
                raise EpisemError(f"{plays}; add --episem-suite={playing[0]}")
            names = ", ".join(known_agent_names(chosen))
            raise EpisemError(f"{plays}; the {suite(chosen).word} suite has {names}")

    @property
    def model(self) -> str | None:
        """The agent under test, if it is a model or a built-in one."""
        found: str | None = self.option("model")
        return found

    @property
    def names_agent(self) -> bool:
        """Whether an option names the agent."""
        return bool(self.model or self.option("agent") or self.option("controller"))

    @property
    def label(self) -> str:
        """The name of the agent under test in records and reports, as far as the options tell."""
        named = self.option("name") or self.model
        if not named and self.option("agent"):
            named = own_name(self.chosen_agent()) or self.option("agent")
        named = named or self.option("controller")
        return _as_label(named or FIXTURE)

    def label_of(self, agent: Any, variant: str = "") -> str:
        """Return the name for the trials that ``agent``, an ``episem_agent`` fixture's value, plays.

        ``variant`` are the parameters of the test it plays in.
        """
        label = self.label
        if not self.option("name") and not (self.names_agent and agent is self.chosen_agent()):
            own = _as_label(own_name(agent) or "")
            label = own or (f"{label} in {FIXTURE}" if self.names_agent else label)
        return f"{label} [{variant}]" if variant else label

    def chosen_agent(self) -> Agent:
        """Return the agent that the command line names; the same at every call."""
        return self._chosen_agent

    @functools.cached_property
    def _chosen_agent(self) -> Agent:
        model, spec = self.model, self.option("agent")
        with usage():
            if self.option("controller"):
                from pytest_episem.workflows.players import import_controller

                return import_controller(self.option("controller"), self.import_paths)
            if spec:
                given = import_attribute(spec, self.import_paths)
                if hasattr(given, "choose") and not hasattr(given, "play"):
                    raise EpisemError(f"agent {spec!r} is a controller: give --episem-controller={spec}")
                return as_agent(given)
            if not model:
                raise EpisemError(NO_AGENT)
            if model.startswith(PREFIX):
                return known_agent(model, self.suites[0])
            found = self.config.hook.pytest_episem_agent(config=self.config, name=model)
            if found is not None:
                return as_agent(found)
            return self._model_agent(model)

    def _check_cache(self) -> None:
        replay = self.option("replay")
        if replay and self.option("cache") is None:
            raise EpisemError("--episem-replay takes its answers from a cache: add --episem-cache DIR")
        given = replay or self.config.getoption("episem_cache") is not None
        if given and (self.model is None or self.model.startswith(PREFIX)):
            name = "replay" if replay else "cache"
            raise EpisemError(
                f"--episem-{name} is for a model given with --episem-model: a built-in agent sends nothing, and one of "
                "your own sends its requests itself"
            )

    @property
    def import_paths(self) -> tuple[Path, Path]:
        """Where ``--episem-agent`` is looked for besides the import path."""
        return self.config.invocation_params.dir, self.config.rootpath

    def _model_agent(self, model: str) -> Agent:
        from pytest_episem.agents.model import ModelAgent, check_model_name, checked_model_args, open_cache

        arguments, api_base = checked_model_args(self.option("model-args")), self.option("api-base")
        if not self.in_worker:
            check_model_name(model, api_base)
        directory = self.option("cache")
        cache = directory and open_cache(self.config.invocation_params.dir / directory, self.option("replay"))
        self._check_prices(model, arguments)
        return ModelAgent(model, arguments, api_base, cache=cache, spending=self.spending)

    def _check_prices(self, model: str, arguments: dict[str, Any]) -> None:
        from pytest_episem.agents.prices import token_prices

        limited = self.option("max-cost") is not None and not self.option("replay")
        if limited and token_prices(model, arguments) is None:
            raise EpisemError(
                f"--episem-max-cost needs prices, and litellm's list has none for {model}: give them in US dollars, "
                """--episem-model-args='{"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}', """
                "or limit --episem-max-requests"
            )

    @functools.cached_property
    def spending(self) -> Spending | None:
        """What a model may send and spend in this session; ``None`` without a limit."""
        most_requests, most_cost = self.option("max-requests"), self.option("max-cost")
        if most_requests is None and most_cost is None:
            return None
        from pytest_episem.agents.spending import Spending

        session = getattr(self.config, "workerinput", {}).get(SPENDING) or run_name(self.config)
        # By its name alone: a worker on another machine has a file of its own, its controller is not there.
        return Spending(Path(tempfile.gettempdir()) / f"episem-{session}.spent", most_requests, most_cost)


def _concerns(wanted: str, task: str) -> bool:
    return f"{task}/".startswith(f"{wanted}/") or wanted.startswith(f"{task}/")


def _below(suite_name: str, item: str) -> str:
    """Return what an item's name says behind its suite; the evidence suite's have none in front."""
    return item if suite_name == "evidence" else item.removeprefix(f"{suite_name}/")


def _as_label(name: str) -> str:
    """Return a name as it is written everywhere: on one line, and without a secret that somebody put into it."""
    return " ".join(printable(without_secrets(name)).split())
