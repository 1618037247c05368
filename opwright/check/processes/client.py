"""Server and workers, as the command sees them."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from opwright.check.errors import StartError
from opwright.check.processes.channel import Channel
from opwright.check.processes.note import Note
from opwright.check.processes.tail import Tail
from opwright.check.run import CheckedRow

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Ready", "Server", "ServerGoneError", "WorkerProcess"]

# One thread for each worker, unless the user says otherwise: samples are small.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
INDUCTOR_CACHE = "TORCHINDUCTOR_CACHE_DIR"
CHUNK = 1 << 16
SHOWN = 4000  # characters of what a server printed that did not come up
# As opwright.check.processes.worker.STACK_SIGNAL, which cannot be imported without torch.
STACK_SIGNAL = signal.SIGRTMAX - 3
STACK_TIME = 2.0  # seconds for a process to print its stacks


class ServerGoneError(Exception):
    """The server ended while it was needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What the server tells when it is there: how long the import took, versions, all rows.

    Parameters
    ----------
    kinds
        Row -> what its process must be; see Row.
    """

    seconds: float
    versions: Mapping[str, str]
    rows: tuple[CheckedRow, ...]
    kinds: Mapping[str, str]

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return it from JSON."""
        rows: list[dict[str, Any]] = [
            {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
            for row in document["rows"]
        ]
        return cls(**document | {"rows": tuple(CheckedRow(**row) for row in rows)})


class WorkerProcess:
    """A worker: its connection, what it printed, and what it is at."""

    def __init__(self, number: int, kind: str) -> None:
        self.number = number
        self.kind = kind
        self.pid = 0
        ours, self.theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.output, self.output_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.output, False)
        self.note_file = Note.make()
        self.note = Note(self.note_file)
        self.stacks = os.memfd_create("opwright-stacks", os.MFD_CLOEXEC)
        self.printed = Tail()

    def given(self) -> list[int]:
        """Return the descriptors that the worker gets."""
        return [self.theirs.fileno(), self.output_end, self.note_file, self.stacks]

    def started(self, pid: int) -> None:
        """Note the process; close the ends that are the worker's."""
        self.pid = pid
        self.theirs.close()
        os.close(self.output_end)
        os.close(self.note_file)

    def read_output(self) -> None:
        """Take what was printed out of the pipe."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.output, CHUNK):
                self.printed.add(data)

    def stack_text(self) -> str:
        """Return the stacks that were printed, of a crash or on demand."""
        size = os.fstat(self.stacks).st_size
        return os.pread(self.stacks, size, 0).decode(errors="replace")

    def ask_for_stacks(self) -> str:
        """Return the stacks of all threads now; nothing if the process does not answer."""
        before = os.fstat(self.stacks).st_size
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, STACK_SIGNAL)
        end = time.monotonic() + STACK_TIME
        size = before
        while time.monotonic() < end:
            time.sleep(0.05)  # it is written in several pieces: until there is no more
            now = os.fstat(self.stacks).st_size
            if now == size > before:
                break
            size = now
        return os.pread(self.stacks, size - before, before).decode(errors="replace")

    def kill(self) -> None:
        """End the process and what it started."""
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close our ends."""
        self.channel.close()
        os.close(self.output)
        os.close(self.stacks)
        self.note.memory.close()


class Server:
    """The process that workers are forked from; `with` ends it and all of them.

    Parameters
    ----------
    environment
        With the twin in it.
    compilers
        Whether it imports what torch.compile needs.
    """

    def __init__(self, environment: Mapping[str, str], *, compilers: bool) -> None:
        self.folder = tempfile.mkdtemp(prefix="opwright-check-")
        # Whatever the processes leave there goes with it; not what they cache.
        cache = Path(tempfile.gettempdir()) / f"torchinductor_{os.getuid()}"
        own = {"TMPDIR": self.folder, "PYTHONUNBUFFERED": "1"}
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        module = "opwright.check.processes.server"
        command = [sys.executable, "-P", "-m", module, str(theirs.fileno()), self.folder]
        self.process = subprocess.Popen(
            [*command, str(int(compilers))],
            env={**THREADS, INDUCTOR_CACHE: str(cache), **environment, **own},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the command, which ends the others
        )
        theirs.close()
        self.workers: dict[int, WorkerProcess] = {}
        self.ended: dict[int, int] = {}  # number -> status, of workers that are gone
        self.number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.workers.values():
            each.kill()
            each.close()
        self.workers.clear()
        self.control.close()  # which ends the server, after it has collected all workers
        assert self.process.stdout is not None
        self.process.stdout.close()
        try:
            self.process.wait(STACK_TIME)
        except subprocess.TimeoutExpired:  # it is importing
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ready(self) -> Ready:
        """Wait until workers can be forked.

        Raises
        ------
        StartError
            OPW-C011.
        """
        assert self.process.stdout is not None
        printed = Tail(SHOWN)
        os.set_blocking(self.process.stdout.fileno(), False)
        with selectors.DefaultSelector() as poll:
            poll.register(self.control, selectors.EVENT_READ)
            poll.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                for key, _ in poll.select():
                    if key.fileobj is self.control:
                        data = self.control.recv(CHUNK)
                        if data:
                            return Ready.from_json(json.loads(data))
                        raise StartError(
                            where="opwright check",
                            got=f"exit code {self.process.wait()}\n{printed.text()}".rstrip(),
                        )
                    if text := os.read(self.process.stdout.fileno(), CHUNK):
                        printed.add(text)
                    else:
                        poll.unregister(self.process.stdout)

    def fork(self, kind: str, environment: Mapping[str, str]) -> WorkerProcess:
        """Start a worker."""
        self.number += 1
        worker = WorkerProcess(self.number, kind)
        order = {"fork": worker.number, "environment": dict(environment)}
        try:
            socket.send_fds(self.control, [json.dumps(order).encode()], worker.given())
        except ConnectionError as error:
            raise ServerGoneError from error
        while (message := self.receive())[0] != "forked":
            pass
        worker.started(message[1])
        self.workers[worker.number] = worker
        return worker

    def receive(self) -> tuple[str, int]:
        """Take a message of the server; note the end of a worker."""
        data = self.control.recv(CHUNK)
        if not data:
            raise ServerGoneError
        message = json.loads(data)
        if "ended" in message:
            self.ended[message["ended"]] = message["status"]
            return "ended", message["ended"]
        return "forked", message["pid"]

    def wait_for(self, worker: WorkerProcess) -> int:
        """Wait until a worker is gone; return its status."""
        while worker.number not in self.ended:
            self.receive()
        return self.ended[worker.number]

    def forget(self, worker: WorkerProcess) -> None:
        """Kill a worker, if it lives, and let go of it."""
        worker.kill()
        self.wait_for(worker)
        del self.workers[worker.number], self.ended[worker.number]
        worker.close()
