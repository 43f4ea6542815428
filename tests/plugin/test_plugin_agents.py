"""Whose number it is: the agent that plays is the agent on record, and one trial counts for one item."""

from __future__ import annotations

import json
import sys

import pytest

PAIR = "finance/payment-authorization/pr-58217"
CAREFUL = "--episem-model=episem/careful"
KNOWN = """
import pytest
from pytest_episem.agents import known_agent

@pytest.fixture(scope="session"{scope})
def episem_agent({arguments}):
    {body}
"""
OWN = """
def test_agent(episem_world, episem_run, episem_oracle):
    episem_oracle.check(episem_run(episem_world))
"""
TWO = KNOWN.format(
    scope=', params=["episem/careful", "episem/commit"]', arguments="request", body="return known_agent(request.param)"
)
STOPS = KNOWN.format(scope="", arguments="", body='return lambda episode: "Disposition: stopped"')
NAMED = KNOWN.format(scope="", arguments="", body='return known_agent("episem/commit")')


def run_json(pytester: pytest.Pytester, directory: str = "run") -> dict:
    return json.loads((pytester.path / directory / "run.json").read_text(encoding="utf-8"))


def names(pytester: pytest.Pytester, directory: str = "run") -> set[str]:
    lines = (pytester.path / directory / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    return {json.loads(line)["model"] for line in lines}


def refused(result: pytest.RunResult, *texts: str) -> None:
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [line for line in result.errlines if line.strip()]
    assert len(errors) == 1, errors
    assert all(text in errors[0] for text in texts), errors


# One trial counts for one item


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_fixture_with_two_agents_is_refused(pytester, task_file, workers):
    pytester.makeconftest(TWO)
    pytester.makepyfile(test_agent=OWN)
    result = pytester.runpytest(task_file(PAIR), "-k", "/safe-full", "--episem-out=run", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = "\n".join(result.errlines + result.outlines)
    assert "'episem/careful'" in text
    assert "'episem/commit'" in text
    assert "one trial would count for another" in text
    assert [path.name for path in (pytester.path / "run").iterdir()] == ["run.json"]
    assert "one trial would count for another" in run_json(pytester)["session"]["complaints"][0]


@pytest.mark.slow
def test_a_refused_session_fails_the_gate_that_is_asked_next_and_leaves_the_directory_free(pytester, task_file):
    pytester.makeconftest(TWO)
    pytester.makepyfile(test_agent=OWN)
    chosen = (task_file(PAIR), "-k", "/safe-full", "--episem-out=run")
    pytester.runpytest_inprocess(*chosen)
    gate = pytester.run(sys.executable, "-m", "pytest_episem.cli", "gate", "run", "--max-full-ucr=100")
    assert gate.ret == 1
    gate.stdout.fnmatch_lines(["episem gate: FAILED*one trial would count for another*"])
    pytester.makeconftest(NAMED)
    pytester.runpytest_inprocess(*chosen).assert_outcomes(passed=1)
    assert names(pytester) == {"episem/commit"}


def test_no_selection_mixes_two_agents_in_one_run(pytester, task_file):
    pytester.makeconftest(TWO)
    pytester.makepyfile(test_agent=OWN)
    mixed = "(careful and /safe-full) or (commit and /unsafe-full)"
    refused(pytester.runpytest_inprocess(task_file(PAIR), "-k", mixed), "one trial would count for another")


@pytest.mark.slow
def test_one_of_two_agents_is_recorded_under_its_name(pytester, task_file):
    pytester.makeconftest(TWO)
    pytester.makepyfile(test_agent=OWN)
    chosen = ("-k", "commit and /unsafe-full", task_file(PAIR))
    pytester.runpytest_inprocess(*chosen, "--episem-out=run").assert_outcomes(failed=1)
    assert run_json(pytester)["agent"] == "episem/commit [episem/commit]"
    assert names(pytester) == {"episem/commit [episem/commit]"}
    other = pytester.runpytest_inprocess(
        "-k", "careful and /unsafe-full", task_file(PAIR), "--episem-resume=run", plugins=()
    )
    assert other.ret == pytest.ExitCode.USAGE_ERROR
    other.stdout.fnmatch_lines(["*episem/careful ?episem/careful? plays, the run that is resumed is of episem/commit*"])
    assert names(pytester) == {"episem/commit [episem/commit]"}


def test_a_fixture_with_params_cannot_play_the_shipped_items(pytester, task_file):
    pytester.makeconftest(TWO)
    result = pytester.runpytest_inprocess(task_file(PAIR), "--episem-collect=on")
    refused(result, "the fixture episem_agent in conftest.py has params", "episem compare")


@pytest.mark.parametrize(
    "repeat",
    [
        'metafunc.fixturenames.append("step"); metafunc.parametrize("step", range(2))',  # as pytest-repeat does
        'metafunc.fixturenames.append("step"); metafunc.parametrize("step", [1, 2], ids=["", " "])',
    ],
)
def test_a_plugin_that_multiplies_items_is_refused(pytester, task_file, repeat):
    pytester.makeconftest(STOPS + f"\n\ndef pytest_generate_tests(metafunc):\n    {repeat}\n")
    pytester.makepyfile(test_agent=OWN)
    refused(pytester.runpytest_inprocess(task_file(PAIR)), "test_agent.py::test_agent would play conditions")


def test_items_that_a_plugin_doubles_are_refused(pytester, task_file):
    pytester.makeconftest("def pytest_collection_modifyitems(items):\n    items += items\n")
    refused(pytester.runpytest_inprocess(task_file(PAIR), CAREFUL), "a plugin that repeats tests")


# Who played


@pytest.mark.parametrize("own", [None, OWN])
@pytest.mark.parametrize("place", [".", "tests"])
def test_an_override_beside_an_option_is_refused(pytester, task_file, own, place):
    folder = pytester.path / place
    folder.mkdir(exist_ok=True)
    (folder / "conftest.py").write_text(NAMED)
    if own:
        (folder / "test_agent.py").write_text(own)
    result = pytester.runpytest_inprocess(task_file(PAIR), CAREFUL)
    refused(result, "conftest.py would play, and the run be recorded as episem/careful: leave out --episem-model")


def test_a_parametrization_that_replaces_the_fixture_is_refused_beside_an_option(pytester, task_file):
    head = 'import pytest\n@pytest.mark.parametrize("episem_agent", [lambda episode: "Disposition: stopped"])'
    pytester.makepyfile(test_agent=head + OWN)
    refused(pytester.runpytest_inprocess(task_file(PAIR), CAREFUL), "would play", "parametrization of a test")


def test_a_fixture_that_wraps_the_agent_named_plays_under_a_name_that_says_so(pytester, task_file):
    body = 'return lambda episode: episem_agent.play(episode) or ""'
    pytester.makeconftest(KNOWN.format(scope="", arguments="episem_agent", body=body))
    run = ("-k", "/unsafe-full", task_file(PAIR), CAREFUL)
    pytester.runpytest_inprocess(*run, "--episem-out=run").assert_outcomes(passed=1)
    assert (run_json(pytester)["model"], run_json(pytester)["agent"]) == (
        None,
        "episem/careful in episem_agent fixture",
    )
    assert names(pytester) == {"episem/careful in episem_agent fixture"}


def test_a_fixture_that_hands_the_agent_named_on_changes_no_name(pytester, task_file):
    pytester.makeconftest(KNOWN.format(scope="", arguments="episem_agent", body="return episem_agent"))
    run = ("-k", "/unsafe-full", task_file(PAIR), CAREFUL)
    pytester.runpytest_inprocess(*run, "--episem-out=run").assert_outcomes(passed=1)
    assert (run_json(pytester)["model"], run_json(pytester)["agent"]) == ("episem/careful", None)


@pytest.mark.slow
def test_an_agents_own_name_is_on_record_also_from_workers(pytester, task_file):
    pytester.makeconftest(NAMED)
    run = (task_file(PAIR), "--episem-collect=on", "-k", "/unsafe-full", "--episem-out=run")
    pytester.runpytest(*run, "-n1").assert_outcomes(failed=1)
    assert (run_json(pytester)["model"], run_json(pytester)["agent"]) == (None, "episem/commit")
    assert names(pytester) == {"episem/commit"}


def test_a_name_given_is_on_record(pytester, task_file):
    run = ("-k", "/unsafe-full", task_file(PAIR), CAREFUL, "--episem-name=careful, new prompt")
    result = pytester.runpytest_inprocess(*run, "--episem-out=run")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["careful, new prompt · *"])
    assert (run_json(pytester)["model"], run_json(pytester)["agent"]) == ("episem/careful", "careful, new prompt")
    assert names(pytester) == {"careful, new prompt"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((CAREFUL, "--episem-model=episem/commit"), "--episem-model names episem/careful and episem/commit"),
        (("--episem-agent=a:b", "--episem-agent=c:d"), "--episem-agent names a:b and c:d"),
        (
            ("--episem-suite=all", CAREFUL, "--episem-model=episem/joint", "--episem-model=episem/stop"),
            "--episem-model names episem/careful and episem/joint",
        ),
        ((CAREFUL, "--episem-name= "), "--episem-name is empty"),
    ],
)
def test_a_second_agent_is_refused(pytester, options, text):
    refused(pytester.runpytest_inprocess(*options), text)


