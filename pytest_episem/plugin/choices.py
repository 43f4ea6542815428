"""What the session's options choose: suite, bank, tasks, conditions, settings and the agent under test."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_episem.agents import PREFIX, Agent, as_agent, import_agent, known_agent, known_agent_names, own_name
from pytest_episem.banks.folder import SHIPPED
from pytest_episem.errors import EpisemError, UnknownName, suggestion
from pytest_episem.evidence.bank import Bank, Task, open_banks
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.plan import fixed_conditions
from pytest_episem.evidence.selection import Shard, sample
from pytest_episem.evidence.world.instruction import DEFAULT_INSTRUCTION
from pytest_episem.files import read_regular
from pytest_episem.plugin.node_ids import WORKFLOWS
from pytest_episem.plugin.options import OPTIONS, SPENDING, ini_folder, names_suite, run_name, value
from pytest_episem.runs.rollout import RunSettings
from pytest_episem.scrub import fit_to_print
from pytest_episem.text import printable

if TYPE_CHECKING:
    from pytest_episem.agents.spending import Spending

BOUNDARY = "boundary"
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
        if self.runs_evidence:
            _ = self.tasks, self.settings
            if self.names_agent:
                self.chosen_agent()

    # Which suite ------------------------------------------------------------------------------------------------

    @property
    def runs_evidence(self) -> bool:
        """Whether the evidence suite is chosen, alone or beside the other."""
        return bool(self.option("suite") != "workflows")

    @property
    def runs_workflows(self) -> bool:
        """Whether the workflow suite is chosen, alone or beside the other."""
        return bool(self.option("suite") != "evidence")

    def _check_suite(self) -> None:
        suite = self.option("suite")
        for option in OPTIONS:
            other = suite != "all" and option.suite not in (None, suite)
            if other and self.config.getoption(option.dest) is not None:
                name, more = ("evidence", "all") if option.suite == "evidence" else ("workflow", "workflows")
                raise EpisemError(f"{option.flag} is for the {name} suite; leave it out, or add --episem-suite={more}")
        if self.controller and not self.runs_workflows:
            raise EpisemError(f"{self.controller} plays the workflow suite; add --episem-suite=workflows")
        if suite == "all" and self.option("shard") is not None:
            raise EpisemError("--episem-shard is for the evidence suite; run --episem-suite=workflows by itself")

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

    def check_node_ids(self, cases: Iterable[str]) -> None:
        """Refuse a node id that names no item; ``cases`` are the names of the workflow suite's items.

        Raises:
            UnknownName: with the nearest.
        """
        cases = list(cases)
        for wanted in self.wanted_ids or ():
            names = cases if wanted.partition("/")[0] == WORKFLOWS else self._items_near(wanted)
            if not any(name == wanted or name.startswith(f"{wanted}/") for name in names):
                raise UnknownName("item", wanted, names or (self.tasks if self.runs_evidence else cases))

    def _items_near(self, wanted: str) -> list[str]:
        if not self.runs_evidence:
            return []
        near = [task for task in self.tasks.values() if _concerns(wanted, task)]
        return [*self.conditions, *(f"{task.id}/{BOUNDARY}" for task in near if self.has_boundary)]

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

    @functools.cached_property
    def bank(self) -> Bank:
        """The bank of the run."""
        return open_banks(self.banks, self.config.invocation_params.dir)

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks the ``--episem-*`` options leave in, in the bank's order."""
        return self._chosen[0]

    @property
    def other_shards(self) -> list[str]:
        """The tasks that the other shards of this run have."""
        return self._chosen[1]

    @functools.cached_property
    def _chosen(self) -> tuple[dict[str, Task], list[str]]:
        tasks, size, shard = self._listed(), self.option("sample"), self.option("shard")
        if size is not None:
            kept = sample(list(tasks.values()), size)
            tasks = {name: task for name, task in tasks.items() if name in kept}
        if shard is None:
            return tasks, []
        kept = Shard.parse(shard).choose(list(tasks.values()))
        return {name: task for name, task in tasks.items() if name in kept}, [n for n in tasks if n not in kept]

    def _listed(self) -> dict[str, Task]:
        listed = self.option("tasks")
        if listed is None:
            return dict(self.bank.tasks)
        lines = self._read("tasks", listed).splitlines()
        wanted = [line.split("#", 1)[0].strip() for line in lines]
        tasks = {name: self.bank.task(name) for name in wanted if name}
        if not tasks:
            raise EpisemError(f"--episem-tasks {listed}: lists no task")
        return {name: task for name, task in self.bank.tasks.items() if name in tasks}

    def _read(self, option: str, file: str) -> str:
        try:
            path = self.config.invocation_params.dir / file
            return read_regular(path, LARGEST_TEXT).decode("utf-8-sig").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            raise EpisemError(f"--episem-{option} {file}: cannot be read: {error}") from None

    # Which conditions -------------------------------------------------------------------------------------------

    @property
    def has_boundary(self) -> bool:
        """Whether the selected settings leave the boundary search in."""
        wanted = self.option("setting")
        return not wanted or {"full", "se"} <= set(wanted)

    @functools.cached_property
    def plan(self) -> list[tuple[Task, list[Condition]]]:
        """Each selected task with its fixed conditions."""
        return list(self._plan())

    def _plan(self) -> Iterator[tuple[Task, list[Condition]]]:
        wanted = set(self.option("setting"))
        repeats, audit = self.option("repeats"), self.option("full-audit")
        for task in self.tasks.values() if self.runs_evidence else ():
            if self.wanted_ids and not any(_concerns(name, task) for name in self.wanted_ids):
                continue
            conditions = fixed_conditions(task.id, task.critical, task.irrelevant, repeats, audit)
            yield task, [c for c in conditions if not wanted or c.setting in wanted]

    @functools.cached_property
    def conditions(self) -> dict[str, Condition]:
        """The selected fixed conditions by id."""
        return {condition.id: condition for _, conditions in self.plan for condition in conditions}

    @functools.cached_property
    def instruction(self) -> str:
        """The system instruction."""
        file = self.option("instruction")
        return DEFAULT_INSTRUCTION if file is None else self._read("instruction", file)

    @functools.cached_property
    def settings(self) -> RunSettings:
        """What every rollout of the run shares."""
        return RunSettings(
            instruction=self.instruction,
            turn_limit=self.option("turn-limit"),
            timeout=self.option("timeout"),
            concurrency=self.option("concurrency"),
            search_seed=self.option("seed"),
        )

    # Which agent ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _models(self) -> dict[str, str]:
        """The names given, by what they are: an agent of the evidence suite, or a controller."""
        return {"controller" if _is_controller(name) else "agent": name for name in self.option("model")}

    def _check_one_agent(self) -> None:
        """Refuse a second agent, which would be left out without a word: options in ``addopts`` count as well."""
        if self.model and self.option("agent"):
            raise EpisemError("give --episem-model or --episem-agent, not both")
        for option, names in (("model", self.option("model")), ("agent", self.config.getoption("episem_agent") or ())):
            for first, second in itertools.combinations(dict.fromkeys(names), 2):
                if option == "agent" or _is_controller(first) == _is_controller(second):
                    raise EpisemError(
                        f"--episem-{option} names {first} and {second}: a run has one agent. Run each in a session of "
                        "its own and hold them against each other with episem compare"
                    )
        if self.option("name") is not None and not printable(self.option("name")).strip():
            raise EpisemError("--episem-name is empty")

    @property
    def model(self) -> str | None:
        """The evidence suite's agent: a model, or a built-in one."""
        return self._models.get("agent")

    @property
    def controller(self) -> str | None:
        """The workflow suite's controller."""
        return self._models.get("controller")

    @property
    def names_agent(self) -> bool:
        """Whether an option names the evidence suite's agent."""
        return bool(self.model or (self.option("agent") and self.runs_evidence))

    @property
    def label(self) -> str:
        """The name of the agent under test in records and reports, as far as the options tell."""
        named = self.option("name") or self.model
        if not named and self.option("agent"):
            named = (self.runs_evidence and own_name(self.chosen_agent())) or self.option("agent")
        return " ".join(printable(named or FIXTURE).split())

    def label_of(self, agent: Any, variant: str = "") -> str:
        """Return the name for the trials that ``agent``, an ``episem_agent`` fixture's value, plays.

        ``variant`` are the parameters of the test it plays in.
        """
        label = self.label
        if not self.option("name") and not (self.names_agent and agent is self.chosen_agent()):
            own = " ".join(printable(own_name(agent) or "").split())
            label = own or (f"{label} in {FIXTURE}" if self.names_agent else label)
        return f"{label} [{variant}]" if variant else label

    def chosen_agent(self) -> Agent:
        """Return the agent that the command line names; the same at every call."""
        return self._chosen_agent

    @functools.cached_property
    def _chosen_agent(self) -> Agent:
        model, spec = self.model, self.option("agent")
        with usage():
            if spec:
                return import_agent(spec, self.import_paths)
            if not model:
                raise EpisemError(NO_AGENT)
            if model.startswith(PREFIX):
                return known_agent(model, "evidence")
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


def _is_controller(name: str) -> bool:
    if not name.startswith(PREFIX) or name in known_agent_names("evidence"):
        return False
    return name in known_agent_names("workflows")


def _concerns(wanted: str, task: Task) -> bool:
    return f"{task.id}/".startswith(f"{wanted}/") or wanted.startswith(f"{task.id}/")
