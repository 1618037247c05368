"""Runs the tests of one file of op-plugin's in this process, a fork of one that has torch_npu."""

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import numpy as np

from tests.upstream.report import Report, run_tests

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["main"]

TEST_LIMIT = 600  # seconds
MEMORY_LIMIT = 6 << 30  # bytes that are the process's own; most tests take less than a tenth
PAGE = os.sysconf("SC_PAGE_SIZE")
# Python's types, for which NumPy had names of its own before 1.24; some of the tests use them.
NUMPY_NAMES = (int, float, object, complex, str)


def main(plan_path: str) -> None:
    """Run the tests of a file as the plan says: folder, module, report, patterns and done."""
    plan = json.loads(Path(plan_path).read_text(encoding="utf-8"))
    os.chdir(Path(plan_path).parent)
    for each in NUMPY_NAMES:
        setattr(np, each.__name__, each)
    threading.Thread(target=watch_memory, daemon=True).start()
    # Examples take as long as the machine lets them.
    hypothesis.settings.register_profile("upstream", deadline=None)
    hypothesis.settings.load_profile("upstream")
    sys.path.insert(0, plan["folder"])
    import torch_npu  # noqa: PLC0415 - imported before the fork, as opwright.twin is

    report = Report(Path(plan["report"]), limit=TEST_LIMIT, settle=torch_npu.npu.synchronize)
    module = importlib.import_module(plan["module"])
    execute_preparation(module)
    run_tests(module, report, patterns=plan["patterns"], done=plan["done"])


def execute_preparation(module: ModuleType) -> None:
    """Execute what the file does as a program before its tests: seeds, settings of torch_npu."""
    path = str(module.__file__)
    for block in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        if isinstance(block, ast.If) and "__main__" in ast.unparse(block.test):
            before = [each for each in block.body if not runs_tests(each)]
            exec(compile(ast.Module(before, []), path, "exec"), vars(module))  # noqa: S102 - the file's own


def runs_tests(statement: ast.stmt) -> bool:
    """Return whether this is the call that runs the tests of a file."""
    return ast.unparse(statement).startswith(("run_tests(", "unittest.main("))


def watch_memory() -> None:
    """End the process when it has taken too much memory."""
    while True:
        pages, shared = Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3]
        if (int(pages) - int(shared)) * PAGE > MEMORY_LIMIT:
            sys.stderr.write(f"more than {MEMORY_LIMIT >> 30} GB of memory\n")
            sys.stderr.flush()
            os._exit(1)
        time.sleep(0.2)
