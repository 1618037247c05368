"""Which calls TorchAir can have in a graph, whatever the operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from opwright.check.observe.compiling import fake_results
from opwright.check.subject import flat

if TYPE_CHECKING:
    from opwright.check.observe.compiling import Backend
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["backend_of", "is_dynamic", "why_no_graph"]


def backend_of(context: RowContext) -> Backend:
    """Return what compiles in a column."""
    return cast("Backend", context.column.removesuffix("-dynamic"))


def is_dynamic(context: RowContext) -> bool:
    """Return whether sizes are symbols in a column."""
    return context.column.endswith("dynamic")


def why_no_graph(context: RowContext, sample: Sample) -> str | None:
    """Say why no graph can have a call, whatever the operator is; None if one can."""
    backend = backend_of(context)
    if backend == "aot_eager":
        return None
    values = context.arguments(sample, "cpu")
    if not flat(values):
        return (
            "TorchAir computes on the NPU; without a tensor nothing says that a call belongs there"
        )
    lists = [each for each in values.values() if isinstance(each, list | tuple)]
    if backend == "max-autotune" and any(None in map(type_or_none, each) for each in lists):
        return "a list of tensors with None in it: the graph engine has no such inputs"
    if writes_nothing(context, values):
        return (
            "no argument that is written is given: of a result, a graph of TorchAir returns the "
            "first part alone (torch's decompose_auto_functionalized, not the operator)"
        )
    results = fake_results(context, sample)
    if any(isinstance(size, torch.SymInt) for tensor in results for size in tensor.shape):
        return "the size of a result depends on data: TorchAir makes no graphs of such operators"
    if any(tensor.device.type == "cpu" for tensor in results) and context.device != "cpu":
        return "a result is on the host: TorchAir's graphs compute on the NPU"
    if (
        backend == "reduce-overhead"
        and is_dynamic(context)
        and any(tensor.numel() == 0 for tensor in results)
    ):
        return "a result is empty: TorchAir captures no second graph beside one with such a result"
    return None


def writes_nothing(context: RowContext, values: Values) -> bool:
    """Return whether an operator with one result may write, and is given nothing to write."""
    schema = context.subject.schema
    written = flat({argument.name: values[argument.name] for argument in schema.mutated})
    return bool(schema.mutated) and not written and len(schema.results) == 1


def type_or_none(value: object) -> object:
    """Return None for None, else the type: tensors are not compared."""
    return None if value is None else type(value)
