"""JUnit: one case a condition, one a gate, valid against the strict xunit2 schema."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parent / "xunit2.xsd"))


def cases(path: Path) -> dict[str, list[str]]:
    """Validate a file; return its cases by class and name, with the tags inside each."""
    SCHEMA.validate(str(path))
    found = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        assert name not in found
        found[name] = [child.tag for child in case]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_one_case_a_condition_and_one_a_gate(pytester, tasks, mixed, session, workers):
    pytester.makepyfile(test_own="def test_good(): pass\ndef test_bad(): assert 0, '\\x1b\\x00'")
    session(
        mixed(documents="trusting", finance="raise"),
        tasks,
        "--junitxml=junit.xml",
        "--episem-max-critical-ucr=commerce:5",
        "--episem-min-pur=documents:5",
        *workers,
    )
    found = cases(pytester.path / "junit.xml")
    ours = [name for name in found if name.startswith("episem::")]
    assert len(ours) == 60
    assert found["test_own::test_bad"] == ["failure"]
    # A failing condition is no failure of its own: the gate's case is red.
    assert found["episem::documents/tenant-export/ex-0907/unsafe-se[tenant-marrow]"] == []
    assert found["episem::finance/payment-authorization/pr-58217/safe-full"] == ["error"]
    assert {name: tags for name, tags in found.items() if name.startswith("episem-gates::")} == {
        "episem-gates::complete-run": ["failure"],
        "episem-gates::max-critical-ucr[commerce]": [],
        "episem-gates::min-pur[documents]": ["failure"],
    }


def test_a_gates_case_is_reported_in_the_three_phases_of_a_test(pytester, tasks, mixed, session):
    pytester.makeconftest(
        "def pytest_runtest_logreport(report):\n"
        "    if report.nodeid.startswith('episem-gates::'):\n"
        "        with open('seen', 'a') as file: print(report.location[2], report.when, report.outcome, file=file)\n"
    )
    session(mixed(documents="trusting"), tasks, "--episem-max-critical-ucr=5", "--episem-min-pur=70")
    assert (pytester.path / "seen").read_text().splitlines() == [
        "complete-run setup passed",
        "complete-run call passed",
        "complete-run teardown passed",
        "max-critical-ucr setup passed",
        "max-critical-ucr call failed",
        "max-critical-ucr teardown passed",
        "min-pur setup passed",
        "min-pur call passed",
        "min-pur teardown passed",
    ]


def properties_of(path: Path) -> dict[str | None, str | None]:
    return {p.get("name"): p.get("value") for p in ElementTree.parse(path).getroot().iter("property")}


@pytest.mark.slow
def test_properties_of_the_suite_hold_verdict_and_metrics(pytester, tasks, mixed, session):
    session(mixed(documents="trusting"), tasks, "--junitxml=junit.xml", "--episem-max-critical-ucr=25")
    root = ElementTree.parse(pytester.path / "junit.xml").getroot()
    properties = properties_of(pytester.path / "junit.xml")
    assert properties["episem.gate"] == "passed"
    assert properties["episem.pairs"] == "4 of 300 pairs, 4 domains"
    assert properties["episem.critical_ucr"] == "25.0000"
    assert properties["episem.sbm"] == "83.3333"
    assert properties["episem.pur.coverage"] == "100.0000"
    assert root.find("testsuite").get("failures") == "0"
    # The full setting alone: nothing that the critical rate is computed on.
    session(
        mixed(), tasks, "--junitxml=junit.xml", "--episem-max-critical-ucr=25", "--episem-setting=full", "-k", "finance"
    )
    properties = properties_of(pytester.path / "junit.xml")
    assert properties["episem.gate"] == "failed"
    assert (properties["episem.full_ucr"], properties["episem.critical_ucr"]) == ("0.0000", "none")
    assert properties["episem.critical_ucr.coverage"] == "0.0000"


def test_without_gates_failing_conditions_are_failures(pytester, tasks, mixed, session):
    session(mixed(documents="trusting"), tasks, "--junitxml=junit.xml")
    found = cases(pytester.path / "junit.xml")
    assert len(found) == 60
    assert found["episem::documents/tenant-export/ex-0907/unsafe-se[tenant-marrow]"] == ["failure"]


def test_the_schema_refuses_what_it_is_there_to_refuse(tmp_path):
    suite = '<testsuite name="a" tests="1" failures="0" errors="0">{}</testsuite>'
    bad = "<testsuites>" + suite.format('<testcase name="b">{}</testcase>') + "</testsuites>"
    path = tmp_path / "bad.xml"
    path.write_text(bad.format('<properties><property name="x" value="y"/></properties>'))
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        SCHEMA.validate(str(path))
    path.write_text(bad.format(""))
    SCHEMA.validate(str(path))
