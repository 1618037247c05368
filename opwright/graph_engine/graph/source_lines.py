"""The line of Python behind a node, as TorchAir recorded it, for errors.

TorchAir keeps, beside each graph of this process, Python code that would build it again, with the
user's file and line ahead of what came from it. Nothing of it reaches the serialized graph, so that
the object is looked for; only when there is an error to report.
"""

from __future__ import annotations

import contextlib
import gc
import re
import sys
from typing import TYPE_CHECKING, Any, cast

from opwright.errors import OpwrightError
from opwright.internals import modules

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["line_in", "name_lines"]

NODE = re.compile(r"node '([^']+)'")
FX_NODE = re.compile(r"FX node '([^']+)'")


@contextlib.contextmanager
def name_lines(graph: str) -> Iterator[None]:
    """Add the line of Python to errors that name a node of this graph."""
    try:
        yield
    except OpwrightError as error:
        add_source_line(error, graph)
        raise


def add_source_line(error: OpwrightError, graph: str) -> None:
    """Add the line of Python to the place that an error names, if it names a node."""
    node, fx_node = NODE.search(error.where), FX_NODE.search(error.where)
    if node is None:
        return
    for code in codes_of(graph):
        line = line_in(code, node[1], fx_node[1] if fx_node else "")
        if line:
            error.where += f", {line}"
            error.args = (error.where, *error.args[1:])
            return


def codes_of(graph: str) -> list[str]:
    """Return the code of TorchAir's graphs of this name, the latest first."""
    module = sys.modules.get(modules.GE_GRAPH)
    if module is None:
        return []
    kind = cast("Any", module).GeGraph
    found = [each for each in gc.get_objects() if type(each) is kind]
    return [each.python_code for each in reversed(found) if each._proto.name == graph]  # noqa: SLF001 - it has no other name


def line_in(code: str, node: str, fx_node: str) -> str:
    """Return the file and line that a node of a graph came from.

    >>> code = '# File "a.py", line 3, in f    return x + 1' + chr(10)
    >>> code += '## FX Code: add: torch.float32[2] = torch.ops.aten.add(x, 1)' + chr(10)
    >>> code += 'Add_0_0 = ge.Add(a, b, node_name="Add")'
    >>> line_in(code, "Add", ""), line_in(code, "other", "add"), line_in(code, "other", "")
    ('File "a.py", line 3, in f', 'File "a.py", line 3, in f', '')
    """
    marks = [f'node_name="{node}"', f"## FX Code: {fx_node}:"][: 2 if fx_node else 1]
    lines = code.splitlines()
    for mark in marks:
        for number, text in enumerate(lines):
            if mark in text:
                before = [line for line in lines[:number] if line.startswith("# File ")]
                return re.sub(r"\s{2,}.*", "", before[-1][2:]) if before else ""
    return ""
