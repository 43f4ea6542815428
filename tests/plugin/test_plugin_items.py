"""Where the items come from, what they are called, and what selects them."""

from __future__ import annotations

import pytest

PAIR = "finance/payment-authorization/pr-58217"
OTHER = "documents/tenant-export/ex-0907"
ATOMS = ("authorization-limit", "payment-amount", "cost-centre-label")
NAMES = [
    "unsafe-full",
    "safe-full",
    *(f"{world}-{setting}[{atom}]" for atom in ATOMS for setting in ("se", "re") for world in ("unsafe", "safe")),
    "boundary",
]
AGENT = "--episem-model=episem/careful"


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_an_empty_directory_has_one_item_a_condition_and_one_a_boundary(pytester, task_file):
    result = pytester.runpytest(AGENT, task_file(PAIR), "--co", "-q")
    assert ids(result) == [f"episem::{PAIR}/{name}" for name in NAMES]


@pytest.mark.slow
def test_the_shipped_suite_has_6052_conditions_and_300_boundaries(pytester):
    result = pytester.runpytest(AGENT, "--co", "-q")
    collected = ids(result)
    assert len(collected) == 6352
    assert sum(name.endswith("/boundary") for name in collected) == 300
    assert sum("-full" in name for name in collected) == 600


def test_repeats_add_whole_rounds_behind_the_first(pytester, task_file):
    result = pytester.runpytest(AGENT, task_file(PAIR), "--episem-repeats=2", "--co", "-q")
    collected = [name.removeprefix(f"episem::{PAIR}/") for name in ids(result)]
    assert collected == [*NAMES[:-1], *(f"{name}/repeat-1" for name in NAMES[:-1]), "boundary"]


@pytest.mark.slow
def test_k_selects_one_domain_alone(pytester):
    result = pytester.runpytest(AGENT, "--co", "-q", "-k", "finance")
    assert ids(result)
    assert all(name.startswith("episem::finance/") for name in ids(result))
    assert sum(name.endswith("/boundary") for name in ids(result)) == 50


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "count"),
    [("/safe-full", 1), ("/unsafe-full", 1), ("boundary", 1), ("payment-amount and /unsafe-se", 1), ("-se", 6)],
)
def test_k_on_one_pair(pytester, task_file, expression, count):
    result = pytester.runpytest(AGENT, task_file(PAIR), "--co", "-q", f"-k={expression}")
    assert len(ids(result)) == count


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("episem", 15),
        ("episem_world(name='safe')", 7),
        ("episem_setting(name='re')", 6),
        ("episem_mask(role='irrelevant')", 4),
        ("episem_domain(name='travel')", 0),
    ],
)
def test_markers_select(pytester, task_file, expression, count):
    result = pytester.runpytest(AGENT, task_file(PAIR), "--co", "-q", f"-m={expression}", "--strict-markers")
    assert len(ids(result)) == count


def test_a_pasted_node_id_selects_its_item(pytester):
    result = pytester.runpytest(AGENT, f"episem::{PAIR}/unsafe-se[authorization-limit]", "-v")
    result.assert_outcomes(passed=1)


def test_a_pasted_task_id_selects_the_whole_pair(pytester):
    result = pytester.runpytest(AGENT, f"episem::{PAIR}")
    result.assert_outcomes(passed=15)


def test_an_unknown_node_id_is_refused_with_the_nearest(pytester):
    result = pytester.runpytest(AGENT, f"episem::{PAIR}/unsafe-ful")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: unknown item '{PAIR}/unsafe-ful'; did you mean '{PAIR}/unsafe-full'?"])


def test_setting_restricts_conditions(pytester, task_file):
    result = pytester.runpytest(AGENT, task_file(PAIR), "--episem-setting=full", "--co", "-q")
    assert ids(result) == [f"episem::{PAIR}/unsafe-full", f"episem::{PAIR}/safe-full"]


def test_the_suite_stands_beside_the_repositorys_tests(pytester, task_file):
    pytester.makepyfile(test_own="def test_mine(): pass")
    result = pytester.runpytest(AGENT, task_file(PAIR))
    result.assert_outcomes(passed=16)


