"""Start a program in an order, and wait for its end.

A Python program is forked from a process that has imported torch and torch_npu already: importing
them takes seconds, a fork a hundredth of one. Every other command is started anew.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.twin.explore.events import read_processes
from opwright.twin.explore.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Protocol

    from opwright.twin.explore.outcome import Order

    class Start(Protocol):
        """Run the program once; return its status as a shell has it, None after the limit."""

        def __call__(
            self, environment: Mapping[str, str], out: Path, err: Path, limit: float
        ) -> int | None: ...


__all__ = ["SEED", "Program", "Runner", "open_runner"]

# native/runtime/settings.cpp reads them with the first task of a process.
SEED = "OPWRIGHT_EXPLORE"
HOLDS = "OPWRIGHT_EXPLORE_HOLDS"
LOG = "OPWRIGHT_EXPLORE_LOG"

SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A command, with the path of its program, and the environment that it runs in."""

    path: str
    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs a program in orders.

    Parameters
    ----------
    folder
        Holds the files of a run until its end.
    """

    start: Start
    folder: Path

    def run(self, order: Order, limit: float) -> Outcome:
        """Run the program in an order; it is killed after `limit` seconds."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            out, err, holds = folder / "out", folder / "err", folder / "holds"
            holds.write_text("\n".join(order.holds) + "\n", encoding="utf-8")
            chosen = {HOLDS: str(holds)} if order.seed is None else {SEED: str(order.seed)}
            began = time.monotonic()
            status = self.start({**chosen, LOG: str(folder / "log")}, out, err, limit)
            return Outcome(
                order=order,
                status=status,
                output=out.read_text(encoding="utf-8", errors="replace"),
                errors=remove_server_lines(err.read_text(encoding="utf-8", errors="replace")),
                processes=read_processes(folder, "log", hidden=SERVER),
                seconds=time.monotonic() - began,
            )


@contextmanager
def open_runner(program: Program) -> Iterator[Runner]:
    """Yield the runner for a program, which runs in the current folder."""
    with tempfile.TemporaryDirectory(prefix="opwright-order-") as name:
        if can_fork(program):
            with open_server(program) as start:
                yield Runner(start, Path(name))
        else:
            yield Runner(make_start(program), Path(name))


def can_fork(program: Program) -> bool:
    """Return whether the command is this Python with a file, a module or code, without options."""
    path, own = Path(program.path), Path(sys.executable)
    # Of the same environment, too: its Python is often a link to that of the system.
    if not (path.samefile(own) and path.parent.samefile(own.parent)):
        return False
    arguments = program.command[1:]
    if len(arguments) > 1 and arguments[0] in ("-m", "-c"):
        return True
    return bool(arguments) and not arguments[0].startswith("-") and Path(arguments[0]).is_file()


def make_start(program: Program) -> Start:
    """Return a start that makes a new process each time."""

    def start(environment: Mapping[str, str], out: Path, err: Path, limit: float) -> int | None:
        with out.open("wb") as output, err.open("wb") as errors:
            process = subprocess.Popen(
                program.command,
                executable=program.path,
                env={**program.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            try:
                return status_of(process.wait(limit))
            except subprocess.TimeoutExpired:
                return None
            finally:
                kill_group(process.pid)
                process.wait()

    return start


@contextmanager
def open_server(program: Program) -> Iterator[Start]:
    """Start a process that forks; the start asks it for a child."""
    process = subprocess.Popen(
        [program.path, str(SERVER), *program.command[1:]],
        env=dict(program.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def start(environment: Mapping[str, str], out: Path, err: Path, limit: float) -> int | None:
        request = {"environment": dict(environment), "out": str(out), "err": str(err)}
        requests.write(json.dumps(request) + "\n")
        requests.flush()
        child = int(answers.readline())
        killer = threading.Timer(limit, kill_group, [child])
        killer.start()
        status = int(answers.readline())
        is_late = not killer.is_alive()
        killer.cancel()
        kill_group(child)
        return None if is_late else status_of(status)

    with process:  # closes its pipes, which ends it, and waits
        yield start


def remove_server_lines(errors: str) -> str:
    """Remove the lines of the process that forks, of which the program knows nothing."""
    lines = [line for line in errors.splitlines(keepends=True) if not is_of_server(line)]
    return "".join(lines)


def is_of_server(line: str) -> bool:
    """Return whether a line of a finding, or of a traceback, names the file of that process."""
    place = line.strip()
    return place.startswith((f"{SERVER}:", f'File "{SERVER}", line '))


def status_of(status: int) -> int:
    """Return a status as a shell has it."""
    return 128 - status if status < 0 else status


def kill_group(leader: int) -> None:
    """Kill the processes that a program has left behind in its group."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
