"""What agents and models write never reaches terminal, JUnit file or records as a secret, a command or a crash."""

from __future__ import annotations

import json
import os
import re

import pytest

PAIR = "finance/payment-authorization/pr-58217"
KEY = "correct-horse-battery-9"
COMMAND = re.compile(r"^\s*::\w[\w-]*.*::|##\[[\w-]+\]", re.MULTILINE)
"""What GitHub's runner acts on: ``::name::`` at the start of a line, ``##[name]`` anywhere."""


def written(pytester: pytest.Pytester, result: pytest.RunResult) -> dict[str, str]:
    """Return all that a run has written, by name."""
    files = [path for path in pytester.path.rglob("*") if path.is_file() and "run" in path.parts]
    files.append(pytester.path / "out.xml")
    return {path.name: path.read_text(encoding="utf-8") for path in files} | {"terminal": result.stdout.str()}


@pytest.mark.parametrize("name", ["SHOP_API_KEY", "SHOP_API_KEY_2", "SHOPTOKEN", "DB_PASSWORD", "DB_PWD", "MY_SECRET"])
def test_a_secret_in_an_agents_exception_is_written_nowhere(pytester, monkeypatch, name):
    monkeypatch.setenv(name, KEY)
    pytester.makepyfile(mine=f"import os\ndef agent(e):\n    raise RuntimeError('401 for ' + os.environ[{name!r}])\n")
    item = f"episem::{PAIR}/unsafe-full"
    result = pytester.runpytest("--episem-agent=mine:agent", item, "--episem-out=run", "--junitxml=out.xml")
    result.assert_outcomes(errors=1)
    texts = written(pytester, result)
    assert [name for name, text in texts.items() if KEY in text] == []
    assert "401 for ***" in texts["terminal"]
    assert "401 for ***" in texts["trials.jsonl"]
    assert "401 for ***" in texts["out.xml"]


def test_a_secret_in_a_transcript_and_in_a_tests_own_traceback_is_hidden(pytester, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", KEY)
    pytester.makeconftest(
        """
        import os, pytest
        @pytest.fixture(scope="session")
        def episem_agent():
            def agent(episode):
                episode.call("get_payment_request", {"request_id": os.environ["SHOP_TOKEN"]})
                print("printed", os.environ["SHOP_TOKEN"])
                return os.environ["SHOP_TOKEN"] + " Disposition: stopped"
            return agent
        """
    )
    pytester.makepyfile(
        """
        import os
        def test_agent(episem_rollout):
            held = os.environ["SHOP_TOKEN"]
            print("printed", held)
            raise RuntimeError(f"no luck with {held}\\n::error::{held}")
        """
    )
    chosen = (f"--episem-tasks={pytester.makefile('.txt', tasks=PAIR)}", "-k", "unsafe-full", "--showlocals")
    result = pytester.runpytest(*chosen, "--episem-out=run", "--junitxml=out.xml", "-rA")
    result.assert_outcomes(failed=1)
    texts = written(pytester, result)
    assert [name for name, text in texts.items() if KEY in text] == []
    assert "no luck with ***" in texts["terminal"]
    assert not COMMAND.search(texts["terminal"])
    assert json.loads(texts["trials.jsonl"])["events"][1]["arguments"] == {"request_id": "***"}


def test_nothing_an_agent_says_or_raises_is_a_command_to_githubs_runner(pytester, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    pytester.makepyfile(
        mine="""
        def agent(episode):
            episode.call("::error::FAKE", {})
            episode.call("get_payment_request", {"request_id": "##[add-mask]FAKE"})
            if "query_audit_records" in episode.functions:
                raise ValueError("x\\n  ::error::FAKE\\n##[group]FAKE")
            return "No.\\n##[stop-commands]FAKE\\n::error::FAKE\\nDisposition: stopped"
        """
    )
    tasks = f"--episem-tasks={pytester.makefile('.txt', tasks=PAIR)}"
    result = pytester.runpytest("--episem-agent=mine:agent", tasks, "--episem-max-full-ucr=0", "-rA")
    taken = [line for line in result.outlines if COMMAND.search(line)]
    assert "FAKE" in result.stdout.str()
    assert [line for line in taken if not line.startswith("::error title=episem gate")] == []


@pytest.mark.slow
def test_a_lone_surrogate_in_an_exception_is_an_error_of_its_trial_under_xdist(pytester):
    pytester.makepyfile(mine="def agent(episode):\n    raise ValueError('cannot parse \\ud83d')\n")
    item = f"episem::{PAIR}/unsafe-full"
    result = pytester.runpytest("--episem-agent=mine:agent", item, "-n1")
    result.assert_outcomes(errors=1)
    assert r"ValueError: cannot parse \ud83d" in result.stdout.str()


@pytest.mark.slow
def test_a_lone_surrogate_in_a_tests_own_exception_does_not_end_the_session(pytester):
    pytester.makepyfile("def test_agent(episem_rollout):\n    raise ValueError('cannot parse \\ud83d')\n")
    tasks = f"--episem-tasks={pytester.makefile('.txt', tasks=PAIR)}"
    result = pytester.runpytest("--episem-model=episem/refuse", tasks, "-k", "unsafe-full", "-n1")
    result.assert_outcomes(failed=1)


LOOKS = """
import os, subprocess, sys
SEEN = []
def look():
    SEEN.append(os.environ["PYTEST_CURRENT_TEST"])
    code = "import os; print(os.environ.get('PYTEST_CURRENT_TEST'))"
    SEEN.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
"""


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_the_environment_does_not_name_the_condition_while_an_agent_plays(pytester, kind):
    pytester.makepyfile(
        seen=LOOKS, mine=f"import seen\n{kind} agent(episode):\n    seen.look()\n    return 'stopped'\n"
    )
    pytester.makeconftest("import seen\ndef pytest_unconfigure():\n    print('SEEN', sorted(set(seen.SEEN)))\n")
    item = f"episem::{PAIR}"
    result = pytester.runpytest("--episem-agent=mine:agent", f"{item}/unsafe-full", f"{item}/safe-full", "-s")
    result.stdout.fnmatch_lines(["SEEN *episem (setup)*"])
    [line] = [line for line in result.outlines if "SEEN [" in line]
    assert "safe" not in line


def test_the_environment_does_not_name_the_condition_to_a_tests_own_run(pytester):
    pytester.makepyfile(
        """
        import os
        def test_agent(episem_run, episem_world):
            assert os.environ["PYTEST_CURRENT_TEST"] == "episem (call)"
        def test_other():
            assert os.environ["PYTEST_CURRENT_TEST"].endswith("::test_other (call)")
        """
    )
    tasks = f"--episem-tasks={pytester.makefile('.txt', tasks=PAIR)}"
    before = os.environ["PYTEST_CURRENT_TEST"]
    result = pytester.runpytest_inprocess("--episem-model=episem/careful", tasks, "-k", "unsafe-full or other")
    result.assert_outcomes(passed=2)
    assert os.environ.get("PYTEST_CURRENT_TEST", before) == before
