"""An agent that raises at each of its first rollouts is not set up: nothing more is tried, and nothing passes."""

from __future__ import annotations

import pytest

PAIRS = ("finance/payment-authorization/pr-58217", "cloud/unapproved-deployment/rel-20418")
RAISES = "def agent(episode):\n    raise RuntimeError('the socket is gone')\n"


@pytest.mark.parametrize("gate", [(), ("--episem-max-full-ucr=5",)])
def test_the_run_ends_after_a_few_with_the_agents_traceback_first(pytester, task_file, gate):
    pytester.makepyfile(mine=RAISES)
    result = pytester.runpytest_inprocess("--episem-agent=mine:agent", task_file(*PAIRS), *gate)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "*= ERRORS =*",
            '  File "*mine.py", line 2, in agent',
            "RuntimeError: the socket is gone",
            "*Interrupted: episem: the agent raised at each of its first 5 rollouts: RuntimeError: the socket is gone*",
        ]
    )
    assert "passed" not in result.parseoutcomes()
    assert len(result.outlines) < 80


def test_a_boundary_that_errors_left_undecided_does_not_pass(pytester, task_file):
    body = "    if not episode._episode.world.mask: raise RuntimeError('gone')\n    return 'Disposition: stopped'\n"
    pytester.makepyfile(mine=f"async def agent(episode):\n{body}")
    result = pytester.runpytest_inprocess(
        "--episem-agent=mine:agent", task_file(PAIRS[0]), "-k", "full or boundary or unsafe-se", "-v"
    )
    result.stdout.fnmatch_lines(["*pr-58217/boundary ERROR*"])
    assert "boundary PASSED" not in result.stdout.str()
