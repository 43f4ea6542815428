"""What a run says of itself at its end: the summary in the terminal, the report's files, GitHub's page of the step."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_episem.errors import EpisemError
from pytest_episem.plugin.options import runs_nothing
from pytest_episem.plugin.run_log import RunLog
from pytest_episem.plugin.screen import drawing
from pytest_episem.runs.run_dir import open_run
from pytest_episem.text import printable

if TYPE_CHECKING:
    from pytest_episem.report.tables import Table
    from pytest_episem.report.write import Written
    from pytest_episem.runs.run_dir import Run


class RunReport:
    """Reports the records of one run."""

    def __init__(self, log: RunLog) -> None:
        self.log = log
        self.choices = log.choices
        self._written: tuple[list[int], Written] | None = None

    def close(self) -> None:
        """Report what was recorded since the summary was shown, also to a step of GitHub Actions."""
        if self._speaks and self._recorded:
            with contextlib.suppress(EpisemError):  # the summary has said so
                add_to_step_summary(self.write())

    @property
    def _speaks(self) -> bool:
        return self.log.selected and not self.choices.config.option.collectonly

    @property
    def _recorded(self) -> bool:
        return self.log.holds_records

    def write(self) -> Written:
        """Write the run's report files, unless they already speak of all its records.

        Raises:
            EpisemError: the records are not sound, or a file cannot be written.
        """
        from pytest_episem.report.write import write_reports

        sizes = [file.stat().st_size for file in sorted(self.log.directory.glob("*.jsonl"))]
        if self._written is None or self._written[0] != sizes:
            chosen, home = self.choices.suites, self.log.directory
            banks, others = ([self.choices.bank(name)] if name in chosen else [] for name in ("evidence", "workflows"))
            try:
                written = write_reports([home], home, banks, self.log.gates, workflow_banks=others, more=self._more)
            except EpisemError:
                raise
            except Exception as fault:  # a fault of ours in a picture must not cost the session its verdict
                raise EpisemError(f"{type(fault).__name__}: {printable(fault)}") from fault
            self._written = sizes, written
        return self._written[1]

    def _more(self, run: Run) -> list[Table]:
        config = self.choices.config
        given = config.hook.pytest_episem_report_tables(config=config, run=run)
        return [table for tables in given for table in tables]

    def show(self, reporter: Any) -> None:
        """Print what the run's records say, what is missing, and where they are."""
        if not self._speaks:
            return
        reporter.section("episem", sep="=", bold=True)
        recorded = self._recorded
        if recorded:
            try:
                self._show_summary(reporter)
            except EpisemError as error:
                reporter.write_line(f"no summary: {error}", red=True)
        if left := self.log.left_running:
            reporter.write_line(
                f"{left} {'rollout' if left == 1 else 'rollouts'} did not end within --episem-timeout and ran in a "
                "thread, which nobody can end: what it still does counts for nothing, but may cost"
            )
        for complaint in self.log.complaints():
            reporter.write_line(complaint, red=True)
        missing = self.log.missing()
        if missing and not runs_nothing(self.choices.config):
            reporter.write_line(f"{len(missing)} collected items have no record, the first: {missing[0]}", red=True)
        if self.log.unwritable:
            reporter.write_line(printable(self.log.unwritable), red=True)
        if recorded:
            reporter.write_line(f"records: {self._directory}")

    def _show_summary(self, reporter: Any) -> None:
        lines, where = self._lines(drawing(reporter))
        for line in lines:
            reporter.write_line(line)
        reporter.write_line(where)

    def _lines(self, page: tuple[int, bool, int, bool]) -> tuple[list[str], str]:
        from pytest_episem.evidence.metrics.summary import summarize
        from pytest_episem.report.terminal import summary_lines
        from pytest_episem.report.workflow_terminal import workflow_lines

        try:
            written = self.write()
        except EpisemError as error:
            if "evidence" not in self.choices.suites:
                raise
            summary = summarize(open_run(self.log.directory, events=False))
            return summary_lines(summary, *page), f"no report: {error}"
        lines: list[str] = []
        for _, summary in written.runs:
            lines += summary_lines(summary, *page)
        for _, workflows in written.workflows:
            lines += [*([""] if lines else []), *workflow_lines(workflows, *page)]
        return lines, f"report:  {self._directory / written.html.name}"

    @property
    def _directory(self) -> Path:
        here, home = self.choices.config.invocation_params.dir, self.log.directory
        return home.relative_to(here) if home.is_relative_to(here) else home


def add_to_step_summary(written: Written) -> None:
    """Add the Markdown report to the page of a GitHub Actions step, where there is one."""
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if page:
        text = (written.directory / "report.md").read_text(encoding="utf-8")
        with contextlib.suppress(OSError), open(page, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")
