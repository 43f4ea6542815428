"""A real Chromium, and reports to open in it.

Not part of the plain ``pytest``: it needs a browser. ``pip install -e '.[test,browser]'``, a Chromium on the path (or
``EPISEM_CHROMIUM``), then ``pytest tests/report_browser``.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import workflow_runs
from playwright.sync_api import Browser, Page, sync_playwright
from report_runs import HOSTILE, hostile_run, known_run, save

from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.report.tables import GateLine
from pytest_episem.report.write import write_reports
from pytest_episem.workflows.actions import Attempt

PAIRS = (
    "finance/payment-authorization/pr-58217",
    "finance/payment-authorization/pr-60944",
    "travel/total-budget/br-20231",
)
HTML = ("html",)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("EPISEM_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "no Chromium: install one or name it in EPISEM_CHROMIUM"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports by name: one model, two models side by side, a hostile one, one without its bank; of the workflow suite
    two controllers, a hostile one, and one beside a model of the other suite."""
    home = tmp_path_factory.mktemp("reports")
    runs = {name: save(known_run(name, PAIRS), home / "runs" / name) for name in ("trusting", "careful")}
    runs["hostile"] = save(hostile_run(), home / "runs" / "hostile")
    bank = [shipped_bank()]
    gates = [GateLine(HOSTILE, False, HOSTILE)]
    write_reports([runs["trusting"]], home / "one", bank)
    write_reports([runs["trusting"], runs["careful"]], home / "two", bank)
    write_reports([runs["hostile"]], home / "hostile", bank, gates)
    write_reports([runs["trusting"]], home / "alone", [])
    _workflows(home, runs["trusting"])
    return {page.parent.name: page for page in home.glob("*/report.html")}


def _workflows(home: Path, trusting: Path) -> None:
    o, bank = workflow_runs, [workflow_runs.BANK]
    rules = [o.record("landed", o.ASK, o.DONE), o.record("lost", o.DESK)]
    odd = [
        o.record("landed", o.ASK, o.DONE, faults=(HOSTILE,)),
        o.record("lost", o.ASK, Attempt("pay", HOSTILE), o.DONE),
    ]
    joint = o.save(home / "runs" / "joint", o.joint())
    write_reports(
        [joint, o.save(home / "runs" / "rules", rules, o.header(o.RULES))], home / "workflows", [], (), HTML, bank
    )
    write_reports(
        [o.save(home / "runs" / "odd", odd, o.header(HOSTILE))], home / "hostile-workflows", [], (), HTML, bank
    )
    write_reports([trusting, joint], home / "suites", [shipped_bank()], (), HTML, bank)


class Opened:
    """Opens reports and keeps an eye on what they must never do."""

    def __init__(self, browser: Browser, reports: dict[str, Path]) -> None:
        self._browser, self._reports, self._contexts = browser, reports, []
        self.faults: list[str] = []
        self.requests: list[str] = []

    def __call__(self, name: str, hash: str = "", **options: object) -> Page:
        context = self._browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and self.faults.append(message.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("dialog", lambda dialog: (self.faults.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(self._reports[name].as_uri() + hash)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready=yes]")
        return page

    def until(self, page: Page, expression: str, seconds: float = 10) -> None:
        """Wait until a JavaScript expression is true. Playwright's own waiting evaluates text in the page, which the
        page's policy refuses."""
        end = time.monotonic() + seconds
        while not page.evaluate(expression):
            assert time.monotonic() < end, f"not within {seconds} s: {expression}"
            page.wait_for_timeout(50)

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def opened(browser: Browser, reports: dict[str, Path]) -> Iterator[Opened]:
    """``opened(name)`` gives the page of a report; it fails the test for any error, dialog or request to elsewhere."""
    found = Opened(browser, reports)
    yield found
    found.close()
    assert found.faults == []
    assert [url for url in found.requests if not url.startswith("file://")] == []
