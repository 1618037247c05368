"""Runs the tests of one file of op-plugin's in this process, a fork of one that has torch_npu."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from pathlib import Path

import hypothesis

from tests.upstream.report import Report, run_tests

__all__ = ["main"]

TEST_LIMIT = 600  # seconds
MEMORY_LIMIT = 6 << 30  # bytes that are the process's own; most tests take less than a tenth
PAGE = os.sysconf("SC_PAGE_SIZE")


def main(plan_path: str) -> None:
    """Run the tests of a file as the plan says: folder, module, report, patterns and done."""
    plan = json.loads(Path(plan_path).read_text(encoding="utf-8"))
    os.chdir(Path(plan_path).parent)
    threading.Thread(target=watch_memory, daemon=True).start()
    # Examples take as long as the machine lets them.
    hypothesis.settings.register_profile("upstream", deadline=None)
    hypothesis.settings.load_profile("upstream")
    sys.path.insert(0, plan["folder"])
    import torch_npu  # noqa: PLC0415 - imported before the fork, as opwright.twin is

    report = Report(Path(plan["report"]), limit=TEST_LIMIT, settle=torch_npu.npu.synchronize)
    module = importlib.import_module(plan["module"])
    run_tests(module, report, patterns=plan["patterns"], done=plan["done"])


def watch_memory() -> None:
    """End the process when it has taken too much memory."""
    while True:
        pages, shared = Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3]
        if (int(pages) - int(shared)) * PAGE > MEMORY_LIMIT:
            sys.stderr.write(f"more than {MEMORY_LIMIT >> 30} GB of memory\n")
            sys.stderr.flush()
            os._exit(1)
        time.sleep(0.2)
