"""Report of a process that runs the tests of a module: a line of JSON for each step."""

from __future__ import annotations

import faulthandler
import json
import time
import traceback
import unittest
from typing import TYPE_CHECKING, Any

from tests.upstream.results import is_about

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path
    from types import ModuleType, TracebackType

    Raised = tuple[type[BaseException], BaseException, TracebackType]

__all__ = ["Report", "run_tests"]


class Report(unittest.TestResult):
    """Writes when a test begins and what becomes of it.

    A test that takes longer than `limit` seconds ends the process. `settle` waits for what a test
    has enqueued: an error that it raises is the test's, not that of the next one.
    """

    def __init__(self, path: Path, *, limit: float, settle: Callable[[], object]) -> None:
        super().__init__()
        self.file = path.open("a", encoding="utf-8", buffering=1)
        self.limit, self.settle = limit, settle
        self.outcome, self.message, self.begin = "", "", 0.0

    def write(self, **row: object) -> None:
        """Write a line."""
        self.file.write(json.dumps(row) + "\n")

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().startTest(test)
        self.outcome, self.message, self.begin = "passed", "", time.monotonic()
        self.write(begun=test.id())
        faulthandler.dump_traceback_later(self.limit, exit=True)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().stopTest(test)
        try:
            self.settle()
        except RuntimeError as error:
            self.outcome, self.message = "failed", str(error)
        faulthandler.cancel_dump_traceback_later()
        seconds = time.monotonic() - self.begin
        self.write(test=test.id(), outcome=self.outcome, message=self.message, seconds=seconds)

    def addError(self, test: Any, raised: Any) -> None:  # noqa: N802, ANN401 - unittest's
        super().addError(test, raised)
        if not isinstance(test, unittest.TestCase):  # a class's setUp: its tests do not run
            raise raised[1]
        self.outcome, self.message = "failed", text_of(raised)

    def addFailure(self, test: Any, raised: Any) -> None:  # noqa: N802, ANN401 - unittest's
        super().addFailure(test, raised)
        self.outcome, self.message = "failed", text_of(raised)

    def addSubTest(self, test: Any, subtest: Any, raised: Any) -> None:  # noqa: N802, ANN401
        super().addSubTest(test, subtest, raised)
        if raised is not None:
            self.outcome, self.message = "failed", text_of(raised)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802 - unittest's
        super().addSkip(test, reason)
        self.outcome, self.message = "skipped", reason


def text_of(raised: Raised) -> str:
    """Return what was raised as text."""
    return "".join(traceback.format_exception(*raised))


def run_tests(
    module: ModuleType, report: Report, *, patterns: Collection[str], done: Collection[str]
) -> None:
    """Run the tests of a module that a pattern is about and that are not done yet."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    chosen(tests, patterns, done).run(report)
    report.write(end=module.__name__)


def chosen(
    suite: unittest.TestSuite, patterns: Collection[str], done: Collection[str]
) -> unittest.TestSuite:
    """Return the tests of a suite that a pattern is about and that are not done yet."""
    return unittest.TestSuite(
        chosen(each, patterns, done) if isinstance(each, unittest.TestSuite) else each
        for each in suite
        if isinstance(each, unittest.TestSuite)
        or (is_about(patterns, each.id()) and each.id() not in done)
    )
