"""Import torch and torch_npu, and fork a child for each run of a Python program.

Run as a script. Its arguments are those of `python` in the command; it reads a request
per line and answers the child's process number, then its status. Nothing of the NPU is initialised
before the fork. The child falls through to the end of the file, where it becomes the program.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import os
import runpy
import signal
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PRELOADED = ("torch", "torch_npu")
PR_SET_PDEATHSIG = 1  # of prctl


def serve() -> None:
    """Answer requests until there are no more; return in a child."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            become(json.loads(line))
            return
        print(pid, flush=True)  # noqa: T201 - the answer
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the answer
    raise SystemExit


def end_with_parent() -> None:
    """Have this process killed when the one that started it ends, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def become(request: Mapping[str, str | dict[str, str]]) -> None:
    """Take the files of a request as standard streams, and its variables."""
    end_with_parent()
    os.setsid()
    modes = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    files = (
        (os.devnull, os.O_RDONLY),
        (str(request["out"]), modes),
        (str(request["err"]), modes),
    )
    for number, (name, mode) in enumerate(files):
        file = os.open(name, mode, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdout.reconfigure(line_buffering=True, write_through=True)  # type: ignore[union-attr]
    variables = request["environment"]
    assert isinstance(variables, dict)
    os.environ.update(variables)


def preload() -> None:
    """Import what takes seconds, if it is installed; a program may use none of it."""
    for name in PRELOADED:
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # the children share its pages


if __name__ == "__main__":
    end_with_parent()
    preload()
    serve()
    kind, *arguments = sys.argv[1:]
    if kind == "-m":
        sys.path[0] = os.getcwd()  # noqa: PTH109 - as Python writes it
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        raise SystemExit
    main = sys.modules["__main__"] = ModuleType("__main__")
    if kind == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *arguments[1:]]
        exec(compile(arguments[0], "<string>", "exec"), main.__dict__)  # noqa: S102 - the program
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(kind))  # noqa: PTH100, PTH120 - as Python writes it
        sys.argv = [kind, *arguments]
        main.__file__ = kind
        with open(kind, "rb") as file:  # noqa: PTH123 - nothing more of the library is imported for a program
            source = file.read()
        exec(compile(source, kind, "exec"), main.__dict__)  # noqa: S102 - the program
