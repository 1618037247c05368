"""Modules of TorchAir's system tests in processes of their own, as in TorchAir's own build."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torchair_upstream.operators import write_package
from tests.upstream.results import results_of

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable

    from tests.upstream.results import Plan, Result, Run

__all__ = ["modules", "run_modules"]

ROOT = Path(__file__).parents[2]
KERNELS = Path(__file__).with_name("kernels.py")
MODULE_LIMIT = 3600.0  # seconds; the largest takes ten minutes on two busy cores


def modules(checkout: Path) -> list[str]:
    """Return the modules of the tests.

    Raises
    ------
    ValueError
        There are none in this folder.
    """
    found = sorted(path.stem for path in (checkout / "tests" / "st").glob("*_st.py"))
    if not found:
        message = f"{checkout} has no tests/st/*_st.py; give a checkout of TorchAir's repository"
        raise ValueError(message)
    return found


def run_modules(
    checkout: Path,
    names: Iterable[str],
    *,
    patterns: Collection[str] = (),
    on_device: Collection[str] = (),
    jobs: int = 1,
) -> Generator[list[Result]]:
    """Run the tests of modules that a pattern is about; yield the results of one after another."""
    with tempfile.TemporaryDirectory() as text, ThreadPoolExecutor(jobs) as pool:
        folder = Path(text)
        write_package(checkout, folder / "package")
        run = partial(run_module, checkout, folder, patterns=patterns, on_device=on_device)
        for each in as_completed([pool.submit(run, name) for name in names]):
            yield each.result()


def run_module(
    checkout: Path,
    folder: Path,
    name: str,
    *,
    patterns: Collection[str],
    on_device: Collection[str],
) -> list[Result]:
    """Run the tests of a module, in as many processes as it takes."""
    own = [test for test in on_device if test.startswith(f"{name}.")]
    return results_of(
        name, patterns, lambda plan: run_process(checkout, folder, name, {**plan, "on_device": own})
    )


def run_process(checkout: Path, folder: Path, name: str, plan: Plan) -> Run:
    """Run a process; return the rows of its report, how it ended and the end of its output."""
    place = Path(tempfile.mkdtemp(dir=folder))
    report = place / "report.jsonl"
    report.touch()
    worker = ("-m", "tests.torchair_upstream.worker", str(checkout / "tests" / "st"), name)
    twin = ("-m", "opwright", "run", "--twin", "--kernels", str(KERNELS), "--")
    command = [*twin, sys.executable, *worker, str(report)]
    settings = {"PYTHONPATH": str(ROOT), "ASCEND_CUSTOM_OPP_PATH": str(folder / "package")}
    with (place / "output").open("w+b") as output:
        try:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=place,
                input=json.dumps(plan).encode(),
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **settings},
                check=False,
                timeout=MODULE_LIMIT,
            )
            status = f"the process ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            status = f"not done in {MODULE_LIMIT:.0f} s"
        output.seek(max(0, output.tell() - 4000))
        text = output.read().decode(errors="replace")
    return [json.loads(line) for line in report.read_text("utf-8").splitlines()], status, text
