"""TorchAir's inference rules: the shapes of an operator's outputs from those of its inputs.

TorchAir derives them from Meta and writes them into the graph (`_inference_rule`), for operators
that are not CANN's own: inputs name sizes (`s0`), or values of a tensor on the host (`v0`); outputs
are expressions of these.
"""

from __future__ import annotations

import ast
import json
import math
import operator
from typing import TYPE_CHECKING

from opwright.engine.dtypes import from_runtime
from opwright.engine.errors import GraphFormError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import torch

__all__ = ["infer"]

OPERATORS: Mapping[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": operator.truediv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "Floor": math.floor,
    "Ceil": math.ceil,
    "Max": max,
    "Min": min,
    "Abs": abs,
}


def infer(
    rule: str,
    shapes: Sequence[tuple[int, ...] | None],
    values: Sequence[Sequence[int] | None],
    *,
    where: str,
) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Return shape and dtype of each output.

    Parameters
    ----------
    shapes, values
        Of each input; None for one without a tensor, or whose values are not known.
    where
        The node, for error messages.

    Raises
    ------
    GraphFormError
        OPW-N001: a rule that does not fit the node.
    """
    try:
        parts = json.loads(rule)
        named, outputs, codes = parts["shape"]["inputs"], parts["shape"]["outputs"], parts["dtype"]
        known = names(named, shapes, values)
        sizes = [tuple(size(each, known) for each in output) for output in outputs]
        return list(
            zip(sizes, (from_runtime(code, where=where) for code in codes), strict=True)
        )
    except (ValueError, KeyError, TypeError, SyntaxError, ArithmeticError) as error:
        raise GraphFormError(
            where=where, got=f"an inference rule that cannot be used: {error!r}"
        ) from error


def names(
    named: Sequence[Sequence[str] | None],
    shapes: Sequence[tuple[int, ...] | None],
    values: Sequence[Sequence[int] | None],
) -> dict[str, int]:
    """Return what the names of a rule stand for."""
    known: dict[str, int] = {}
    for entry, shape, value in zip(named, shapes, values, strict=False):
        plain = [name for name in entry or () if name.isidentifier()]
        if not plain:
            continue
        given = value if plain[0].startswith("v") else shape
        if given is None or len(given) != len(entry or ()):
            message = f"{entry} for an input of shape {shape}"
            raise ValueError(message)
        known.update(
            (name, number)
            for name, number in zip(entry or (), given, strict=True)
            if name.isidentifier()
        )
    return known


def size(text: str, known: Mapping[str, int]) -> int:
    """Return the value of an expression.

    >>> size("Floor(Div(s0 + 1, 2)) * s1", {"s0": 6, "s1": 5})
    15
    """
    value = evaluate(ast.parse(text, mode="eval").body, known)
    if value != int(value):
        message = f"{text} is {value}"
        raise ValueError(message)
    return int(value)


def evaluate(tree: ast.expr, known: Mapping[str, int]) -> float:
    """Return the value of a part of an expression."""
    match tree:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return known[name]
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](evaluate(left, known), evaluate(right, known))
        case ast.UnaryOp(op=op, operand=operand):
            return OPERATORS[type(op)](evaluate(operand, known))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*(evaluate(each, known) for each in arguments))
        case _:
            message = f"{ast.unparse(tree)} is no expression of sizes"
            raise ValueError(message)
