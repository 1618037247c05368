"""TorchAir's inference rules: the shapes of an operator's outputs from those of its inputs.

TorchAir derives them from Meta and writes them into the graph (`_inference_rule`), for operators
that are not CANN's own: inputs name sizes (`s0`), or values of a tensor on the host (`v0`); outputs
are expressions of these. Where it could not, the shapes that Meta gave say the same.
"""

from __future__ import annotations

import ast
import functools
import json
import math
import operator
import re
from typing import TYPE_CHECKING, cast

import torch

from opwright.graph_engine.errors import GraphFormError
from opwright.graph_engine.graph.model import find_port
from opwright.graph_engine.tensors.dtypes import RUNTIME_CODES, from_runtime
from opwright.kit.shipped._internals import FakeTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.graph_engine.graph.model import Node
    from opwright.graph_engine.tensors.specs import Spec

__all__ = ["check_rule", "infer", "infer_specs", "meta_outputs", "rule_of_shapes", "size"]

SHAPE = re.compile(r"shape=torch\.Size\(\[(.*)\]\)")
COMMA = re.compile(r",\s*(?![^()]*\))")  # between sizes, not between the arguments of a function

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


def rule_of_shapes(
    inputs: Sequence[str], outputs: Sequence[str], dtypes: Sequence[torch.dtype | None]
) -> str:
    """Return a rule made of what TorchAir notes of Meta's tensors; empty if it notes no output.

    >>> rule_of_shapes(["Tensor(dtype=torch.float32, shape=torch.Size([s0, 4])"], [""], [None])
    ''
    """
    shapes = [sizes_of(text) for text in outputs]
    if not any(shape is not None for shape in shapes):
        return ""
    codes = [None if dtype is None else RUNTIME_CODES[dtype] for dtype in dtypes]
    named = [sizes_of(text) for text in inputs]
    rule = {"shape": {"inputs": named, "outputs": shapes}, "dtype": codes, "from": "meta"}
    return json.dumps(rule)


def sizes_of(text: str) -> list[str] | None:
    """Return the sizes of a tensor as TorchAir prints it; None for anything else."""
    found = SHAPE.search(text)
    if found is None:
        return None
    return [part.strip() for part in COMMA.split(found[1])] if found[1].strip() else []


def check_rule(rule: str, *, where: str) -> None:
    """Raise GraphFormError (OPW-N001) unless a rule is empty or an object in JSON."""
    try:
        wrong = bool(rule) and not isinstance(parsed(rule), dict)
    except ValueError:
        wrong = True
    if wrong:
        raise GraphFormError(where=where, got=f"the inference rule {rule!r}", allowed=["JSON"])


def meta_outputs(rule: str) -> Sequence[tuple[Sequence[str], int] | None]:
    """Return sizes and dtype that Meta gave the outputs; nothing if TorchAir wrote the rule."""
    parts = parsed(rule) if rule else {}
    if parts.get("from") != "meta":
        return []
    pairs = zip(parts["shape"]["outputs"], parts["dtype"], strict=True)
    return [None if sizes is None or code is None else (sizes, code) for sizes, code in pairs]


def infer(
    rule: str,
    shapes: Sequence[tuple[int, ...] | None],
    values: Sequence[Sequence[int] | None],
    *,
    where: str,
) -> list[tuple[tuple[int, ...], torch.dtype] | None]:
    """Return shape and dtype of each output; None for one that the rule does not say.

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
        parts = parsed(rule)
        named, outputs, codes = parts["shape"]["inputs"], parts["shape"]["outputs"], parts["dtype"]
        known = names(named, shapes, values)
        # Sizes from Meta may be ones that only other nodes have names for.
        partial = parts.get("from") == "meta"
        return [
            None
            if output is None or code is None or (partial and not are_known(output, known))
            else (tuple(size(each, known) for each in output), from_runtime(code, where=where))
            for output, code in zip(outputs, codes, strict=True)
        ]
    except (ValueError, KeyError, TypeError, SyntaxError, ArithmeticError) as error:
        raise GraphFormError(
            where=where, got=f"an inference rule that cannot be used: {error!r}"
        ) from error


def infer_specs(node: Node, inputs: Mapping[str, object]) -> Sequence[Spec | None]:
    """Return what TorchAir's inference rule says of the outputs; nothing without one."""
    if not node.rule:
        return []
    shapes: list[tuple[int, ...] | None] = []
    values: list[Sequence[int] | None] = []
    seen: dict[str, int] = {}
    for name, source in node.inputs:
        value = inputs.get(name)
        if value is None and isinstance(found := inputs.get(stem := find_port(name, inputs)), list):
            index = seen[stem] = seen.get(stem, -1) + 1
            value = found[index] if index < len(found) else None
        tensor = value if source is not None and isinstance(value, torch.Tensor) else None
        shapes.append(None if tensor is None else tuple(tensor.shape))
        values.append(values_of(tensor))
    return infer(node.rule, shapes, values, where=str(node))


def values_of(tensor: torch.Tensor | None) -> Sequence[int] | None:
    """Return the values of a tensor that are known."""
    if tensor is None or isinstance(tensor, FakeTensor):
        return None
    return cast("list[int]", tensor.flatten().tolist())


parsed = functools.lru_cache(maxsize=4096)(json.loads)  # they are only read


@functools.lru_cache(maxsize=4096)
def tree_of(text: str) -> ast.expr:
    """Return the tree of an expression."""
    return ast.parse(text, mode="eval").body


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
    if text.isdigit():
        return int(text)
    value = evaluate(tree_of(text), known)
    if value != int(value):
        message = f"{text} is {value}"
        raise ValueError(message)
    return int(value)


def are_known(sizes: Sequence[str], known: Mapping[str, int]) -> bool:
    """Return whether all names in expressions are known.

    >>> are_known(["s0 + 1", "4"], {"s0": 6}), are_known(["s1"], {"s0": 6})
    (True, False)
    """
    called = set(FUNCTIONS)
    found = {n.id for each in sizes for n in ast.walk(tree_of(each)) if isinstance(n, ast.Name)}
    return found - called <= known.keys()


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
