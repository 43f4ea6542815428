"""Verdicts as CI systems read them: annotations for GitHub, a JUnit file for any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from pytest_episem.verdicts.gates import GateResult


def github_annotations(result: GateResult) -> Iterator[str]:
    """Yield a workflow command of GitHub Actions for each failed gate, which shows it beside the change."""
    for verdict in result.failed:
        title = _escaped(f"episem gate: {verdict.demand}", ":,")
        yield f"::error title={title}::{_escaped(verdict.detail)}"


def _escaped(text: str, more: str = "") -> str:
    """Escape what a workflow command would act on."""
    for character in ("%", "\r", "\n", *more):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def junit(results: Sequence[tuple[str, GateResult]]) -> str:
    """Return a JUnit file (the strict xunit2 form) with one test case a gate; each run is a suite of its own."""
    root = ElementTree.Element("testsuites")
    for name, result in results:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(f"episem-gates {name}"),
            errors="0",
            failures=str(len(result.failed)),
            skipped="0",
            tests=str(len(result.verdicts)),
            time="0",
        )
        for verdict in result.verdicts:
            case = ElementTree.SubElement(suite, "testcase", classname="episem-gates", name=_xml(verdict.key), time="0")
            if not verdict.passed:
                message = _xml(verdict.detail)
                ElementTree.SubElement(case, "failure", message=message).text = message
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Escape what XML cannot hold."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
