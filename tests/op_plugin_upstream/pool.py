"""Files of op-plugin's tests, each in a process of its own on the twin."""

from __future__ import annotations

import json
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from tests.twin.fork_server import start_fork_server
from tests.twin.on_twin import CLEAN, ROOT
from tests.upstream.results import results_of

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable

    from tests.twin.fork_server import ForkServer
    from tests.upstream.results import Plan, Result, Run

__all__ = ["modules", "run_modules"]

IMPORTED = ("torch_npu.testing.testcase", "tests.op_plugin_upstream.worker")
FILE_LIMIT = 3600.0  # seconds


def modules(checkout: Path) -> list[str]:
    """Return the modules of the tests: folder and file.

    Raises
    ------
    ValueError
        There are none in this folder.
    """
    found = (checkout / "test").glob("*/test_*.py")
    names = sorted(f"{path.parent.name}.{path.stem}" for path in found)
    if not names:
        message = f"{checkout} has no test/*/test_*.py; give a checkout of op-plugin's repository"
        raise ValueError(message)
    return names


def run_modules(
    checkout: Path, names: Iterable[str], *, patterns: Collection[str] = (), jobs: int = 1
) -> Generator[list[Result]]:
    """Run the tests of modules that a pattern is about; yield the results of one after another."""
    environment = {**CLEAN, "PYTHONPATH": str(ROOT)}
    free: SimpleQueue[ForkServer] = SimpleQueue()
    for _ in range(jobs):
        free.put(start_fork_server(IMPORTED, environment))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        run = partial(run_module, checkout / "test", Path(folder), free, patterns=patterns)
        for each in as_completed([pool.submit(run, name) for name in names]):
            yield each.result()


def run_module(
    tests: Path, folder: Path, free: SimpleQueue[ForkServer], name: str, patterns: Collection[str]
) -> list[Result]:
    """Run the tests of a module on a server that is free."""
    server = free.get()
    try:
        return results_of(name, patterns, partial(run_process, tests, folder, server, name))
    finally:
        free.put(server)


def run_process(tests: Path, folder: Path, server: ForkServer, name: str, plan: Plan) -> Run:
    """Run a process of a module."""
    place = Path(tempfile.mkdtemp(dir=folder))
    report, path = place / "report.jsonl", place / "plan.json"
    report.touch()
    where = {"folder": str(tests), "module": name, "report": str(report)}
    path.write_text(json.dumps({**plan, **where}), encoding="utf-8")
    script = f"from tests.op_plugin_upstream.worker import main\nmain({str(path)!r})"
    try:
        done = server.run(script, limit=FILE_LIMIT)
        status, output = f"the process ended with {done.returncode}", done.stderr[-4000:]
    except subprocess.TimeoutExpired:
        status, output = f"not done in {FILE_LIMIT:.0f} s", ""
    rows = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
    return rows, status, output
