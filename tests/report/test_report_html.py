"""``report.html`` as a file: self-contained, inert, deterministic, with everything in it. See also report_browser."""

from __future__ import annotations

import base64
import hashlib
import html as html_module
import json
import re
import zlib
from html.parser import HTMLParser

import pytest
from report_runs import HOSTILE, PAYMENT, known_run

from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.evidence.metrics.summary import summarize
from pytest_episem.report.examples import failures
from pytest_episem.report.html import html
from pytest_episem.report.tables import GateLine
from pytest_episem.report.words import labels


def page(*runs, banks=None, gates=()):
    summaries = [summarize(run, draws=50) for run in runs]
    names = labels([summary.run for summary in summaries])
    failing = [(name, failures(run.trials.values())) for name, run in zip(names, runs, strict=True)]
    return html(list(zip(names, summaries, strict=True)), runs, failing, banks, gates)


class Reader(HTMLParser):
    """Collects tags with their attributes, scripts by id, and the text of everything else."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.data, self.scripts, self.inside = [], [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self.inside = dict(attributes).get("id", tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.scripts[self.inside] = self.scripts.get(self.inside, "") + data
        else:
            self.data.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def unpack(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


@pytest.fixture(scope="module")
def reader(trusting):
    return Reader(page(trusting))


def test_nothing_comes_from_outside(trusting, reader):
    text = page(trusting)
    links = [a["href"] for a in reader.named("a")]
    assert links
    assert all(link.startswith("#") for link in links)
    assert not reader.named("link") + reader.named("img") + reader.named("iframe") + reader.named("object")
    assert not [a for _, a in reader.tags if "src" in a]
    outside = set(re.findall(r"https?://[^\s\"'<>)]+", text))
    assert outside <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in text
    assert "url(" not in text


def test_the_policy_allows_this_script_alone(reader):
    (policy,) = [m["content"] for m in reader.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules
    digest = base64.b64encode(hashlib.sha256(reader.scripts["script"].encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"


def test_no_inline_handler_and_only_data_besides_the_script(reader):
    assert not [name for _, attributes in reader.tags for name in attributes if name.startswith("on")]
    kinds = [script.get("type") for script in reader.named("script")]
    assert kinds.count(None) == 1
    assert set(kinds) == {None, "text/plain"}


def test_every_trial_is_in_the_index_and_has_its_transcript(reader, trusting):
    index = unpack(reader.scripts["index"])
    assert index["count"] == len(trusting.trials)
    assert index["tasks"] == [PAYMENT]
    block = unpack(reader.scripts["block-0"])
    assert len(block["trials"]["0"]) == index["count"]
    unsafe = sum(trial.outcome.unsafe_commit for trial in trusting.trials.values())
    assert sum(index["columns"]["unsafe"]) == unsafe == 4


def test_the_bank_s_knowledge_comes_along(reader):
    block = unpack(reader.scripts["block-0"])
    known = block["task"][shipped_bank().hash]
    limit = next(atom for atom in known["atoms"] if atom["id"] == "authorization-limit")
    assert limit["values"] == {"unsafe": 30000, "safe": 50000}
    assert limit["role"] == "critical"
    assert limit["exposures"]
    assert known["rule"] == shipped_bank().task(PAYMENT).rule.source


def test_without_the_bank_the_records_alone_speak(trusting):
    reader = Reader(page(trusting, banks=[]))
    assert unpack(reader.scripts["block-0"])["task"] == {}
    assert unpack(reader.scripts["index"])["runs"][0]["explained"] is False


def test_another_bank_explains_nothing(example):
    reader = Reader(page(example, banks=[shipped_bank()]))
    assert unpack(reader.scripts["index"])["runs"][0]["explained"] is False


def test_tables_and_figures_are_there_without_any_script(reader):
    text = " ".join(reader.data)
    for title in ("Table 7", "Table 8", "Table 9", "Table 10", "Table 11", "Controls", "Unsafe commits by cause"):
        assert title in text
    keys = {figure["id"] for figure in reader.named("figure")}
    assert keys >= {f"figure-{key}" for key in ("2a", "2b", "2c", "2d", "3", "4", "5", "6", "7", "8", "10")}
    assert len(reader.named("svg")) >= len(keys)


def test_every_table_has_a_caption_and_headed_columns(trusting):
    text = page(trusting)
    tables = re.findall(r"<table.*?</table>", text, re.S)
    assert tables
    for table in tables:
        assert "<caption" in table
        assert 'scope="col"' in table
        assert 'scope="row"' in table


def test_every_identifier_is_given_once(reader):
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) > 20


def test_failures_link_to_their_trials(reader):
    links = [a["href"] for a in reader.named("a")]
    assert f"#trial/0/{PAYMENT}/unsafe-re%5Bauthorization-limit%5D" in links
    assert "#trials?kind=unsafe-re&run=0" in links


def test_gates_stand_at_the_top(trusting):
    text = page(trusting, gates=[GateLine("min-pur", False, "0.0 is below 90")])
    assert "1 of 1 gate failed" in " ".join(Reader(text).data).replace("✗", "")
    assert text.index("0.0 is below 90") < text.index("Where it fails")


def test_several_models_in_one_report(trusting, careful):
    reader = Reader(page(trusting, careful))
    index = unpack(reader.scripts["index"])
    assert [run["name"] for run in index["runs"]] == ["episem/trusting", "episem/careful"]
    assert index["count"] == len(trusting.trials) + len(careful.trials)
    assert set(unpack(reader.scripts["block-0"])["trials"]) == {"0", "1"}


def test_equal_records_give_equal_bytes(trusting):
    assert page(trusting) == page(known_run("trusting"))


def test_hostile_text_stays_text(hostile):
    text = page(hostile, gates=[GateLine(HOSTILE, False, HOSTILE)])
    text.encode("utf-8")
    reader = Reader(text)
    assert len(reader.named("script")) == 3
    assert not reader.named("img")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
    assert "49" not in html_module.unescape(text).split("{{ 7*7 }}")[0][-3:]
    shown = " ".join(reader.data)
    assert "</script><script>window.pwned=1</script>" in shown
    assert r"\x1b[31mred" in shown
    block = unpack(reader.scripts["block-0"])
    assert block["trials"]["0"][0]["events"][-1]["text"] == HOSTILE


def test_incomplete_is_said_at_the_top(hostile, careful):
    assert "Incomplete." in " ".join(Reader(page(hostile)).data)
    assert "Incomplete." not in " ".join(Reader(page(careful)).data)
