"""Secrets and the workflow suite: they are written nowhere, and what is hidden keeps no record from its replay."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from pytest_episem.banks.folder import shipped_bank_dir

KEY = "hunter2-hunter2-hunter2"
OWN = """
import os
from pytest_episem import Attempt, Controller, Finish

class Keeps(Controller):
    name = "keeps " + os.environ["SHOP_TOKEN"]
    def choose(self, belief):
        sent = {entry.obligation for entry in belief.entries if getattr(entry, "recovery", False)}
        for obligation in self.model.template.obligations:
            if obligation not in sent:
                return Attempt(obligation, f"{os.environ['SHOP_TOKEN']}-{obligation}")
        return Finish("completed")

class Raises(Keeps):
    def choose(self, belief):
        raise RuntimeError("401 for " + os.environ["SHOP_TOKEN"])

class Plays:
    name, turn_limit = Keeps.name, 12
    def play(self, episode):
        secret = os.environ["SHOP_TOKEN"]
        for number, tool in enumerate(episode.tools):
            names = tool.parameters.get("properties", {})
            episode.call(tool.name, {name: f"{secret}-{number}" for name in names})
            episode.call(tool.name + secret, {secret: secret})
        episode.finish(secret + " Disposition: stopped")

plays = Plays()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen", ["--episem-controller=mine:Keeps", "--episem-controller=mine:Raises", "--episem-agent=mine:plays"]
)
@pytest.mark.parametrize("shield", ["on", "off"])
def test_a_secret_is_written_nowhere_and_records_replay(pytester, monkeypatch, chosen, shield):
    monkeypatch.setenv("SHOP_TOKEN", KEY)
    target = pytester.path / "small/workflows/finance"
    target.mkdir(parents=True)
    shutil.copy(shipped_bank_dir() / "workflows/finance/billing-chain.yaml", target)
    pytester.makepyfile(mine=OWN)
    options = ("--episem-bank=small", "--episem-suite=workflows", f"--episem-shield={shield}", "--episem-out=run")
    result = pytester.runpytest_inprocess(*options, chosen, "--junitxml=run/j.xml")
    report = pytester.run(sys.executable, "-m", "pytest_episem.cli", "report", "run", "--bank=small", "--json")
    written = {file.name: file.read_text("utf-8") for file in (pytester.path / "run").rglob("*.*")}
    written["terminal"], written["episem report"] = result.stdout.str(), report.stdout.str()
    assert {"trials.jsonl", "run.json", "report.json", "report.html", "report.md", "j.xml"} < written.keys()
    assert [name for name, text in written.items() if KEY in text] == []
    lines = [json.loads(line) for line in written["trials.jsonl"].splitlines()]
    assert {line["status"] for line in lines} == {"error" if "Raises" in chosen else "completed"}
    assert json.loads(written["report.json"])["workflows"]["results"]["refuted"] == 0
    assert all("***" in json.dumps(line) for line in lines)
