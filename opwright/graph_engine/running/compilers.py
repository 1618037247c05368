"""Compilers of a lowered graph, as the user chooses with OPWRIGHT_GRAPH_COMPILER."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

import torch

from opwright.graph_engine.errors import GraphCompilerError
from opwright.graph_engine.running.program import program_of
from opwright.twin.settings import GRAPH_COMPILER, check_graph_compiler

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.graph_engine.lowering.lower import Lowered
    from opwright.graph_engine.running.program import Program

__all__ = ["choose_compiler"]


def choose_compiler(environment: Mapping[str, str] = os.environ) -> Callable[[Lowered], Program]:
    """Return the compiler that the environment names.

    Raises
    ------
    GraphCompilerNameError
        OPW-T005.
    """
    name = environment.get(GRAPH_COMPILER) or "eager"
    return COMPILERS[check_graph_compiler(name, where=GRAPH_COMPILER)]


def inductor(lowered: Lowered) -> Program:
    """Compile a graph with Inductor for the CPU, as torch.compile does with a model.

    It traces the graph once more, for which it needs a thread that is not in the middle of a
    compiled function.

    Raises
    ------
    GraphCompilerError
        OPW-N020.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(compile_with_inductor, lowered).result()


def compile_with_inductor(lowered: Lowered) -> Program:
    """Compile a graph with Inductor on this thread."""
    from opwright.internals import inductor as torchs  # noqa: PLC0415 - it takes a second to import

    examples = [torch.empty(shape, dtype=dtype) for shape, dtype in lowered.specs]
    try:
        with torch.no_grad():
            compiled = torchs.compile_fx(lowered.module, [*examples, *lowered.constants])
    except (torchs.InvalidCxxCompiler, torchs.CppCompileError, torchs.InductorError) as error:
        raise GraphCompilerError(where="the lowered graph", got=str(error).strip()) from error
    return cast("Program", compiled)


COMPILERS: Mapping[str, Callable[[Lowered], Program]] = {"eager": program_of, "inductor": inductor}
