"""In the process that compiles: write each GE graph, with its FX graph, to the folder for dumps.

TorchAir keeps the FX graph that it converts in the object that it calls the engine from. That
object is looked for on the stacks of the running threads: nothing of TorchAir is changed.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.graph_report.compiled.fx import VERSION, describe, makers, tensors
from opwright.graph_report.folder import FOLDER_VARIABLE
from opwright.internals.modules import GE_CONVERTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

__all__ = ["FX_SUFFIX", "TENSORS_SUFFIX", "concrete_graph", "infer", "keep", "walk_outward"]

FX_SUFFIX = ".fx.json"
TENSORS_SUFFIX = ".tensors.json"
OWNER_ONLY = 0o600

numbers = itertools.count(1)
kept: dict[str, Path] = {}  # by name of the graph, until its tensors are known


def keep(serialized: bytes, name: str) -> None:
    """Write a graph that is about to be compiled, if the environment asks for that.

    A folder that cannot be written to is reported on standard error: the program goes on.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return
    file = Path(folder) / f"ge-{os.getpid()}-{next(numbers)}.air"
    try:
        concrete = concrete_graph(name)
        if concrete is not None and concrete.fx_graph is not None:
            found = {
                "version": VERSION,
                "nodes": describe(concrete.fx_graph),
                "made": makers(concrete.graph.python_code),
            }
            write(file.with_suffix(FX_SUFFIX), json.dumps(found, default=str).encode())
        write(file, serialized)  # last: whoever finds it finds what stands beside it
        kept[name] = file
    except OSError as error:
        sys.stderr.write(f"opwright: {FOLDER_VARIABLE}: {error}\n")


def infer(name: str, found: Iterable[tuple[str, object]]) -> None:
    """Write dtypes and shapes of a graph's tensors, as they are when it is run for the first time.

    Parameters
    ----------
    found
        Output of a node, as in "Relu:0", and its tensor. Nothing is asked of it unless the graph
        was kept.
    """
    file = kept.pop(name, None)
    if file is None:
        return
    try:
        texts = {output: next(tensors(value), "") for output, value in found}
        write(file.with_suffix(TENSORS_SUFFIX), json.dumps(texts).encode())
    except OSError as error:
        sys.stderr.write(f"opwright: {FOLDER_VARIABLE}: {error}\n")


def write(file: Path, data: bytes) -> None:
    """Write a file that only its owner can read; a program that is killed leaves all or nothing."""
    private = file.with_name(f".{file.name}")
    with os.fdopen(
        os.open(private, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY), "wb"
    ) as out:
        out.write(data)
    private.replace(file)


def concrete_graph(name: str) -> Any:  # noqa: ANN401 - TorchAir ships no types
    """Return TorchAir's object for a graph that is being compiled; None if it did not make it."""
    module = sys.modules.get(GE_CONVERTERS)
    if module is None:
        return None
    for frame in sys._current_frames().values():  # noqa: SLF001 - documented
        for each in walk_outward(frame):
            found = each.f_locals.get("self")
            if isinstance(found, module.GeConcreteGraph) and found.graph.name == name:
                return found
    return None


def walk_outward(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and those that called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back