@pytest.mark.parametrize(
    "naming", ["python_functions = check_*", "python_files = check_*.py", "python_classes = Check"]
)
def test_a_repositorys_naming_rules_do_not_empty_the_suite(pytester, task_file, naming):
    pytester.makeini(f"[pytest]\n{naming}")
    pytester.runpytest(AGENT, task_file(PAIR)).assert_outcomes(passed=15)


@pytest.mark.slow
def test_arguments_that_are_only_files_keep_the_suite_away(pytester, task_file):
    own = pytester.makepyfile(test_own="def test_mine(): pass")
    tasks = task_file(PAIR)
    pytester.runpytest(AGENT, tasks, own).assert_outcomes(passed=1)
    pytester.runpytest(AGENT, tasks, f"{own}::test_mine").assert_outcomes(passed=1)
    pytester.runpytest(AGENT, tasks, own, "episem").assert_outcomes(passed=16)
    pytester.runpytest(AGENT, tasks, own, "--episem-collect=on").assert_outcomes(passed=16)
    pytester.runpytest(AGENT, tasks, ".", "--episem-collect=off").assert_outcomes(passed=1)


OWN = """
def test_agent(episem_world, episem_run, episem_oracle):
    episem_oracle.check(episem_run(episem_world))
"""
OWN_ROLLOUT = """
def test_agent(episem_rollout, episem_oracle):
    episem_oracle.check(episem_rollout)
"""
OWN_AGENT = """
def test_agent(episem_agent, episem_world, episem_run, episem_oracle):
    episem_oracle.check(episem_run(episem_world))
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n0",), ("-n2",)])
@pytest.mark.parametrize(
    ("own", "count"), [(OWN, 15), (OWN_ROLLOUT, 15), (OWN_AGENT, 15), ("def test_agent(episem_world): pass", 14)]
)
def test_a_test_of_ones_own_takes_the_suites_place(pytester, task_file, own, count, workers):
    pytester.makepyfile(test_own=own)
    result = pytester.runpytest(AGENT, task_file(PAIR), "-v", *workers)
    result.assert_outcomes(passed=count)
    result.stdout.no_fnmatch_line("*episem::finance*")
    result.stdout.fnmatch_lines([f"*test_own.py::test_agent?{PAIR}/unsafe-full?*"])


def test_an_own_tests_boundary_stands_behind_its_task(pytester, task_file):
    pytester.makepyfile(test_own=OWN_ROLLOUT)
    result = pytester.runpytest(AGENT, task_file(PAIR, OTHER), "--co", "-q")
    names = ids(result)
    places = [position for position, name in enumerate(names) if name.endswith("/boundary")]
    assert [names[place] for place in places] == [f"test_own.py::{task}/boundary" for task in (OTHER, PAIR)]
    assert OTHER in names[places[0] - 1]
    assert PAIR in names[places[1] - 1]
    assert places[1] == len(names) - 1


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_two_own_tests_of_the_same_conditions_are_refused(pytester, task_file, workers):
    pytester.makepyfile(test_one=OWN, test_two=OWN)
    result = pytester.runpytest(AGENT, task_file(PAIR), *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    output = "\n".join(result.outlines + result.errlines)
    assert "would run the same conditions" in output
    assert "Traceback" not in output


def test_an_overridden_agent_is_the_one_that_plays(pytester, task_file):
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def episem_agent():
            return lambda episode: "I stop here.\\nDisposition: stopped"
        """
    )
    result = pytester.runpytest(task_file(PAIR), "--episem-collect=on", "-q")
    result.assert_outcomes(passed=10, failed=5)  # (safe, full) and four (re, critical) want more than stopping
    result.stdout.fnmatch_lines(["*no legal completion: the operation was permitted, the agent stopped*"])


@pytest.mark.slow
def test_own_tests_with_an_own_agent_need_no_option(pytester):
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def episem_agent():
            return lambda episode: "Disposition: stopped"
        """
    )
    pytester.makepyfile(test_own=OWN_ROLLOUT)
    for workers in ((), ("-n2",)):
        result = pytester.runpytest("-k", "pr-58217", *workers)
        result.assert_outcomes(passed=10, failed=5)
        result.stdout.fnmatch_lines(["records: .episem/*"])