def test_the_same_agent_twice_is_one(pytester, task_file):
    pytester.runpytest_inprocess(CAREFUL, CAREFUL, task_file(PAIR), "-k", "/safe-full").assert_outcomes(passed=1)


# Where the shipped items hang


def test_they_hang_under_the_conftest_that_overrides_the_agent(pytester, task_file):
    tests = pytester.mkdir("tests")
    (tests / "conftest.py").write_text(NAMED + "\n\ndef pytest_runtest_setup(item):\n    print('BELOW', item.name)\n")
    pytester.makeconftest("def pytest_runtest_setup(item):\n    print('ROOT', item.name)\n")
    run = (task_file(PAIR), "--episem-collect=on", "-k", "/unsafe-full", "--episem-out=run", "-s")
    result = pytester.runpytest_inprocess(*run)
    result.assert_outcomes(failed=1)
    assert names(pytester) == {"episem/commit"}
    output = result.stdout.str()
    assert f"ROOT {PAIR}/unsafe-full" in output
    assert f"BELOW {PAIR}/unsafe-full" in output


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_two_directories_that_override_the_agent_are_refused(pytester, task_file, workers):
    for name in ("one", "other"):
        folder = pytester.mkpydir(name)
        (folder / "conftest.py").write_text(STOPS)
        (folder / "test_x.py").write_text("def test_x(): pass")
    result = pytester.runpytest(task_file(PAIR), "--episem-collect=on", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = "\n".join(result.errlines + result.outlines)
    assert "one/conftest.py and other/conftest.py both override episem_agent" in text


def test_without_an_agent_there_is_one_error(pytester):
    refused(pytester.runpytest_inprocess("--episem-collect=on"), "no agent under test: give --episem-model")


# What is ours is known by its own data, not by its node id


@pytest.mark.slow
@pytest.mark.parametrize("selection", ["--episem-setting=re", "-kpr-58217 and unsafe-se"])
def test_workers_tell_of_own_tests_whatever_is_selected(pytester, task_file, selection):
    pytester.makeconftest(STOPS)
    pytester.makepyfile(test_agent=OWN)
    result = pytester.runpytest(task_file(PAIR), selection, "-n2")
    result.stdout.fnmatch_lines(["episem_agent fixture · *", "records: .episem/*"])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_what_others_add_to_a_node_id_makes_no_stranger(pytester, task_file, workers):
    pytester.makeconftest(
        """
        def pytest_collection_modifyitems(items):
            for item in items:
                longer = f"{item.nodeid}@slow"
                if hasattr(item, "_id"):  # pytest 9.2
                    item._id = type(item._id).parse(longer)
                else:
                    item._nodeid = longer
        """
    )
    gates = ("--episem-max-full-ucr=0", "--episem-setting=full", "-v")
    result = pytester.runpytest(task_file(PAIR), CAREFUL, *gates, *workers)
    result.stdout.fnmatch_lines(["*safe-full@slow*"])
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*episem gate: PASSED*"])


def test_more_items_are_never_left_out_than_were_found(pytester, task_file):
    pytester.makeconftest(STOPS)
    pytester.makepyfile(test_agent=OWN)
    result = pytester.runpytest_inprocess(task_file(PAIR), "-k", "/safe-full")
    result.stdout.fnmatch_lines(["collected 15 items / 14 deselected / 1 selected"])


def test_a_pasted_node_id_counts_as_one_item(pytester):
    named = pytester.runpytest_inprocess(CAREFUL, f"episem::{PAIR}/safe-full")
    named.stdout.fnmatch_lines(["collected 1 item"])


def test_the_path_of_the_items_leads_up_to_the_root(pytester, task_file):
    pytester.makeconftest(
        """
        def pytest_collection_finish(session):
            for node in {item.parent for item in session.items}:
                assert session.config.rootpath in node.path.parents
        """
    )
    pytester.runpytest_inprocess(task_file(PAIR), CAREFUL, "-k", "/safe-full").assert_outcomes(passed=1)


# What nobody told is unknown


@pytest.mark.parametrize(
    ("tells", "recorded", "said"), [("pass", None, "requests unknown"), ("episode.usage(requests=2)", 2, "2 requests")]
)
def test_requests_that_an_own_agent_does_not_tell_are_unknown_and_not_none(pytester, task_file, tells, recorded, said):
    pytester.makepyfile(mine=f"def agent(episode):\n    {tells}\n    return 'Disposition: stopped'\n")
    result = pytester.runpytest_inprocess(
        "--episem-agent=mine:agent", task_file(PAIR), "-k", "/unsafe-full", "--episem-out=run", "-v"
    )
    (line,) = (pytester.path / "run" / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["usage"]["requests"] == recorded
    assert said in result.stdout.str()


def test_the_search_of_an_own_test_is_played_with_the_fixtures_of_the_test(pytester, task_file):
    """A prompt may make the agent what it is: without it the boundary would be another agent's."""
    pytester.makepyfile(
        test_own="""
        import pytest
        from pytest_episem.agents import known_agent

        WHO = ["careful"]

        class Agent:
            name, turn_limit = "mine", 12

            def play(self, episode):
                known_agent("episem/" + WHO[0]).play(episode)

        @pytest.fixture(scope="session")
        def episem_agent():
            return Agent()

        @pytest.fixture
        def prompt():
            WHO[0] = "shallow"
            yield
            WHO[0] = "careful"

        @pytest.fixture
        def world(prompt, episem_world):
            return episem_world

        def test_agent(prompt, world, episem_run):
            episem_run(world)
        """
    )
    two = "commerce/stale-address/pk-71206"
    pytester.runpytest_inprocess(task_file(two), "--episem-out=run")
    report = json.loads((pytester.path / "run" / "report.json").read_text(encoding="utf-8"))
    critical = len(run_json(pytester)["plan"][0]["critical"])
    # One unseen fact: it escalates; two: it commits. So m is 2 of c + 1.
    assert critical >= 2
    assert report["six"]["sbm"]["value"] == pytest.approx(100 * 2 / (critical + 1))
