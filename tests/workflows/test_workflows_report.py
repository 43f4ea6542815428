"""The workflow suite in every report: terminal, Markdown, HTML, CSV and ``report.json``; what must never pass."""

from __future__ import annotations

import base64
import csv
import html as html_module
import io
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from workflow_runs import ASK, BANK, DESK, DONE, HOSTILE, JOINT, PAY, RULES, STOP, altered, header, joint, record, run

from pytest_episem.report.csv_files import csv_text
from pytest_episem.report.markdown import LIMIT, markdown
from pytest_episem.report.workflow_cases import action_words
from pytest_episem.report.workflow_tables import cases, workflow_tables
from pytest_episem.report.workflow_terminal import workflow_comparison_lines, workflow_lines
from pytest_episem.report.workflow_words import ending
from pytest_episem.report.write import write_runs
from pytest_episem.runs.run_dir import Run
from pytest_episem.workflows.actions import Attempt, Compensate, Finish, HandOff, Query, Revalidate, Stop, Wait
from pytest_episem.workflows.check import judge
from pytest_episem.workflows.summary import summarize_workflows
from pytest_episem.workflows.trial import Unapproved


def summary(found: Run, banks=(BANK,)):
    return summarize_workflows(found, judge(found, banks))


def rules() -> Run:
    records = [record("landed", Wait(1), ASK, DONE), record("lost", DESK)]
    return run(records, header(RULES))


def rash() -> Run:
    """With the shield off: paid twice in ``landed``, claimed what is false in ``lost``, and a third case not there."""
    records = [record("landed", PAY, DONE, shield=False), record("lost", DONE, shield=False)]
    return run(records, header(shield=False, planned=[*header().workflows.planned, "some/work/gone"]))


def forged() -> Run:
    """A hand-off altered to look certified."""
    one = record("landed", DESK)
    told = one.judged.trajectory
    steps = (replace(told.steps[0], action=DONE),)
    verdict = replace(told.verdict, terminal="completed", claim_holds=True, actions=0)
    return run([altered(one, steps=steps, verdict=verdict), joint()[1]])


def hostile() -> Run:
    about = replace(header(HOSTILE), run=HOSTILE, started=HOSTILE, plugin_version=HOSTILE)
    plan = replace(about.workflows, bank=replace(about.workflows.bank, name=HOSTILE, version=HOSTILE))
    records = [
        record("landed", ASK, DONE, faults=(HOSTILE,)),
        record("lost", PAY, ASK, Attempt("pay", HOSTILE), DONE),
    ]
    return run(records, replace(about, workflows=plan))


def lines_of(found, width=80, **options):
    return workflow_lines(summary(found), width, colour=False, **options)


def cells(lines, start):
    return next(line for line in lines if line.startswith(start)).split()


# The terminal


def test_the_terminal_says_how_the_cases_ended():
    lines = lines_of(run([joint()[0], record("lost", DESK)]))
    assert lines[0] == "episem/joint · workflows · 2 of 2 named cases, 1 workflow, shield on"
    assert cells(lines, "certified")[:3] == ["certified", "1/2", "50.0"]
    assert cells(lines, "handed off")[:4] == ["handed", "off", "1/2", "50.0"]
    assert cells(lines, "unknown")[:3] == ["unknown", "0/2", "0.0"]
    assert "new violations 0/2 · false certificates 0/2 · goal reached 1/2" in lines
    assert "fee 1, 2 actions, 0 instants" in lines
    assert "4 decisions, each 20.00 ms (median), 30.00 ms (p95); 0 cut off, 0 fell back" in lines


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
@pytest.mark.parametrize("make", [rash, rules, forged])
def test_no_line_is_wider_than_the_terminal(width, verbosity, make):
    assert max(map(len, lines_of(make(), width, verbosity=verbosity))) <= width


