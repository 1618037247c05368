"""Tools of converters for TorchAir: values of a schema -> inputs and attributes of a node."""
# ruff: noqa: ANN401 - TorchAir has no types
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch
from torchair.ge import Clone, Const, Tensor

from ._internals_of_torchair import (
    Assign,
    ControlTensor,
    dont_prune_me,
    dtype_promote,
    get_default_ge_graph,
    sympy_to_ge_expr,
    torch_type_to_ge_type,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_tensor", "assigned", "attributes", "copied", "ge_dtype", "keep_node", "promoted"]

RULE = "_inference_rule"  # the attribute for GE
# By class of torchair.ge.attr, without "List" in front, the Python types of values.
TYPES: dict[str, type | tuple[type, ...]] = {
    "Bool": bool,
    "DataType": int,
    "Float": (float, int),
    "Int": int,
    "Str": str,
}


def attributes(op_type: str, **given: tuple[Any, Any]) -> dict[str, Any]:
    """Make the attributes of a node; for those that are None, the operator's default holds.

    Parameters
    ----------
    given
        By name, the class of torchair.ge.attr and the value.

    Raises
    ------
    TypeError
        A value of another type, or a size that is known only when the graph runs.
    """
    made = {}
    for name, (kind, value) in given.items():
        if value is not None:
            check_attribute(kind.cls, value, where=f"attribute '{name}' of {op_type}")
            made[name] = kind(list(value) if isinstance(value, tuple) else value)
    return made


def check_attribute(kind: str, value: Any, *, where: str) -> None:
    """Raise unless a value has the type of an attribute."""
    if isinstance(value, Tensor):
        message = (
            f"{where}: got a size that is known only when the graph runs, but attributes are "
            "constants; compile with dynamic=False, mark the axis as static, or let the prototype "
            "take it as an input"
        )
        raise TypeError(message)
    if kind.startswith("List") and isinstance(value, list | tuple):
        for each in value:
            check_attribute(kind.removeprefix("List"), each, where=where)
        return
    if not isinstance(value, TYPES.get(kind, ())):
        message = f"{where}: got {value!r}; allowed: {kind} of torchair.ge.attr"
        raise TypeError(message)


def as_tensor(value: Any) -> Any:
    """Return values as a tensor of the graph; None stays None."""
    return value if value is None or isinstance(value, Tensor) else Const(value)


def ge_dtype(dtype: Any) -> Any:
    """Return GE's number of a dtype, or those of a list; None stays None."""
    if isinstance(dtype, list | tuple):
        return [ge_dtype(each) for each in dtype]
    return None if dtype is None else torch_type_to_ge_type(dtype)


def copied(value: Any) -> Any:
    """Return copies of tensors that the node writes, while the caller keeps his own."""
    if isinstance(value, list | tuple):
        return [copied(each) for each in value]
    return None if value is None else Clone(value)


def promoted(value: Any, dtype: Any) -> Any:
    """Cast tensors to the dtype that they have together, as PyTorch's operators do themselves."""
    if isinstance(value, list | tuple):
        return [promoted(each, dtype) for each in value]
    return None if value is None else dtype_promote(value, target_dtype=dtype)


def assigned(target: Any, value: Any, *inputs: Any) -> Any:
    """Write a result into a tensor that the operator writes without reading it (`out=`).

    Parameters
    ----------
    inputs
        Of the node; GE learns from their sizes those of the result.
    """
    if isinstance(target, list | tuple):
        pairs = zip(target, value, strict=True)
        return [assigned(into, each, *inputs) for into, each in pairs]
    say_sizes(value, target.meta, [each for given in inputs for each in flat(given)])
    return Assign(target, value)


def say_sizes(value: Any, meta: torch.Tensor, inputs: Sequence[Any]) -> None:
    """Note at a node the sizes and dtype of an output, by those of its inputs.

    TorchAir does so for what an operator returns (infer_symbol_shape.py).
    """
    node, count = value.node, len(value.node.output_desc)
    known = json.loads(node.attr[RULE].s) if RULE in node.attr else None
    rule = known or {"shape": {"outputs": [None] * count}, "dtype": [None] * count}
    rule["shape"]["inputs"] = [sizes(getattr(each, "meta", None)) for each in inputs]
    rule["shape"]["outputs"][value.index] = sizes(meta)
    rule["dtype"][value.index] = ge_dtype(meta.dtype)
    node.attr[RULE].s = json.dumps(rule).encode()


def sizes(meta: Any) -> list[str] | None:
    """Return the sizes of a tensor as expressions; None for what is no tensor."""
    if not isinstance(meta, torch.Tensor):
        return None
    return [sympy_to_ge_expr(str(size), {}) for size in meta.shape]


def flat(value: Any) -> list[Any]:
    """Return the tensors of an argument."""
    if isinstance(value, list | tuple):
        return [tensor for each in value for tensor in flat(each)]
    return [] if value is None else [value]


def keep_node() -> None:
    """Keep the node that was added last, though nothing uses it."""
    dont_prune_me(ControlTensor(get_default_ge_graph().op[-1]))
