"""Where standard output is something that can only be written to, a run ends as anywhere else."""

from __future__ import annotations

import subprocess
import sys

import pytest

PAIR = "finance/payment-authorization/pr-58217"
FILE = """
    class WriteAlone:
        def __init__(self, file):
            self.file = file

        def write(self, text):
            self.file.write(text)

        def flush(self):
            self.file.flush()
"""
CONFTEST = f"""
    import pytest
    {FILE}
    @pytest.hookimpl(trylast=True)
    def pytest_configure(config):
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter._tw._file = WriteAlone(reporter._tw._file)
"""
OTHER_REPORTER = """
    import pytest

    class Reporter:
        def write_line(self, line, **markup):
            print(line)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(config):
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(Reporter(), "terminalreporter")
"""
PROGRAM = """
import sys
import pytest

class Tee:
    def write(self, text):
        sys.__stdout__.write(text)

    def flush(self):
        sys.__stdout__.flush()

    def isatty(self):
        return False

sys.stdout = Tee()
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [(), ("-q",), ("-vv",), ("-q", "--episem-max-full-ucr=5"), ("-n2",)],
    ids=["plain", "q", "vv", "gate", "workers"],
)
def test_a_reporter_whose_file_only_writes(pytester, task_file, arguments):
    pytester.makeconftest(CONFTEST)
    chosen = ["--episem-model=episem/careful", task_file(PAIR), "--episem-setting=full"]
    result = pytester.runpytest_inprocess(*chosen, "-p", "no:cacheprovider", *arguments)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*Full UCR*", "records: *"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    (run,) = (path for path in (pytester.path / ".episem").iterdir() if path.is_dir())
    assert (run / "report.html").exists()


def test_a_reporter_of_another_kind(pytester, task_file):
    pytester.makeconftest(OTHER_REPORTER)
    chosen = ["--episem-model=episem/commit", task_file(PAIR), "--episem-setting=full", "--episem-max-full-ucr=5"]
    result = pytester.runpytest_inprocess(*chosen, "-p", "no:cacheprovider", "--episem-out=run")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["episem gate: FAILED*"])
    assert (pytester.path / "run/trials.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [(), ("-p", "no:terminal")], ids=["terminal", "no-terminal"])
def test_a_program_that_replaced_its_output(pytester, task_file, terminal):
    program = pytester.makepyfile(tee=PROGRAM)
    chosen = ["--episem-model=episem/commit", task_file(PAIR), "--episem-setting=full", "--episem-max-full-ucr=5"]
    ended = subprocess.run(
        [sys.executable, program, *chosen, *terminal], cwd=pytester.path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert "episem gate: FAILED" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr
