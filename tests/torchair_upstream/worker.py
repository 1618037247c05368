"""Runs the tests of one module of TorchAir's system tests in this process.

`python -m tests.torchair_upstream.worker FOLDER MODULE REPORT` reads a plan from standard input
and appends a line of JSON to the report when a test begins and when it has ended.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import opwright.twin  # noqa: F401 - before torch

# isort: split
import torch
import torch_npu
import torchair  # noqa: F401 - before npugraph_ex, which some of the tests import

from tests.torchair_upstream.stand_ins import allow_registering_again, device_module, replace_stubs
from tests.upstream.report import Report, run_tests

if TYPE_CHECKING:
    import unittest
    from collections.abc import Collection

TIME_LIMIT = 170  # seconds for one test
SHARED = ("torchair_st_utils", "torchair_st_stub_aclgraph_utils")


class TorchAirReport(Report):
    """Chooses the device of new tensors, too."""

    def __init__(self, path: Path, on_device: Collection[str]) -> None:
        stream = torch_npu.npu.current_stream()  # before a module replaces torch.device
        super().__init__(path, limit=TIME_LIMIT, settle=stream.synchronize)
        self.on_device = on_device

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        torch.set_default_device("npu" if test.id() in self.on_device else None)
        super().startTest(test)


def main(folder: str, module_name: str, report: str) -> None:
    """Run the tests of a module."""
    plan = json.load(sys.stdin)
    result = TorchAirReport(Path(report), plan["on_device"])
    sys.path.insert(0, folder)
    sys.modules["_privateuse1_backend"] = device_module()
    allow_registering_again()
    for name in SHARED:
        replace_stubs(importlib.import_module(name))
    module = importlib.import_module(module_name)
    replace_stubs(module)
    run_tests(module, result, patterns=plan["patterns"], done=plan["done"])


if __name__ == "__main__":
    main(*sys.argv[1:])
