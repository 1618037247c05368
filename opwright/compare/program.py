"""Runs a program in a process of its own, with its step in one of the modes.

    python -m opwright.compare.program FOLDER RUN CALLS STEP FILE ARGUMENTS...

The file is run as `__main__`. The function that is called STEP in it gets the decorator of
`opwright.compare.mark`, unless the program has marked one itself.
"""

from __future__ import annotations

import ast
import random
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
import torch_npu  # noqa: F401 - a step for the NPU needs it, whether its program says so or not

from opwright.compare.mark import replace_steps
from opwright.compare.record import NO_STEP
from opwright.compare.session import Session, StepsDone

if TYPE_CHECKING:
    from opwright.compare.modes import RunName

__all__ = ["run_file"]

INPUTS = "inputs"  # a function that returns the arguments of a step which nobody calls


def main(folder: str, run: str, calls: str, step: str, file: str, *arguments: str) -> int:
    """Run the program as a command line says it; return the exit code."""
    session = Session(cast("RunName", run), Path(folder), int(calls))
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the generator that programs use without one of their own
    sys.argv = [file, *arguments]
    with replace_steps(session.wrap), suppress(StepsDone):
        namespace = run_file(file, step)
        make_inputs = namespace.get(INPUTS)
        if session.step is not None and session.last is None and callable(make_inputs):
            session.step(*make_inputs())
        session.repeat()
    session.write()
    return 0 if session.calls or session.failure else NO_STEP


def run_file(file: str, step: str) -> dict[str, object]:
    """Run a file as the main module, which it stays in this process; return its names.

    Parameters
    ----------
    step
        The function that is the step unless one is marked, as in `step` or `Model.forward`.
    """
    path = Path(file).resolve()
    tree = ast.parse(path.read_bytes(), filename=str(path))
    mark_function(tree, step)
    module = ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    sys.path[0] = str(path.parent)
    exec(compile(tree, str(path), "exec"), module.__dict__)  # noqa: S102 - it is the user's program
    return module.__dict__


def mark_function(tree: ast.Module, name: str) -> None:
    """Give the decorator of a step to a function, if it is there.

    Parameters
    ----------
    name
        As in `step` or `Model.forward`.
    """
    for found, node in find_functions(tree):
        if found == name:
            mark = ast.parse("__import__('opwright.compare').compare.step", mode="eval").body
            for each in ast.walk(mark):
                ast.copy_location(each, node)
            node.decorator_list.append(mark)  # next to the function: others decorate its result
            return


def find_functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Return the functions of a file, and those of its classes as `Class.function`."""
    found: list[tuple[str, ast.FunctionDef]] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append((node.name, node))
        elif isinstance(node, ast.ClassDef):
            inner = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found += ((f"{node.name}.{each.name}", each) for each in inner)
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
