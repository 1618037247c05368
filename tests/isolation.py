"""Run a test in a process of its own: its function, its fixtures and its asserts.

A test that is marked `isolated` begins in a process in which nothing has run on the twin. It
fails, or is skipped, here as it does there. The marker takes environment variables:

    @pytest.mark.isolated(ASCEND_GLOBAL_LOG_LEVEL="0")
    def test_something() -> None: ...

Without variables the process is forked from one that has imported torch and torch_npu, and
torchair as well if the test's module has. Fixtures are made on both sides: in the other process for
the test, in this one because pytest makes them before it calls the function. A test whose subject
is how a process ends, or the text that it prints, calls `tests.twin.on_twin.run` instead.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

from tests.twin.on_twin import run_forked, run_fresh

__all__ = ["Isolation", "run_item"]

MARKER = "isolated"
RUN = "from tests.isolation import run_item\nrun_item({test!r}, {folder!r})"
REPORTS = "reports.json"


class Isolation:
    """Pytest's plug-in: calls the functions of isolated tests in other processes."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run an isolated test elsewhere, and end as it ended there."""
        marker = pyfuncitem.get_closest_marker(MARKER)
        if marker is None or is_there(pyfuncitem.config):
            return None
        with tempfile.TemporaryDirectory() as folder:
            test = f"{pyfuncitem.path}::{pyfuncitem.nodeid.partition('::')[2]}"
            script = RUN.format(test=test, folder=folder)
            if marker.kwargs:
                done = run_fresh(script, **marker.kwargs)
            else:
                done = run_forked(script, compiles="torchair" in vars(pyfuncitem.module))
            file = Path(folder, REPORTS)
            reports = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
        ends = {outcome: text for outcome, text in reports if outcome != "passed"}
        if "failed" in ends:
            pytest.fail(ends["failed"], pytrace=False)
        if done.returncode or not reports:
            text = f"the process ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
            pytest.fail(text, pytrace=False)
        if "skipped" in ends:
            pytest.skip(ends["skipped"])
        return True


class Recorder:
    """Keeps how the parts of a test ended: each outcome, with its text."""

    def __init__(self) -> None:
        self.reports: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the set-up, the call or the end of the test."""
        text = report.longreprtext
        if isinstance(report.longrepr, tuple):  # of a skipped test: file, line and reason
            text = report.longrepr[2].removeprefix("Skipped: ")
        for title, content in report.sections if report.failed else ():
            text += f"\n--- {title} ---\n{content}"
        self.reports.append((report.outcome, text))


def is_there(config: pytest.Config) -> bool:
    """Say whether this is the other process."""
    return any(isinstance(plugin, Recorder) for plugin in config.pluginmanager.get_plugins())


def run_item(test: str, folder: str) -> None:
    """Run one test in this process, write how its parts ended, and end the process.

    A test that is expected to fail has failed here: the other side knows what to make of it.
    """
    recorder = Recorder()
    options = ["--runxfail", "-p", "no:cacheprovider", f"--basetemp={folder}/temporary"]
    # The fork server has imported hypothesis, whose asserts nobody reads.
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    code = pytest.main([test, *options], plugins=[recorder])
    Path(folder, REPORTS).write_text(json.dumps(recorder.reports), encoding="utf-8")
    sys.exit(code)
