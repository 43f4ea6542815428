"""The face of ``episem_flaky``: an item a fault, and a check at the end of each that nobody can forget."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_episem.errors import suggestion
from pytest_episem.flaky import FlakyError, FlakyFailure, FlakyTools, choose

NAME = "episem_flaky"
KEYWORDS = ("faults", "call", "late_after", "unreached_ok")
TOOLS: pytest.StashKey[FlakyTools] = pytest.StashKey()


@dataclass(frozen=True)
class Setting:
    """What one item is run with."""

    fault: str
    call: int = 1
    late_after: int | None = 1
    unreached_ok: bool = False


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes the fixture an item a fault.

    Raises:
        pytest.Collector.CollectError: the marker says what cannot be.
    """
    mark = metafunc.definition.get_closest_marker(NAME)
    try:
        settings = _settings(mark)
    except FlakyError as error:
        where = metafunc.definition.nodeid
        raise pytest.Collector.CollectError(f"{where}: @pytest.mark.{NAME}: {error}") from None
    marks = () if mark else (getattr(pytest.mark, NAME),)
    metafunc.parametrize(
        NAME, [pytest.param(setting, id=setting.fault, marks=marks) for setting in settings], indirect=True
    )


def refuse_marker(metafunc: pytest.Metafunc) -> None:
    """Refuse our marker on a test that does not take the fixture, which would be tested without any fault."""
    raise pytest.Collector.CollectError(
        f"{metafunc.definition.nodeid}: has @pytest.mark.{NAME} and does not take the fixture {NAME}"
    )


def _settings(mark: pytest.Mark | None) -> list[Setting]:
    given: dict[str, Any] = dict(mark.kwargs) if mark else {}
    for keyword in given:
        if keyword not in KEYWORDS:
            raise FlakyError(f"unknown argument {keyword!r}{suggestion(keyword, KEYWORDS)}")
    names: Any = mark.args if mark else ()
    if "faults" in given:
        if names:
            raise FlakyError("names faults twice, as arguments and as faults=")
        names = given.pop("faults")
        if not names:
            raise FlakyError("faults= is empty, and nothing would be tested; leave it out for all of them")
    chosen = choose([names] if isinstance(names, str) else list(names))
    settings = [Setting(name, **given) for name in chosen]
    _ = [_tools(setting) for setting in settings]
    return settings


def _tools(setting: Setting) -> FlakyTools:
    return FlakyTools(setting.fault, setting.call, setting.late_after, setting.unreached_ok)


def tools_of(request: pytest.FixtureRequest) -> FlakyTools:
    """Return the tools of an item, and see to it that they are judged when it ends."""
    setting = getattr(request, "param", None)
    if not isinstance(setting, Setting):
        pytest.fail(
            f"{NAME} has no fault here: let the test function, or a fixture that it names, take it", pytrace=False
        )
    if not request.config.pluginmanager.has_plugin(NAME):
        request.config.pluginmanager.register(Watch(), NAME)
    tools = request.node.stash[TOOLS] = _tools(setting)
    return tools


class Watch:
    """Judges the tools of each item when its test has ended; registered when the fixture is first used."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        tools = item.stash.get(TOOLS, None)
        try:
            result = yield
            if tools is not None:
                tools.check()
            return result
        except (FlakyFailure, FlakyError) as found:
            told = str(found)
        except Exception:
            if tools is not None:
                item.add_report_section("call", NAME, str(tools))
            raise
        pytest.fail(told, pytrace=False)  # without the traceback, which would not help

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the short summary and JUnit's message say the first line of a failure alone."""
        report = yield
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None and call.when == "call" and TOOLS in item.stash:
            crash.message = crash.message.partition("\n")[0]
        return report
