"""Which ``episem_agent`` fixture plays: the agent on record must be the agent that plays."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.plugin.choices import NO_AGENT, Choices

AGENT = "episem_agent"
OURS = "pytest_episem.plugin.fixtures"
"""The module of our own fixture, which imports what is here."""


def definitions(item: Any) -> Sequence[Any]:
    """Return the fixtures of that name which an item sees, the one it takes last; empty if it takes none."""
    if AGENT not in getattr(item, "fixturenames", ()):
        return ()
    found: Sequence[Any] = item._fixtureinfo.name2fixturedefs.get(AGENT, ())
    return found


def refusal(items: Iterable[pytest.Item], choices: Choices) -> str:
    """Return why the items of ours that were collected cannot be of one agent that is known by name, or ``""``."""
    played: dict[int, tuple[pytest.Item, Sequence[Any]]] = {}
    for item in items:
        seen = definitions(item)
        if seen:
            played.setdefault(id(seen[-1]), (item, seen))
    if len(played) > 1:
        one, other, *_ = (place(seen[-1], choices.config) for _, seen in played.values())
        return (
            f"{AGENT} is one fixture in {one} and another in {other}: a run has one agent, so select the tests of one"
        )
    return next((reason for item, seen in played.values() if (reason := _reason(item, seen, choices))), "")


def _reason(item: Any, seen: Sequence[Any], choices: Choices) -> str:
    if not any(map(overrides, seen)):
        return "" if choices.names_agent else NO_AGENT
    where = place(seen[-1], choices.config)
    if getattr(seen[-1], "params", None) and AGENT not in getattr(getattr(item, "callspec", None), "params", ()):
        return (
            f"the fixture {AGENT} in {where} has params, and a run has one agent: take them off and choose by an option"
            " or a variable of your own, a session each; episem compare holds runs against each other"
        )
    if choices.names_agent and not _wraps(seen):
        return (
            f"the fixture {AGENT} in {where} would play, and the run be recorded as {choices.label}: leave out "
            f"--episem-{'model' if choices.model else 'agent'}, or let the fixture take the argument {AGENT}, which is "
            "the agent named, and return what wraps it"
        )
    return ""


def _wraps(seen: Sequence[Any]) -> bool:
    """Whether every override, from the last back to our own fixture, takes the one before it as an argument."""
    return all(AGENT in definition.argnames for definition in seen if overrides(definition))


def overrides(definition: Any) -> bool:
    """Return whether a fixture of that name is not our own."""
    return getattr(definition.func, "__module__", None) != OURS


def place(definition: Any, config: pytest.Config) -> str:
    """Return where a fixture is defined."""
    code = getattr(definition.func, "__code__", None)
    if code is None or str(definition.func.__module__).startswith("_pytest."):
        return "the parametrization of a test"
    return shown(Path(code.co_filename), config)


def shown(file: Path, config: pytest.Config) -> str:
    """Return a path as messages show it: from the root, where it is below it."""
    return str(file.relative_to(config.rootpath)) if file.is_relative_to(config.rootpath) else str(file)


# Where the shipped suite hangs --------------------------------------------------------------------------------------


def overriding_directories(config: pytest.Config) -> list[Path]:
    """Return the directories whose ``conftest.py`` overrides ``episem_agent``."""
    modules = (plugin for plugin in config.pluginmanager.get_plugins() if _is_conftest(plugin))
    return sorted({Path(module.__file__).parent for module in modules if AGENT in _fixture_names(module)})


def _is_conftest(plugin: Any) -> bool:
    file = getattr(plugin, "__file__", None)
    return isinstance(file, str) and Path(file).name == "conftest.py"


def _fixture_names(module: Any) -> Iterator[str]:
    """Yield the names of the fixtures that a module defines; pytest marks them in one of two ways."""
    for name, value in list(vars(module).items()):
        for attribute in ("_fixture_function_marker", "_pytestfixturefunction"):
            marker = vars(value).get(attribute) if hasattr(value, "__dict__") else None
            if marker is not None and value is not getattr(sys.modules.get(OURS), AGENT, None):
                yield getattr(marker, "name", None) or name


def directory_node(session: pytest.Session, directory: Path, known: dict[Path, pytest.Collector]) -> pytest.Collector:
    """Return pytest's own collector of a directory, whose fixtures what hangs below it sees; ``known`` are those made.

    Where pytest did not come by, it is asked to collect the way there, which imports no test.
    """
    parent: pytest.Collector = session
    root = session.config.rootpath
    if not directory.is_relative_to(root):
        return session
    for path in [*reversed([up for up in directory.parents if up.is_relative_to(root)]), directory]:
        node = known.get(path)
        if node is None:
            node = session.gethookproxy(path).pytest_collect_directory(path=path, parent=parent)
            if node is None:
                return parent
            session.config.hook.pytest_make_collect_report(collector=node)
        parent = node
    return parent
