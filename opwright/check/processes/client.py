"""Server and workers, as the command sees them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from opwright.check.errors import StartError
from opwright.check.processes.channel import Channel
from opwright.check.processes.ended import LOST_SERVER
from opwright.check.processes.note import Note
from opwright.check.processes.system import STACK_SIGNAL
from opwright.check.processes.tail import Tail
from opwright.check.record import CheckedRow
from opwright.twin.environment import GUARDABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Ready", "Server", "WorkerProcess"]

# One thread for each worker, unless the user says otherwise: samples are small.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
INDUCTOR_CACHE = "TORCHINDUCTOR_CACHE_DIR"
CHUNK = 1 << 16
SHOWN = 4000  # bytes of what a server printed that did not come up
STACK_PAUSE = 0.5  # seconds without more of them, after which there is no more
CLOSE_TIME = 2.0  # seconds for the server to end by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The server's greeting: how long the import took, versions, all rows."""

    seconds: float
    versions: Mapping[str, str]
    rows: tuple[CheckedRow, ...]

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

    def ask_for_stacks(self, seconds: float) -> str:
        """Return the stacks of all threads now; nothing if the process does not answer in time."""
        before = os.fstat(self.stacks).st_size
        try:
            os.kill(self.pid, STACK_SIGNAL)
        except ProcessLookupError:
            return ""
        size, last = before, time.monotonic() + seconds
        end = last
        while time.monotonic() < end:
            time.sleep(0.05)  # it is written in several pieces: until there is no more
            now = os.fstat(self.stacks).st_size
            if now > size:
                size, end = now, min(last, time.monotonic() + STACK_PAUSE)
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
    """The process that workers are forked from; `close` ends it and all of them.

    If it is killed, its workers end with it, and another takes its place.

    Parameters
    ----------
    environment
        With the twin in it.
    rows
        The rows that will be run, or none for all: it imports what they need.
    """

    def __init__(self, environment: Mapping[str, str], *, rows: Sequence[str]) -> None:
        self.environment = environment
        self.rows = rows
        self.facts: Ready | None = None
        self.workers: dict[int, WorkerProcess] = {}
        self.ended: dict[int, int] = {}  # number -> status, of workers that are gone
        self.number = 0
        self.start()

    def start(self) -> None:
        """Start the process."""
        self.folder = tempfile.mkdtemp(prefix="opwright-check-")
        # The processes' files there go with it, but not their caches.
        cache = Path(tempfile.gettempdir()) / f"torchinductor_{os.getuid()}"
        own = {"TMPDIR": self.folder, "PYTHONUNBUFFERED": "1"}
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        module = "opwright.check.processes.server"
        command = [sys.executable, "-P", "-m", module, str(theirs.fileno()), self.folder]
        self.process = subprocess.Popen(
            [*command, *self.rows],
            env={**THREADS, INDUCTOR_CACHE: str(cache), **self.environment, **GUARDABLE, **own},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the command, which ends the others
        )
        theirs.close()

    def start_again(self) -> None:
        """Start another process instead of one that was there and is gone, as its workers are."""
        for each in self.workers.values():
            each.kill()
            self.ended.setdefault(each.number, LOST_SERVER)
        self.control.close()
        self.printed.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.facts = None
        self.start()

    def close(self) -> None:
        """End the process and all workers, and remove what they left."""
        for each in self.workers.values():
            each.kill()
            each.close()
        self.workers.clear()
        self.control.close()  # which ends the server, after it has collected all workers
        self.printed.close()
        try:
            self.process.wait(CLOSE_TIME if self.facts else 0)
        except subprocess.TimeoutExpired:  # it is importing
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ready(self) -> Ready:
        """Wait until workers can be forked; return the server's greeting.

        Raises
        ------
        StartError
            OPW-C011.
        """
        while self.facts is None:
            self.receive()
        return self.facts

    def fork(self, kind: str) -> WorkerProcess:
        """Start a worker; the server is ready."""
        self.number += 1
        worker = WorkerProcess(self.number, kind)
        order = json.dumps({"fork": worker.number, "kind": kind}).encode()
        pid = None
        while pid is None:
            self.ready()
            process = self.process
            with contextlib.suppress(ConnectionError):  # it is gone, which `receive` sees
                socket.send_fds(self.control, [order], worker.given())
            while self.process is process and (pid := self.receive()) is None:
                pass
        worker.started(pid)
        self.workers[worker.number] = worker
        return worker

    def receive(self) -> int | None:
        """Take a message of the server; return the process of a worker that was started.

        Raises
        ------
        StartError
            OPW-C011: it was never there.
        """
        try:
            data = self.control.recv(CHUNK)
        except ConnectionResetError:  # it is gone, and had something to read
            data = b""
        if not data:
            code = self.process.wait()
            if self.facts is not None:
                self.start_again()
                return None
            end = os.fstat(self.printed.fileno()).st_size
            last = os.pread(self.printed.fileno(), SHOWN, max(0, end - SHOWN))
            printed = last.decode(errors="replace")
            raise StartError(where="opwright check", got=f"exit code {code}\n{printed}".rstrip())
        message = json.loads(data)
        match message:
            case {"ended": number, "status": status}:
                self.ended[number] = status
            case {"forked": _, "pid": pid}:
                return int(pid)
            case _:
                self.facts = Ready.from_json(message)
        return None

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