def test_it_speaks_ascii_and_without_colour_where_it_must():
    lines = lines_of(rash(), verbosity=1, unicode=False)
    "".join(lines).encode("ascii")
    assert "\x1b" not in "".join(lines_of(rash(), verbosity=1))
    assert "\x1b[" in "".join(workflow_lines(summary(rash()), 80, colour=True))


def test_quiet_is_what_matters_and_verbose_is_every_table():
    quiet = lines_of(run(joint()), verbosity=-1)
    assert quiet[1:] == [
        "certified 2/2   goal 2/2   new violations 0/2",
        "proposals: 0 unsafe, 0 false claims (either: 0), 0 not offered",
    ]
    text = "\n".join(lines_of(run(joint()), verbosity=1))
    for title in ("computation", "certified by workflow", "coverage and checks"):
        assert f"Workflows: {title}" in text
    assert cells(lines_of(run(joint()), verbosity=1), "some/work") == ["some/work", "2", "2/2"]


def test_an_incomplete_run_says_so_in_every_verbosity_and_names_what_is_missing():
    for verbosity in (-1, 0, 1):
        assert "INCOMPLETE 1 of 3 cases without a record: some/work/gone" in lines_of(rash(), 100, verbosity=verbosity)
    torn = run(joint()[:1], torn=True)
    line = "INCOMPLETE 1 of 2 cases without a record: some/work/lost; a torn last record was skipped"
    assert line in lines_of(torn, 100)
    many = header(planned=[f"some/work/world-{n}" for n in range(9)], cases="worlds")
    assert any(line.endswith("some/work/world-4 and 4 more") for line in lines_of(run([], many), 200))
    assert any(line.endswith("some/work/world-8") for line in lines_of(run([], many), 400, verbosity=1))


def test_a_refuted_record_is_said_and_not_counted():
    lines = lines_of(forged(), 100)
    assert "REFUTED 1 of 2 records not counted: some/work/landed" in lines
    assert cells(lines, "certified")[1] == "1/2"
    assert cells(lines, "record refuted")[2] == "1/2"


def test_without_the_bank_the_records_count_but_it_says_that_nobody_checked():
    found = summary(run(joint()), banks=())
    lines = workflow_lines(found, 200, colour=False)
    assert "NOT REPLAYED the bank small bbbbbbbbbbbb is not at hand; records count as they say, unchecked" in lines


def test_several_runs_stand_side_by_side():
    runs = [("joint", summary(run(joint()))), ("rules", summary(rules()))]
    lines = workflow_comparison_lines(runs, 200, colour=False)
    assert cells(lines, "joint") == ["joint", "2/2", "2", "0", "0", "0", "0", "4", "3", "0", "0", "0", "2/2"]
    assert cells(lines, "rules") == ["rules", "1/2", "1", "0", "1", "0", "0", "1", "3", "1", "0", "0", "2/2"]
    saved = [line.split() for line in lines if line.startswith(("some/work", "all workflows"))]
    assert saved == [
        ["some/work", "2", "2/2", "1/2"],
        ["some/work", "-3", "0", "0.000", "—", "1/2"],
        ["all", "workflows", "-3", "0", "0.000", "—", "1/2"],
    ]
    narrow = workflow_comparison_lines(runs, 80, colour=False)
    assert max(map(len, narrow)) <= 80
    assert sum(line.startswith("joint") for line in narrow) > sum(line.startswith("joint") for line in lines)


