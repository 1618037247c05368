"""Cases in processes of their own: a crash or a hang is one case's result, not the end of all."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from multiprocessing.connection import Connection

    from tests.conformance.case import Case

TIME_LIMIT = 180.0  # seconds for one case


@dataclass(frozen=True)
class Result:
    """The outcome of a case.

    `outcome` is "passed", "failed", "crashed", "timeout", or "nothing" if there was no sample to
    compare; `message` says why it did not pass.
    """

    case: Case
    outcome: str
    message: str
    seconds: float


def run_cases(cases: Iterable[Case], workers: int) -> Generator[Result]:
    """Run cases in `workers` processes; yield results as they come."""
    waiting: SimpleQueue[Case] = SimpleQueue()
    total = 0
    for case in cases:
        waiting.put(case)
        total += 1
    results: SimpleQueue[Result | BaseException] = SimpleQueue()

    def serve() -> None:
        try:
            serve_cases(waiting, results)
        except BaseException as error:  # noqa: BLE001 - handed to the reader below
            results.put(error)

    with ThreadPoolExecutor(workers) as pool:
        for _ in range(workers):
            pool.submit(serve)
        try:
            for _ in range(total):
                result = results.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            drain(waiting)  # an early end waits for the cases that run, not for all that remain


def drain(waiting: SimpleQueue[Case]) -> None:
    """Take out all that waits."""
    with contextlib.suppress(Empty):
        while True:
            waiting.get_nowait()


def serve_cases(waiting: SimpleQueue[Case], results: SimpleQueue[Result | BaseException]) -> None:
    """Give cases to one process until there are no more; a new process after a crash or hang."""
    worker = None
    try:
        while True:
            try:
                case = waiting.get_nowait()
            except Empty:
                return
            worker = worker if worker is not None and worker.process.is_alive() else Worker()
            results.put(worker.run(case))
    finally:
        if worker is not None:
            worker.stop()


class Worker:
    """A process that runs cases one after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=work, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def run(self, case: Case) -> Result:
        """Run one case; kill the process if it takes too long."""
        start = time.monotonic()
        try:
            self.connection.send(case)
            if not self.connection.poll(TIME_LIMIT):
                self.stop()
                return Result(case, "timeout", f"no result in {TIME_LIMIT:.0f} s", TIME_LIMIT)
            outcome, message = self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            message = f"the process ended with {self.process.exitcode}"
            return Result(case, "crashed", message, time.monotonic() - start)
        return Result(case, outcome, message, time.monotonic() - start)

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def work(connection: Connection) -> None:
    """Run the cases that come, in this process."""
    import opwright.twin  # noqa: F401, PLC0415 - before torch, and only in the worker

    # isort: split
    import torch  # noqa: PLC0415

    from tests.conformance.checks import run  # noqa: PLC0415

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    device = torch.device("npu:0")
    while True:
        try:
            case = connection.recv()
        except EOFError:
            return
        connection.send(outcome_of(partial(run, case, device)))


def outcome_of(run: Callable[[], int]) -> tuple[str, str]:
    """Return a case's outcome and message."""
    try:
        samples = run()
    except Exception as error:  # noqa: BLE001 - a case may fail with anything: that is its result
        return "failed", f"{type(error).__name__}: {error}"
    return ("passed", "") if samples else ("nothing", "no sample to compare")
