"""Processes that have imported torch_npu on the twin, and pytest, and fork for each script.

Importing takes seconds, a fork a hundredth of one. Nothing of the NPU is initialised before the
fork, and the child ends like any Python process. Run as a script this file is the server; it reads
a request per line and forks; the child falls through to the end of the file.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ForkServer", "fork_server", "start_fork_server"]

TWIN = ("opwright.twin", "torch", "torch_npu")
# An isolated test is run by pytest, with the plugins and the settings of all tests.
RUNNER = ("pytest", "hypothesis", "tests.isolation", "tests.by_version")


@dataclass(frozen=True, slots=True)
class ForkServer:
    """A server, and how to run scripts in its children, one at a time."""

    process: subprocess.Popen[str]
    lock: threading.Lock

    def run(self, script: str, *, limit: float) -> subprocess.CompletedProcess[str]:
        """Run a script in a child; one that takes too long is killed.

        Raises
        ------
        subprocess.TimeoutExpired
            As `subprocess.run` does.
        """
        with self.lock, tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            self.send({"script": script, "out": str(out), "err": str(err)})
            pid = int(self.read())
            killer = threading.Timer(limit, os.kill, (pid, 9))
            killer.start()
            status = int(self.read())
            is_late = not killer.is_alive()
            killer.cancel()
            if is_late:
                raise subprocess.TimeoutExpired(script, limit)
            texts = [path.read_text(encoding="utf-8", errors="replace") for path in (out, err)]
            return subprocess.CompletedProcess(script, status, *texts)

    def send(self, request: Mapping[str, str]) -> None:
        """Send a request."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def read(self) -> str:
        """Read a line of the answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the fork server ended: {self.process.wait()}"
        return line


@cache
def fork_server(modules: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> ForkServer:
    """Start a server that has these modules besides the twin, once; it ends with this process."""
    return start_fork_server(modules, dict(environment))


def start_fork_server(modules: Sequence[str], environment: Mapping[str, str]) -> ForkServer:
    """Start a server that has these modules besides the twin; it ends with this process."""
    process = subprocess.Popen(
        [sys.executable, __file__, *TWIN, *modules, *RUNNER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(end, process)
    return ForkServer(process, threading.Lock())


def end(process: subprocess.Popen[str]) -> None:
    """End a server."""
    with process:  # closes its pipes, and waits
        process.kill()


def serve() -> str:
    """Answer requests until there are no more; in a child, return its script."""
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            become(request)
            return str(request["script"])
        print(pid, flush=True)  # noqa: T201 - the answer
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the answer
    raise SystemExit


def become(request: Mapping[str, str]) -> None:
    """Take the files of a request as standard streams."""
    modes = os.O_WRONLY | os.O_CREAT
    files = (os.devnull, os.O_RDONLY), (request["out"], modes), (request["err"], modes)
    for number, (name, mode) in enumerate(files):
        file = os.open(name, mode, 0o600)
        os.dup2(file, number)
        os.close(file)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    # Imported objects outlive every test: the collectors of children need not scan and copy them.
    gc.freeze()
    code = compile(serve(), "<string>", "exec")
    sys.argv = ["-c"]
    main = sys.modules["__main__"] = ModuleType("__main__")
    exec(code, vars(main))  # noqa: S102