def test_what_was_wrong_with_proposals_stands_beside_how_the_cases_ended():
    """On: paying unasked was refused, asked and paid for after that. Off: in ``lost`` the same guess and its claim were
    right, which nobody could know; in ``landed`` the claim came after asking, and was certain."""
    on = run([record("lost", PAY, ASK, PAY, DONE), record("landed", DONE, Query("mail"), DESK)])
    off = [record("lost", PAY, DONE, shield=False), record("landed", ASK, DONE, shield=False)]
    odd = Unapproved(1, "pay", {"eur": 7})
    off[0] = replace(off[0], outcome=replace(off[0].judged, unapproved=(odd,)))
    runs = [("on", summary(on)), ("off", summary(run(off, header(shield=False))))]
    assert "proposals: 1 unsafe, 1 false claims (either: 2), 0 not offered, 1 unapproved" in lines_of(
        run(off, header(shield=False)), 100
    )
    lines = workflow_comparison_lines(runs, 200, colour=False)
    table = lines[lines.index("Workflows: what was wrong with proposals") :]
    assert cells(table, "on") == ["on", "7", "1", "1", "2", "1", "0", "3", "2/2", "1/2", "1/1"]
    assert cells(table, "off") == ["off", "4", "1", "1", "2", "0", "1", "0", "1/2", "0/2", "1/2"]
    text = markdown([], workflows=runs)
    assert "### Workflows: what was wrong with proposals" in text
    lucky = run(
        [record("lost", PAY, ASK, DONE, shield=False), record("landed", DONE, shield=False)], header(shield=False)
    )
    assert "1 of 2 unchecked claims certain when made" in lines_of(lucky)
    for verbosity in (-1, 0, 1):
        told = "proposals: 1 unsafe, 1 false claims (either: 2), 1 not offered"
        assert told in lines_of(on, 100, verbosity=verbosity)


def test_a_loss_is_told_in_words():
    slow = run([record("landed", Wait(1), ASK, DONE)])
    mine = run([record("landed", ASK, DONE)], header("mine"))
    lines = workflow_comparison_lines([("joint", summary(slow)), ("mine", summary(mine))], 100, colour=False)
    place = lines.index("some/work/landed: joint certified, fee 1, 2 actions, 1 instant")
    assert lines[place + 1] == "  mine certified, fee 1, 1 action, 0 instants"
    assert "joint: INCOMPLETE 1 of 2 cases without a record: some/work/lost" in lines


def test_the_claims_have_a_column_where_nobody_was_checked():
    keys = {column.key for column in workflow_tables([("a", summary(rash()))])[0].columns}
    assert "claims" in keys
    assert "claims" not in {column.key for column in workflow_tables([("a", summary(rules()))])[0].columns}


def test_endings_in_words():
    def of(*actions, case="lost", shield=True):
        (one,) = judge(run([record(case, *actions, shield=shield)], header(shield=shield)), [BANK])
        return ending(one)

    assert of(ASK, PAY, DONE) == ("certified", "good")
    assert of(DESK) == ("handed off", "warn")
    assert of(STOP) == ("unknown", "warn")
    assert of(ASK, DESK, case="landed") == ("handed off, could have finished", "warn")
    assert of(DONE, shield=False) == ("false claim", "bad")
    assert of(DONE, case="landed", shield=False) == ("true claim", "good")
    assert of(PAY, DONE, case="landed", shield=False) == ("new violation: duplicate", "bad")
    assert [ending(one) for one in judge(forged(), [BANK])] == [("record refuted", "bad"), ("certified", "good")]


# Files


def written(tmp_path, *found, banks=(BANK,), formats=("json", "md", "html", "csv")):
    return write_runs(found, tmp_path, [], formats=formats, workflow_banks=list(banks))


def test_report_json_of_one_run(tmp_path):
    written(tmp_path, run(joint()))
    document = json.loads((tmp_path / "report.json").read_text())
    assert list(document) == ["schema", "workflows"]
    assert document["schema"] == "episem.report/1"
    assert document["workflows"]["results"]["certified"] == 2
    assert document["workflows"]["coverage"]["planned"] == 2


def test_report_json_of_several_runs(tmp_path):
    written(tmp_path, run(joint()), rules())
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["schema"] == "episem.reports/1"
    assert list(document["reports"]) == [JOINT, RULES]
    assert [line["fee"] for line in document["workflow_comparison"]["savings"]] == [-3, -3]


def rows(tmp_path, name):
    return list(csv.DictReader(io.StringIO((tmp_path / "tables" / f"{name}.csv").read_text(encoding="utf-8"))))


