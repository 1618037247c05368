"""Runs the tests of one module of TorchAir's system tests in this process.

`python -m tests.torchair_upstream.worker FOLDER MODULE REPORT` reads a plan from standard input
and appends a line of JSON to the report when a test begins and when it has ended.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import sys
import time
import traceback
import unittest
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import opwright.twin  # noqa: F401 - before torch

# isort: split
import torch
import torch_npu
import torchair  # noqa: F401 - before npugraph_ex, which some of the tests import

from tests.torchair_upstream.stand_ins import allow_registering_again, device_module, replace_stubs

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import TracebackType

    Raised = tuple[type[BaseException], BaseException, TracebackType]

TIME_LIMIT = 170  # seconds for one test
SHARED = ("torchair_st_utils", "torchair_st_stub_aclgraph_utils")


class Report(unittest.TestResult):
    """Writes what becomes of each test, and chooses the device of new tensors."""

    def __init__(self, path: Path, on_device: Collection[str]) -> None:
        super().__init__()
        self.file = path.open("a", encoding="utf-8", buffering=1)
        self.on_device = on_device
        self.outcome, self.message, self.begin = "", "", 0.0
        self.stream = torch_npu.npu.current_stream()  # before a module replaces torch.device

    def write(self, **row: object) -> None:
        """Write a line."""
        self.file.write(json.dumps(row) + "\n")

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().startTest(test)
        self.outcome, self.message, self.begin = "passed", "", time.monotonic()
        self.write(begun=name_of(test))
        torch.set_default_device("npu" if name_of(test) in self.on_device else None)
        faulthandler.dump_traceback_later(TIME_LIMIT, exit=True)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)
        try:
            self.stream.synchronize()
        except RuntimeError as error:  # what it enqueued has failed, which the next one would meet
            self.outcome, self.message = "failed", str(error)
        seconds = time.monotonic() - self.begin
        self.write(test=name_of(test), outcome=self.outcome, message=self.message, seconds=seconds)

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


def name_of(test: unittest.TestCase) -> str:
    """Return the name of a test: module, class and function."""
    return test.id()


def text_of(raised: Raised) -> str:
    """Return what was raised as text."""
    return "".join(traceback.format_exception(*raised))


def chosen(
    suite: unittest.TestSuite, patterns: Collection[str], done: Collection[str]
) -> unittest.TestSuite:
    """Return the tests of a suite that a pattern is about and that are not done yet."""
    return unittest.TestSuite(
        chosen(each, patterns, done) if isinstance(each, unittest.TestSuite) else each
        for each in suite
        if isinstance(each, unittest.TestSuite)
        or (is_about(patterns, each) and name_of(each) not in done)
    )


def is_about(patterns: Collection[str], test: unittest.TestCase) -> bool:
    """Return whether a test is asked for."""
    return not patterns or any(fnmatchcase(test.id(), pattern) for pattern in patterns)


def main(folder: str, module_name: str, report: str) -> None:
    """Run the tests of a module."""
    plan = json.load(sys.stdin)
    result = Report(Path(report), plan["on_device"])
    sys.path.insert(0, folder)
    sys.modules["_privateuse1_backend"] = device_module()
    allow_registering_again()
    for name in SHARED:
        replace_stubs(importlib.import_module(name))
    module = importlib.import_module(module_name)
    replace_stubs(module)
    tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    chosen(tests, plan["patterns"], plan["done"]).run(result)
    result.write(end=module_name)


if __name__ == "__main__":
    main(*sys.argv[1:])
