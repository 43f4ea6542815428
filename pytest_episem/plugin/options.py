"""The command-line options and their ini keys. Imports nothing heavy: this runs in every pytest session."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.errors import suggestion
from pytest_episem.suite import Metric, suites

PREFIX = "--episem-"
SUITE_ID = "episem"
RUN = "episem_run"
"""Under this key a worker is given the run's name."""
SPENDING = "episem_spending"
"""Under this key a worker is given the name of what the session's limits are counted in."""
_RUN_NAME = pytest.StashKey[str]()
DIST_GIVEN = pytest.StashKey[bool]()
"""Whether the user chose a distribution with ``--dist``; afterwards xdist's own default looks the same."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option. ``ini``: may also stand in the ini file as ``episem_<name>``; a ``path`` is seen from that file's
    folder there. ``asks``: it makes the plugin act. ``once``: all that is given is kept, so that a second one can be
    refused. ``gate``: it sets a gate. ``suite``: the only suite it speaks of."""

    name: str
    help: str
    metavar: str | None = None
    kind: type = str
    default: Any = None
    choices: tuple[str, ...] | None = None
    path: bool = False
    many: bool = False
    once: bool = False
    ini: bool = False
    asks: bool = False
    gate: bool = False
    suite: str | None = None

    @property
    def flag(self) -> str:
        return PREFIX + self.name

    @property
    def dest(self) -> str:
        return "episem_" + self.name.replace("-", "_")


def _gate(name: str, what: str, metavar: str = "PERCENT", suite: str | None = None) -> Option:
    text = f"gate: {what}; DOMAIN:{metavar} for one domain"
    return Option(name, text, metavar, many=True, ini=True, gate=True, suite=suite)


def _limit(metric: Metric, suite: str) -> Option:
    return _gate(metric.gate, f"{'largest' if metric.side == 'max' else 'smallest'} {metric.title}", suite=suite)


ADVISERS = ("verify-wait", "capability", "greedy", "joint")
"""The controllers that may advise; a test holds them against those there are."""

