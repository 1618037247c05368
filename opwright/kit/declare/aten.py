"""The names of torch's own operators, which a formula of a backward may call."""

from __future__ import annotations

import ast
import functools
from importlib.resources import files

__all__ = ["find_aten_function", "read_aten_functions"]

# Prefixes of a name in a formula.
PREFIXES = ("torch.ops.aten.", "torch.")


@functools.cache
def read_aten_functions() -> frozenset[str]:
    """Return the names, those of the torch that tools/aten_functions.py has read.

    >>> "cos" in read_aten_functions(), "coss" in read_aten_functions()
    (True, False)
    """
    text = files("opwright.kit.declare").joinpath("aten_functions.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def find_aten_function(called: ast.expr) -> str | None:
    """Return the operator of torch that a call names; None if it names none.

    >>> find_aten_function(ast.parse("torch.ops.aten.cos", mode="eval").body)
    'cos'
    """
    text = ast.unparse(called)
    prefix = next((each for each in PREFIXES if text.startswith(each)), "")
    name = text.removeprefix(prefix)
    return name if name in read_aten_functions() else None
