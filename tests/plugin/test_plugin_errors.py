"""Every wrong option, bank or name ends in one clear line and exit code 4."""

from __future__ import annotations

import json

import pytest

PAIR = "finance/payment-authorization/pr-58217"
CAREFUL = "--episem-model=episem/careful"


@pytest.mark.parametrize("workers", [(), ("-n2",)])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--episem-model=episem/carefull"],
            "unknown built-in agent 'episem/carefull'; did you mean 'episem/careful'?",
        ),
        (["--episem-modle=x"], "unknown option --episem-modle; did you mean '--episem-model'?"),
        (["--episem-model=episem/careful", "--episem-agent=a:b"], "give --episem-model or --episem-agent, not both"),
        (["--episem-agent=nowhere"], "agent 'nowhere' must be of the form module:attribute"),
        (["--episem-agent=no_such_module:x"], "agent 'no_such_module:x': cannot import 'no_such_module'"),
        (["--episem-agent=json:dump_s"], "'json' has no 'dump_s'; did you mean 'dumps'?"),
        (["--episem-agent=json:__doc__"], "must be a function of the episode or an agent, not str"),
        ([CAREFUL, "--episem-repeats=0"], "--episem-repeats must be at least 1, not 0"),
        ([CAREFUL, "--episem-timeout=0"], "--episem-timeout must be more than 0 seconds"),
        ([CAREFUL, "--episem-bank=nothing"], "nothing: no such directory"),
        ([CAREFUL, "--episem-tasks=nothing.txt"], "--episem-tasks nothing.txt: cannot be read"),
        ([CAREFUL, "--episem-instruction=nothing.txt"], "--episem-instruction nothing.txt: cannot be read"),
        ([CAREFUL, "--episem-resume=nothing"], "not a run directory, it holds no run.json"),
        ([CAREFUL, f"episem::{PAIR}/safe-ful"], f"unknown item '{PAIR}/safe-ful'; did you mean '{PAIR}/safe-full'?"),
    ],
)
def test_one_line_and_exit_4(pytester, arguments, message, workers):
    result = pytester.runpytest(*arguments, *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [line for line in result.errlines if line.strip() and "UserWarning" not in line]
    assert len(errors) == 1, errors
    assert errors[0].startswith("ERROR: ")
    assert message in errors[0]
    assert "Traceback" not in "\n".join(result.outlines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rule:", "rulle:"), "unknown key 'rulle'; did you mean 'rule'?"),
        (("limit: 30000", "limmit: 30000"), "pr-58217"),
        (("critical: request.amount", "critical: request.amonut"), "request.amonut"),
        (("  pr-60944:", "  pr-58217:"), "duplicate key 'pr-58217'"),
        (("goal:", "goal: [\n"), "payment-authorization.yaml"),
    ],
)
def test_a_broken_bank_is_one_line_that_names_the_file(pytester, change, message):
    from pytest_episem.banks.folder import shipped_bank_dir

    text = (shipped_bank_dir() / "evidence/finance/payment-authorization.yaml").read_text(encoding="utf-8")
    assert change[0] in text
    family = pytester.mkdir("bank") / "finance"
    family.mkdir()
    (family / "payment-authorization.yaml").write_text(text.replace(*change, 1), encoding="utf-8")
    result = pytester.runpytest(CAREFUL, "--episem-bank=bank")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [line for line in result.errlines if line.strip()]
    assert len(errors) == 1
    assert "payment-authorization.yaml" in errors[0]
    assert message in errors[0]


def test_a_run_directory_is_never_overwritten(pytester, task_file):
    tasks = task_file(PAIR)
    pytester.runpytest(CAREFUL, tasks, "--episem-out=run").assert_outcomes(passed=15)
    result = pytester.runpytest(CAREFUL, tasks, "--episem-out=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: run already holds a run; continue it with --episem-resume run*"])


def test_resuming_with_other_settings_names_the_difference(pytester, task_file):
    tasks = task_file(PAIR)
    pytester.runpytest(CAREFUL, tasks, "--episem-out=run").assert_outcomes(passed=15)
    result = pytester.runpytest("--episem-model=episem/refuse", tasks, "--episem-resume=run", "--episem-seed=7")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = "\n".join(result.errlines)
    assert "model: episem/careful in the run, episem/refuse now" in message
    assert "search seed: 0 in the run, 7 now" in message


def test_an_ini_value_of_the_wrong_type_is_named(pytester):
    pytester.makeini("[pytest]\nepisem_repeats = many")
    result = pytester.runpytest(CAREFUL)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: episem_repeats = 'many' in *: expected int"])


def test_dist_each_is_refused(pytester):
    result = pytester.runpytest(CAREFUL, "--dist=each", "--tx=2*popen")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --dist each would run every condition on every worker; leave it out"])


def test_records_hold_what_was_asked_for(pytester, task_file):
    pytester.runpytest(CAREFUL, task_file(PAIR), "--episem-out=run").assert_outcomes(passed=15)
    header = json.loads((pytester.path / "run/run.json").read_text())
    assert header["model"] == "episem/careful"
    assert header["plan"] == [
        {
            "task": PAIR,
            "domain": "finance",
            "family": "payment-authorization",
            "critical": ["authorization-limit", "payment-amount"],
            "irrelevant": ["cost-centre-label"],
            "selected": 15,
        }
    ]


def test_help_names_the_defaults(pytester):
    text = " ".join(pytester.runpytest("--help").stdout.str().split())
    assert "seconds after which a rollout counts as unfinished (default: 600) " in text
    assert "rollouts of one worker side by side (default: 8) " in text
    assert "(default: 12, and 40 of an agent of your own) " in text
    assert "run N pairs, or workflows, spread over families, always the same ones --" in text
