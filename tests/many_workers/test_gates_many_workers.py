"""Gates with many workers, and with workers and something else: the verdict is that of none. Slow on a small machine,
so run it by itself: ``pytest tests/many_workers``."""

from __future__ import annotations

import pytest

PAIRS = ("finance/payment-authorization/pr-58217", "documents/tenant-export/ex-0907")
OPTIONS = {
    "-n16": ("-n16",),
    "-n2 -x": ("-n2", "-x"),
    "-n2 --maxfail": ("-n2", "--maxfail=1"),
    "-n2 --dist=load": ("-n2", "--dist=load"),
    "-n2 --dist=loadscope": ("-n2", "--dist=loadscope"),
    "-n2 --dist=worksteal": ("-n2", "--dist=worksteal"),
    "-n2 pytest-rerunfailures": ("-n2", "--reruns=2"),
    "-n2 pytest-timeout": ("-n2", "--timeout=120"),
    "-n2 pytest-cov": ("-n2", "--cov=pytest_episem.evidence.metrics", "--cov-report="),
    "-n2 -p no:terminal": ("-n2", "-p", "no:terminal"),
}


@pytest.mark.parametrize(("limit", "code", "word", "sign"), [(100, 0, "PASSED", "<="), (99, 1, "FAILED", ">")])
@pytest.mark.parametrize("name", OPTIONS)
def test_the_verdict_is_the_same(pytester, task_file, name, limit, code, word, sign):
    agent, gate = "--episem-model=episem/trusting", f"--episem-max-critical-ucr={limit}"
    result = pytester.runpytest(agent, task_file(*PAIRS), gate, *OPTIONS[name])
    assert result.ret == code
    lines = [line for line in result.outlines if line.startswith("episem gate:")]
    assert lines == [f"episem gate: {word} (2 of 300 pairs, documents, finance): Critical UCR 100 {sign} {limit}"]