OPTIONS = (
    Option(
        "model",
        "agent under test: a litellm model name, or a built-in agent such as episem/careful, or episem/joint of the "
        "workflow suite",
        "NAME",
        once=True,
        asks=True,
    ),
    Option("agent", "agent under test: your own function or object", "MODULE:ATTR", once=True, asks=True),
    Option(
        "controller",
        "agent under test in the workflow suite: your own controller, a class or a function of the public model",
        "MODULE:CLASS",
        once=True,
        asks=True,
        suite="workflows",
    ),
    Option(
        "name", "name of the agent under test in records, reports and baselines (default: its own)", "TEXT", ini=True
    ),
    Option(
        "suite",
        "what runs: evidence (default), workflows, or all",
        choices=("evidence", "workflows", "all"),
        default="evidence",
        asks=True,
    ),
    Option(
        "cases",
        "hidden truths of the workflow suite: the cases that the workflows name (default), or all compatible worlds",
        choices=("assignments", "worlds"),
        default="assignments",
        suite="workflows",
    ),
    Option(
        "shield",
        "in the workflow suite, refuse actions that could do harm (on, default), or execute and judge them (off)",
        choices=("on", "off"),
        default="on",
        suite="workflows",
    ),
    Option(
        "guidance",
        "in the workflow suite, tell agents beside the answers: nothing (none, default), what is certain and what is "
        "open (evidence), or also a next action with its reason, of joint planning or of the controller named",
        choices=("none", "evidence", "advice", *(f"advice:{name}" for name in ADVISERS)),
        default="none",
        suite="workflows",
    ),
    Option(
        "form",
        "in the workflow suite, begin after the trouble, which stands in the journal (journal, default), or let it "
        "happen to the agent's own call (live)",
        choices=("journal", "live"),
        default="journal",
        suite="workflows",
    ),
    Option(
        "split",
        "cases of the workflow suite: all (default), those for trying things out (pilot), or those held out",
        choices=("all", "pilot", "held-out"),
        default="all",
        suite="workflows",
    ),
    Option("model-args", "JSON object of sampling arguments for the model", "JSON", ini=True),
    Option("api-base", "base URL of the model's API", "URL", ini=True),
    Option(
        "bank",
        "task bank directory; repeat to join several, 'shipped' is the one that comes with the plugin",
        "DIR",
        many=True,
        ini=True,
    ),
    Option(
        "setting",
        "run only these settings of each pair; repeat for several",
        choices=("full", "se", "re"),
        many=True,
        suite="evidence",
    ),
    Option("tasks", "run only the tasks that FILE lists, one id a line", "FILE"),
    Option(
        "collect",
        "the shipped items: on, off, or auto (default), which is on if --episem-model or --episem-agent is given and "
        "no test of yours takes their place",
        choices=("auto", "on", "off"),
        default="auto",
        asks=True,
    ),
    Option("out", "directory of the run's records (default: .episem/<run>)", "DIR"),
    Option("resume", "continue the run in DIR: only missing and errored conditions run", "DIR"),
    Option("repeats", "how often each fixed condition runs", "K", kind=int, default=1, ini=True),
    Option(
        "full-audit",
        "add the control with nothing hidden and the audit tool present",
        kind=bool,
        default=False,
        ini=True,
        suite="evidence",
    ),
    Option("instruction", "file that replaces the system instruction", "FILE", path=True, ini=True),
    Option(
        "turn-limit",
        "assistant turns an episode may take (default: 12, and 40 of an agent of your own)",
        "N",
        kind=int,
        ini=True,
    ),
    Option("timeout", "seconds after which a rollout counts as unfinished", "S", kind=float, default=600.0, ini=True),
    Option("concurrency", "rollouts of one worker side by side", "N", kind=int, default=8, ini=True),
    Option("seed", "seed of the boundary search's order", "TEXT", default="0", ini=True, suite="evidence"),
    Option("sample", "run N pairs, or workflows, spread over families, always the same ones", "N", kind=int),
    Option(
        "shard", "run the i-th of n parts of the pairs, or workflows, such as 1/4; join them with episem merge", "I/N"
    ),
    Option("estimate", "print items, requests and a range of the cost, and run nothing", kind=bool, default=False),
    Option("max-cost", "stop once the run has cost USD", "USD", kind=float, ini=True),
    Option("max-requests", "stop once N requests were sent", "N", kind=int, ini=True),
    Option("cache", "keep the model's answers in DIR and send no request twice", "DIR", path=True, ini=True),
    Option("replay", "answer from --episem-cache alone: send nothing, fail on a miss", kind=bool, default=False),
    *(_limit(metric, suite.name) for suite in suites() for metric in suite.gated),
    _gate("max-regression", "how far each metric may be worse than --episem-baseline", "POINTS"),
    Option("baseline", "what regressions are measured against: a file of episem bless, or a run", "RUN", ini=True),
    Option(
        "gate-on",
        "hold the value itself to the limits, or the bound of its 95-percent interval (default: point)",
        choices=("point", "ci"),
        ini=True,
    ),
    Option(
        "min-coverage",
        "percent of the pairs or cases a gate speaks of that must be decided (default: 100)",
        "PERCENT",
        ini=True,
    ),
    Option(
        "max-unanswered",
        "percent of a metric's trials that a filter, a context too small and the like may leave without an answer, "
        "where saying nothing looks good (default: 5)",
        "PERCENT",
        ini=True,
    ),
)
_BY_NAME = {option.name: option for option in OPTIONS}


def add_options(parser: pytest.Parser) -> None:
    """Register every option and ini key."""
    group = parser.getgroup("episem", "epistemic safety of LLM agents")
    for option in OPTIONS:
        keywords: dict[str, Any] = {"dest": option.dest, "help": _help(option), "default": None}
        if option.kind is bool:
            keywords["action"] = "store_true"
        else:
            keywords |= {"metavar": option.metavar, "action": "append" if option.many or option.once else "store"}
            if option.choices:
                keywords["choices"] = option.choices
            if option.kind is not str:
                keywords["type"] = option.kind
        group.addoption(option.flag, **keywords)
        if option.ini:
            kind: Any = "bool" if option.kind is bool else "linelist" if option.many else "string"
            parser.addini(option.dest, f"default of {option.flag}", type=kind, default=None)


def _help(option: Option) -> str:
    """Return the help text, with the default where the text does not name it and there is one to name."""
    if option.default is None or option.kind is bool or "default" in option.help:
        return option.help
    shown = f"{option.default:g}" if option.kind is float else option.default
    return f"{option.help} (default: {shown})"


def value(config: pytest.Config, name: str) -> Any:
    """Return an option's value: the command line's, else the ini file's, else the default.

    Raises:
        pytest.UsageError: an ini value that is not of the option's type.
    """
    option = _BY_NAME[name]
    given = config.getoption(option.dest)
    if option.once and isinstance(given, list):
        given = given[-1]
    if given is None and option.ini:
        given = _from_file(config, option)
    if given is None:
        return [] if option.many else option.default
    return given


def ini_values(config: pytest.Config) -> dict[str, Any]:
    """Return what the ini file says, ``-o`` included, as it stands there: in TOML a number may be one, or a list."""
    stored: Any = config.__dict__.get("_inicfg")
    found = {key: getattr(raw, "value", raw) for key, raw in (config.inicfg if stored is None else stored).items()}
    for text in config.getoption("override_ini", None) or ():
        key, _, raw = text.partition("=")
        found[key] = raw
    return found