def test_tables_as_csv(tmp_path):
    written(tmp_path, rash())
    (row,) = rows(tmp_path, "workflows")
    assert (row["certified_numerator"], row["certified_denominator"]) == ("0", "2")
    assert (row["new"], row["false_certificates"], row["claims"], row["fee"]) == ("1", "2", "2", "2")
    assert (row["recorded_numerator"], row["recorded_denominator"]) == ("2", "3")
    found = {row["case"]: (row["ending"], row["fee"]) for row in rows(tmp_path, "workflows-cases")}
    assert found == {
        "some/work/landed": ("new violation: duplicate", "2"),
        "some/work/lost": ("false claim", "0"),
        "some/work/gone": ("no record", ""),
    }


def test_what_a_refuted_record_claims_is_in_no_table(tmp_path):
    written(tmp_path, forged())
    (row,) = rows(tmp_path, "workflows")
    assert (row["certified_numerator"], row["goal"], row["refuted"]) == ("1", "1", "1")
    first = rows(tmp_path, "workflows-cases")[0]
    assert (first["ending"], first["goal"], first["fee"]) == ("record refuted", "", "")


def test_csv_is_no_formula_whatever_an_agent_is_called():
    found = {table.key: table for table in workflow_tables([("=cmd()", summary(run(joint())))])}
    text = csv_text(found["workflows-templates"])
    assert text.splitlines()[0].startswith("template,planned,certified:=cmd()")
    assert csv_text(cases([("=cmd()", summary(run(joint())))])).splitlines()[1].startswith("'=cmd(),")


def test_markdown_says_it_all_and_stays_inert(tmp_path):
    text = markdown([], workflows=[("me", summary(rash()))])
    assert "**Incomplete.** <code>1 of 3 cases without a record&#58; some/work/gone</code>" in text
    assert "### 2 cases that count against it" in text
    assert "episem show some/work --case landed --bank small" in html_module.unescape(text)
    assert "| 0/2\\* |" in text
    bad = markdown([], workflows=[(HOSTILE, summary(hostile()))])
    bad.encode("utf-8")
    assert len(bad.encode()) <= LIMIT
    tags = set(re.findall(r"</?([a-z]+)", bad))
    assert tags <= {"code", "details", "summary", "br"}
    assert "@octocat" not in bad
    assert "](javascript" not in bad
    assert "**Refuted.**" in bad


class Reader(HTMLParser):
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


def unpack(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


def page(tmp_path, *found, banks=(BANK,)):
    written(tmp_path, *found, banks=banks, formats=("html",))
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_holds_every_case_step_by_step(tmp_path):
    reader = Reader(page(tmp_path, run([joint()[0], record("lost", PAY, ASK, PAY, DONE)])))
    index = unpack(reader.scripts["cases-index"])
    assert (index["count"], index["templates"]) == (2, ["some/work"])
    assert index["runs"][0]["rerun"] == (
        "pytest --episem-suite=workflows --episem-bank=small --episem-model=episem/joint"
    )
    block = unpack(reader.scripts["cases-block-0"])
    case = block["cases"]["0"][1]
    told = [(step["time"], step["text"], step["answer"], step["fee"], step["request"]) for step in case["steps"]]
    assert told == [
        (1, "pay(), new key", "", 0, ""),
        (1, "query pay", "k-pay absent", 1, ""),
        (1, "pay(), new key", "settled at 1", 2, "r1"),
        (1, "finish completed", "", 0, ""),
    ]
    assert case["steps"][0]["refused"].startswith("REFUSED pay(), new key, t=1: harmful in 1 of 2 fates.")
    assert case["truth"] == ["k-pay: never arrived"]
    assert [(entry["at"], entry["request"]) for entry in case["ledger"]] == [(1, "r1")]
    public = block["template"][BANK.hash]
    assert (public["worlds"], public["fates"], public["deadline"]) == (2, 2, 5)


def test_what_was_not_admissible_is_marked_where_it_was_done(tmp_path):
    block = unpack(Reader(page(tmp_path, rash())).scripts["cases-block-0"])
    paid = block["cases"]["0"][0]
    assert paid["steps"][0]["harm"].startswith("harmful in 1 of 2 fates. If k-pay has landed")
    assert [one["text"] for one in paid["violations"] if one["new"]] == ["pay done twice, at t1"]


def test_the_page_of_outcomes_alone_has_nothing_of_the_other_suite(tmp_path):
    text = page(tmp_path, run(joint()), rules())
    reader = Reader(text)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"cases-browser", "workflows", "workflows-savings", "workflows-coverage", "case"} <= set(ids)
    assert not {"browser", "table-1", "trial", "figures"} & set(ids)
    for table in re.findall(r"<table.*?</table>", text, re.S):
        assert "<caption" in table
        assert 'scope="col"' in table
    assert not [name for _, attributes in reader.tags for name in attributes if name.startswith("on")]


