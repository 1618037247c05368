"""The process that is forked for each worker: torch and torch_npu are imported, nothing else ran.

A worker is there within milliseconds instead of seconds. That is sound because at the fork this
process has one thread, has not touched the NPU, and has run no user code.

The command sends {"fork": number, "kind": kind} with four descriptors (channel, output, note,
stacks); the answer is {"forked": number, "pid": pid}, and {"ended": number, "status": status} when
the worker is gone. Its kind is decided at the fork: see `kinds`.
The control socket keeps the borders of messages. When the command goes away, however that happens,
all workers are killed.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opwright.check.processes.kinds import VARIABLES
from opwright.check.processes.limits import descendants
from opwright.check.processes.system import OWN_FOLDER, Descriptors, adopt_orphans, end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["serve"]

LARGEST = 1 << 16  # bytes of a message; they are all small
DESCRIPTORS = 4


@dataclass
class Workers:
    """The workers that are alive: pid -> number, and the descriptor that shows the end of each."""

    numbers: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)  # pidfd -> pid

    def add(self, pid: int, number: int) -> int:
        """Note a new worker; return the descriptor that shows its end."""
        self.numbers[pid] = number
        pidfd = os.pidfd_open(pid)
        self.ends[pidfd] = pid
        return pidfd

    def remove(self, pidfd: int) -> tuple[int, int]:
        """Collect a worker that ended; return its number and status."""
        os.close(pidfd)
        pid = self.ends.pop(pidfd)
        _, status = os.waitpid(pid, 0)
        kill_group(pid)
        return self.numbers.pop(pid), status


def import_torch(rows: Sequence[str]) -> dict[str, Any]:
    """Import what all workers need; return what the command wants to know of it.

    Parameters
    ----------
    rows
        Those that will be run; none stands for all.
    """
    start = time.perf_counter()
    # A process's kernels are in a folder that torch_npu learns when it is loaded. Here that is
    # before the fork, so its path leads to another folder in each worker.
    tempfile.tempdir = f"/proc/self/fd/{OWN_FOLDER}"
    import opwright.twin  # noqa: PLC0415 - at this moment
    from opwright.twin.user_kernels.process import package_of_process  # noqa: PLC0415

    package_of_process()
    tempfile.tempdir = None
    import torch  # noqa: PLC0415
    import torch_npu  # noqa: PLC0415

    from opwright.check.record import rows_of  # noqa: PLC0415
    from opwright.check.rows import ROWS  # noqa: PLC0415

    if any(each.cost == "high" and (not rows or each.name in rows) for each in ROWS):
        import opwright.internals.dynamo  # noqa: PLC0415
        import opwright.internals.inductor  # noqa: PLC0415
    del opwright
    return {
        "seconds": time.perf_counter() - start,
        "versions": {"torch": torch.__version__, "torch_npu": torch_npu.__version__},
        "rows": [dataclasses.asdict(each) for each in rows_of(ROWS)],
    }


def serve(control: socket.socket, work: Callable[[Descriptors], None]) -> None:
    """Fork workers until the command goes away.

    Parameters
    ----------
    work
        What a worker does; it is not expected to return.
    """
    workers = Workers()
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == control.fileno():
                data, given, _, _ = socket.recv_fds(control, LARGEST, DESCRIPTORS)
                if not data:
                    end_all(workers)
                    return
                order = json.loads(data)
                pid = fork(control, workers, given, work, kind=order["kind"])
                poll.register(workers.add(pid, order["fork"]), select.POLLIN)
                send(control, forked=order["fork"], pid=pid)
            else:
                poll.unregister(descriptor)
                number, status = workers.remove(descriptor)
                end_orphans(workers)
                send(control, ended=number, status=status)


def send(control: socket.socket, **message: int) -> None:
    """Send a message; a command that is gone shows in the next one received."""
    with suppress(ConnectionError):
        control.send(json.dumps(message).encode())


def fork(
    control: socket.socket,
    workers: Workers,
    given: Sequence[int],
    work: Callable[[Descriptors], None],
    *,
    kind: str,
) -> int:
    """Return the process of a new worker."""
    server = os.getpid()
    pid = os.fork()
    if pid:
        for each in given:
            os.close(each)
        with suppress(OSError):  # the child does it too: who is first does not matter
            os.setpgid(pid, pid)
        return pid
    code = 1
    try:
        end_with_parent(server)
        os.setpgid(0, 0)
        control.close()
        for each in workers.ends:
            os.close(each)
        os.environ.update(VARIABLES[kind])
        work(Descriptors(*given))
        code = 0
    finally:
        os._exit(code)


def kill_group(leader: int) -> None:
    """Kill what a worker left in its process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def end_orphans(workers: Workers) -> None:
    """Kill what workers started and left behind in other process groups."""
    for each in list(descendants(os.getpid())):
        if each in workers.numbers or any(each in descendants(pid) for pid in workers.numbers):
            continue
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(each, 0)


def end_all(workers: Workers) -> None:
    """Kill all workers and what they started, and collect them."""
    for pid in workers.numbers:
        kill_group(pid)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pidfd in list(workers.ends):
        workers.remove(pidfd)
    end_orphans(workers)


def main() -> None:
    """Start: `python -m opwright.check.processes.server DESCRIPTOR FOLDER [ROW...]`."""
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        adopt_orphans()
        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, most))
        ready = import_torch(sys.argv[3:])
        from opwright.check.processes.worker import work  # noqa: PLC0415 - needs torch

        gc.collect()
        gc.freeze()  # so that collections in workers do not touch, and copy, all of torch
        with suppress(ConnectionError):  # the command is gone
            control.send(json.dumps(ready).encode())
        serve(control, work)
    finally:  # the command does it too, unless it was killed
        shutil.rmtree(sys.argv[2], ignore_errors=True)


if __name__ == "__main__":
    main()
