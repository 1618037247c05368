"""Names without a public form that converters take from TorchAir, and why: here alone.

torchair.ge has the functions that add nodes, and not the graph that they are added to.
"""
# ruff: noqa: ANN401 - TorchAir has no types
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import Any

# A write, as torch.compile turns it into a node of torch's. Its views have no public classes.
from torch._higher_order_ops import auto_functionalize
from torchair._ge_concrete_graph import auto_functionalized_v2
from torchair._ge_concrete_graph.auto_functionalized_v2 import (
    _regenerate_alias_view,
    _regenerate_as_strided_view,
    _regenerate_not_view,
    _regenerate_slice_view,
)
from torchair._ge_concrete_graph.auto_functionalized_v2 import _view_copy as view_copy
from torchair._ge_concrete_graph.fx2ge_converter import get_or_auto_gen_converter

# Functions that torchair.ge leaves out.
from torchair._ge_concrete_graph.ge_apis import Assign, Identity, TensorMove
from torchair._ge_concrete_graph.infer_symbol_shape import (
    infer_and_gen_sym_shape_silent,
    sympy_to_ge_expr,
)
from torchair._ge_concrete_graph.utils import dtype_promote
from torchair.ge._ge_graph import (
    ControlTensor,
    Tensor,
    dont_prune_me,
    get_default_ge_graph,
    torch_type_to_ge_type,
)

__all__ = [
    "Assign",
    "ControlTensor",
    "Identity",
    "Tensor",
    "TensorMove",
    "auto_functionalize",
    "auto_functionalized_v2",
    "dont_prune_me",
    "dtype_promote",
    "get_default_ge_graph",
    "get_or_auto_gen_converter",
    "infer_and_gen_sym_shape_silent",
    "layout_equal",
    "regenerate_view",
    "sympy_to_ge_expr",
    "torch_type_to_ge_type",
    "view_copy",
]

# By class of a view, what adds the nodes that make it of its base.
regenerate_view: dict[Any, Any] = {
    auto_functionalize.AliasViewInfo: _regenerate_alias_view,
    auto_functionalize.AsStridedViewInfo: _regenerate_as_strided_view,
    auto_functionalize.NotView: _regenerate_not_view,
    auto_functionalize.SliceViewInfo: _regenerate_slice_view,
}


# They note at a view whether it is the whole base.
def layout_equal(view: Any) -> bool:
    """Return whether a view that was made is its base."""
    noted: bool = getattr(view, "_layout_equal", False)
    return noted
