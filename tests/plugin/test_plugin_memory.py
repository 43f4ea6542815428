"""What a session keeps does not grow with the transcripts, and what it need not load it does not load."""

from __future__ import annotations

import pytest

PAIR = "finance/payment-authorization/pr-58217"

TRANSCRIPTS = """
import gc
import pytest
from pytest_episem.evidence.trial import Trial

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, Trial)]
    print("\\nkept", len(kept), "with events", sum(bool(one.events) for one in kept))
"""


@pytest.mark.parametrize("agent", ["careful", "commit"])
def test_no_transcript_outlives_its_item(pytester, monkeypatch, agent):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins keep what a failing test raised
    pytester.makeconftest(TRANSCRIPTS)
    result = pytester.runpytest_subprocess(
        "-p", "pytest_episem.plugin", "-s", "-q", f"--episem-model=episem/{agent}", f"episem::{PAIR}"
    )
    _, kept, _, _, whole = next(line for line in result.outlines if line.startswith("kept ")).split()
    assert int(kept) >= 14
    assert int(whole) <= 1  # pytest keeps the last failure for a debugger


LOADED = """
import sys
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    print("loaded", [name for name in ("numpy", "litellm", "pygal", "typer") if name in sys.modules])
"""


@pytest.mark.slow
def test_collecting_the_suite_loads_nothing_of_the_reports(pytester):
    pytester.makeconftest(LOADED)
    result = pytester.runpytest_subprocess("-s", "-q", "--collect-only", "--episem-model=gpt-4o", f"episem::{PAIR}")
    assert result.ret == 0
    assert "loaded []" in result.outlines


NOISY = """
import pytest

@pytest.fixture
def noisy():
    yield
    print("words of the tear-down")

def test_that_fails(noisy):
    assert False

@pytest.fixture
def broken():
    print("words of the set-up")
    yield

def test_that_passes(broken):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_what_other_tests_print_in_tear_downs_is_shown_all_the_same(pytester, workers):
    pytester.makepyfile(NOISY)
    result = pytester.runpytest_subprocess("--episem-model=episem/commit", "-rP", ".", f"episem::{PAIR}", *workers)
    result.stdout.fnmatch_lines(["*Captured stdout teardown*", "words of the tear-down"])
    result.stdout.fnmatch_lines(["*Captured stdout setup*", "words of the set-up"])
    result.stdout.fnmatch_lines(["unsafe commit: *"])


@pytest.mark.slow
def test_a_session_leaves_nothing_to_the_next_one_in_the_same_process(pytester: pytest.Pytester) -> None:
    script = pytester.makepyfile(
        sessions="""
        import gc
        import pytest

        kept = []
        for _ in range(5):
            assert pytest.main(["-qq", "--collect-only", "--episem-model=episem/careful"]) == 0
            kept.append(gc.get_freeze_count())
        print(*kept)
        """
    )
    result = pytester.runpython(script)
    kept = [int(count) for count in result.outlines[-1].split()]
    assert kept[0] > 50_000
    assert max(kept) < 2.5 * kept[0]


GARBAGE = """
import gc
import weakref

class Node:
    pass

kept, dropped = Node(), Node()
dropped.itself = dropped

def test_a_cycle_is_found():
    global dropped
    seen = weakref.ref(dropped)
    del dropped
    gc.collect()
    assert seen() is None

def test_what_is_there_is_listed():
    assert any(one is kept for one in gc.get_objects())
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_other_tests_find_their_garbage(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(GARBAGE)
    result = pytester.runpytest_subprocess("--episem-model=episem/careful", ".", f"episem::{PAIR}", *workers)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] > 2
