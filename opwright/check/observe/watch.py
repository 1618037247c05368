"""Python that runs inside of a call: the author's function, and readers of data or hints."""

from __future__ import annotations

import logging
import re
import site
import sys
import sysconfig
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

import opwright
from opwright.internals.modules import LOGGERS

if TYPE_CHECKING:
    import traceback
    from collections.abc import Iterable, Iterator
    from types import FrameType
    from typing import Any

__all__ = ["Seen", "is_authors", "place_in_stack", "place_in_text", "silence_torch", "watch"]

# Methods of a tensor that read what it holds.
READERS = frozenset({"item", "tolist", "numpy", "data_ptr", "__dlpack__", "_local_scalar_dense"})
# Functions of torch that return a size's value without a guard.
HINTS = frozenset(
    {
        "hint",
        "require_hint",
        "hint_int",
        "size_hint",
        "get_hint",
        "guarding_hint_or_throw",
        "optimization_hint",
    }
)
LINE = re.compile(r'File "([^"]+)", line (\d+)|\((\S+\.py):(\d+) in ')
SYMBOLIC_MODULES = ("symbolic_shapes.py", "sym_node.py")


@dataclass(slots=True)
class Seen:
    """Observations of a piece of code while it ran.

    Parameters
    ----------
    function
        File and line of the first function of an author that was called: the Meta function.
    reads
        The calls that read data: what was called, and where.
    hints
        Where the value of a symbolic size was read.
    """

    function: str | None = None
    reads: list[tuple[str, str]] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    def note(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ANN401 - as sys.setprofile has it
        """Note one event of the interpreter."""
        if event == "call":
            self.note_call(frame)
        elif event == "c_call" and argument.__name__ in READERS and is_tensors(argument):
            file = frame.f_code.co_filename
            if is_authors(file):
                self.reads.append((argument.__name__, f"{file}:{frame.f_lineno}"))

    def note_call(self, frame: FrameType) -> None:
        """Note that a function of Python was called."""
        code = frame.f_code
        if self.function is None and is_authors(code.co_filename):
            self.function = f"{code.co_filename}:{code.co_firstlineno}"
        caller = frame.f_back
        if (
            code.co_name in HINTS
            and code.co_filename.endswith(SYMBOLIC_MODULES)
            and caller is not None
            and is_authors(caller.f_code.co_filename)
        ):
            self.hints.append(f"{caller.f_code.co_filename}:{caller.f_lineno}")


def is_tensors(method: Any) -> bool:  # noqa: ANN401 - a builtin function or method
    """Return whether a method is one of a tensor."""
    return isinstance(getattr(method, "__self__", None), torch.Tensor)


@contextmanager
def watch() -> Iterator[Seen]:
    """Watch the calls of this thread."""
    seen = Seen()
    before = sys.getprofile()
    sys.setprofile(seen.note)
    try:
        yield seen
    finally:
        sys.setprofile(before)


@contextmanager
def silence_torch() -> Iterator[None]:
    """Keep torch from logging what a finding reports, and from warning of itself.

    Warnings are recorded, not only ignored: TorchAir sets filters of its own.
    """
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, level in zip(loggers, before, strict=True):
            each.setLevel(level)


def place_in_stack(frames: Iterable[traceback.FrameSummary], skip: str) -> str | None:
    """Return the innermost line of an author in a stack, as file:line.

    Parameters
    ----------
    skip
        The file of the row: what is above it is whoever runs the check.
    """
    below: list[traceback.FrameSummary] = []
    for frame in frames:
        below = [] if frame.filename == skip else [*below, frame]
    found = [frame for frame in below if is_authors(frame.filename)]
    return f"{found[-1].filename}:{found[-1].lineno}" if found else None


def place_in_text(text: str) -> str | None:
    """Return the last line of an author that a message of torch names, as file:line."""
    places = [(file or other, line or at) for file, line, other, at in LINE.findall(text)]
    found = [f"{file}:{line}" for file, line in places if is_authors(file)]
    return found[-1] if found else None


@cache
def is_authors(file: str) -> bool:
    """Return whether a file is an author's: not torch's, not opwright's, not Python's own."""
    if file.startswith("<"):
        return False
    for folder in PACKAGES:
        if file.startswith(f"{folder}/"):
            return file[len(folder) + 1 :].partition("/")[0] not in LIBRARIES
    return not file.startswith((f"{sysconfig.get_path('stdlib')}/", f"{OPWRIGHT}/"))


OPWRIGHT = Path(opwright.__file__).parent
PACKAGES = frozenset({*site.getsitepackages(), sysconfig.get_path("purelib")})
LIBRARIES = frozenset({"torch", "torch_npu", "torchair", "sympy", "numpy", "functorch", "opwright"})