def test_a_page_says_what_it_lacks(tmp_path):
    shown = " ".join(Reader(page(tmp_path, rash())).data)
    assert "Incomplete." in shown
    assert "some/work/gone" in shown
    assert "Refuted." in " ".join(Reader(page(tmp_path, forged())).data)
    assert "Not replayed." in " ".join(Reader(page(tmp_path, run(joint()), banks=())).data)
    assert not re.search(r"Incomplete\.|Refuted\.|Not replayed\.", " ".join(Reader(page(tmp_path, run(joint()))).data))


def test_without_the_bank_a_case_shows_what_the_record_holds(tmp_path):
    block = unpack(Reader(page(tmp_path, run(joint()), banks=())).scripts["cases-block-0"])
    assert block["template"] == {}
    case = block["cases"]["0"][1]
    assert [step["text"] for step in case["steps"]] == ["query pay", "attempt pay, key pay-r1", "finish completed"]
    assert case["truth"] == ["pay1: never arrived", "new requests, pay: lands"]


def test_a_bank_with_a_broken_contract_refutes_and_breaks_no_report(tmp_path):
    work = BANK.workflow("some/work")
    request = replace(work.template.history[0], answer="settled", at=3)  # it settles at once or never
    broken = replace(work, template=replace(work.template, history=(request,)))
    bank = replace(BANK, workflows={"some/work": broken})
    reader = Reader(page(tmp_path, run(joint()), banks=[bank]))
    assert unpack(reader.scripts["cases-block-0"])["template"] == {}
    assert "no world that the contracts allow reproduces the history" in " ".join(reader.data)


def test_hostile_text_stays_text(tmp_path):
    for banks in ((BANK,), ()):
        text = page(tmp_path, hostile(), run(joint()), banks=banks)
        text.encode("utf-8")
        reader = Reader(text)
        assert [attributes.get("type") for tag, attributes in reader.tags if tag == "script"].count(None) == 1
        assert not [tag for tag, _ in reader.tags if tag in ("img", "iframe", "link")]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
        assert "</script><script>window.pwned=1</script>" in " ".join(reader.data)
        assert "{{ 7*7 }}" in " ".join(reader.data)
    workflow_lines(summary(hostile()), 80, colour=False, verbosity=1)
    text = "\n".join(workflow_comparison_lines([(HOSTILE, summary(hostile()))], 80, colour=False))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", text)


def test_equal_records_give_equal_bytes(tmp_path):
    assert page(tmp_path, run(joint()), rules()) == page(tmp_path, run(joint()), rules())


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Attempt("pay", "k"), "attempt pay, key k"),
        (Compensate("pay", "u"), "undo pay, key u"),
        (Query("pay"), "query pay"),
        (Wait(2), "wait 2"),
        (Revalidate("mandate"), "renewal of mandate"),
        (Finish("withdrawn"), "finish withdrawn"),
        (HandOff(("pay", "mail")), "hand off, unknown: pay, mail"),
        (HandOff(), "hand off"),
        (Stop(), "stop"),
    ],
)
def test_an_action_in_words_from_the_record_alone(action, words):
    assert action_words(action) == words