def _from_file(config: pytest.Config, option: Option) -> Any:
    raw = ini_values(config).get(option.dest)
    if raw is None or raw == "":
        return None
    if option.kind is bool:
        return raw if isinstance(raw, bool) else config.getini(option.dest)
    texts = raw if isinstance(raw, list) else [line for line in str(raw).splitlines() if line.strip()]
    if option.many:
        return [str(text).strip() for text in texts]
    text = str(raw).strip()
    if option.path:
        return str(ini_folder(config) / text)
    try:
        found = option.kind(text)
    except ValueError:
        found = None
    if found is None or isinstance(raw, (bool, list)) or (option.choices and found not in option.choices):
        expected = " or ".join(option.choices) if option.choices else option.kind.__name__
        raise pytest.UsageError(f"{option.dest} = {raw!r} in {place(config)}: expected {expected}")
    return found


def ini_folder(config: pytest.Config) -> Path:
    """Return the folder that paths in the ini file, and those given with ``-o``, are seen from, as pytest has it."""
    return config.inipath.parent if config.inipath is not None else config.invocation_params.dir


def place(config: pytest.Config) -> str:
    """Return where the ini options stand, for messages."""
    return str(config.inipath or "the ini options")


def unknown_keys(config: pytest.Config) -> str:
    """Return one line on the first ``episem_…`` key of the ini file that is none of ours, with the nearest; or ``""``.

    pytest only warns of such a key; misspelt, a gate would silently gate nothing.
    """
    known = {option.dest for option in OPTIONS if option.ini}
    for key in ini_values(config):
        if key.replace("-", "_").lower().startswith("episem_") and key not in known:
            return f"{place(config)}: unknown key {key}{suggestion(key, known)}"
    return ""


def gates_given(config: pytest.Config) -> bool:
    """Return whether the command line itself, not ``addopts`` or the ini file, sets a gate."""
    flags = {option.flag for option in OPTIONS if option.gate}
    return any(arg.split("=", 1)[0] in flags for arg in map(str, config.invocation_params.args))


def gates_set(config: pytest.Config, of_chosen: bool = True) -> bool:
    """Return whether any gate of the chosen suites is set, or ``of_chosen=False`` of any suite, wherever it stands."""
    chosen = value(config, "suite") if of_chosen else "all"
    keys = {option.dest for option in OPTIONS if option.gate and (chosen == "all" or option.suite in (None, chosen))}
    return any(config.getoption(key) for key in keys) or not keys.isdisjoint(ini_values(config))


def runs_nothing(config: pytest.Config) -> str:
    """Return the option that makes pytest look and not run (``--collect-only`` …), or ``""``."""
    flags = {
        "episem_estimate": "--episem-estimate",
        "collectonly": "--collect-only",
        "setupplan": "--setup-plan",
        "setuponly": "--setup-only",
        "showfixtures": "--fixtures",
        "show_fixtures_per_test": "--fixtures-per-test",
        "cacheshow": "--cache-show",
    }
    return next((flag for name, flag in flags.items() if config.getoption(name, None)), "")


def asked(config: pytest.Config) -> bool:
    """Return whether the command line asks for us: a model, an agent, ``--episem-collect`` or a gate."""
    return any(config.getoption(option.dest) is not None for option in OPTIONS if option.asks) or gates_given(config)


def names_suite(arg: str, config: pytest.Config) -> bool:
    """Return whether an argument is the suite (``episem``) or one of its node ids.

    Seen from the current folder, or as it is printed: pytest's node ids begin at the root, wherever one stands.
    """
    here = config.invocation_params.dir
    place = Path(os.path.normpath(here / arg.split("::")[0]))
    return place in (config.rootpath / SUITE_ID, here / SUITE_ID) and not place.exists()


def run_name(config: pytest.Config) -> str:
    """Return the session's run name, a time and a few random characters; the same at every call."""
    if _RUN_NAME not in config.stash:
        config.stash[_RUN_NAME] = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(3).hex()}"
    return config.stash[_RUN_NAME]


def refuse_unknown(args: list[str]) -> None:
    """Refuse an ``--episem-…`` argument that is no option of ours, with the nearest name.

    Raises:
        pytest.UsageError: naming the argument.
    """
    known = [option.flag for option in OPTIONS]
    for arg in args:
        flag = arg.split("=", 1)[0]
        if flag.startswith(PREFIX) and flag not in known:
            raise pytest.UsageError(f"unknown option {flag}{suggestion(flag, known)}")
