"""The line of the program that calls an operator, from the stacks of its threads."""

from __future__ import annotations

import linecache
import sys
import threading
from typing import TYPE_CHECKING

from opwright.graph_report.compiled.fx import source_text
from opwright.graph_report.compiled.observe import walk_outward

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["find_source", "write_place"]

# Packages between the program and an operator.
LIBRARIES = ("torch", "torch_npu", "torchair", "opwright")


def find_source() -> str:
    """Return the innermost line of the program; empty if no thread is in the program.

    Autograd calls the operators of a backward on threads of its own. They belong to the line of the
    main thread, which waits for them.
    """
    here = find_own_line(sys._getframe())  # noqa: SLF001 - documented
    if here or threading.current_thread() is threading.main_thread():
        return here
    frames = sys._current_frames()  # noqa: SLF001 - documented
    return find_own_line(frames.get(threading.main_thread().ident or 0))


def find_own_line(innermost: FrameType | None) -> str:
    """Return the innermost line of a stack that is not of a library; empty if there is none."""
    for frame in walk_outward(innermost):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in LIBRARIES:
            continue
        file, line = frame.f_code.co_filename, frame.f_lineno
        code = linecache.getline(file, line)
        if code:
            return source_text(f'  File "{file}", line {line}, in {frame.f_code.co_name}\n{code}')
    return ""


def write_place(function: Callable[..., object]) -> str:
    """Return where a function is, as in `/a/step.py:7 step`; empty if it has no code in Python."""
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno} {code.co_name}"
