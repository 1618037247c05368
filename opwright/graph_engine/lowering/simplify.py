"""Rules that make a lowered graph cheaper and leave its results as they are.

TorchAir writes scalars as constants and linear layers as three operators; kernels answer outputs
that nobody uses. Results stay those of the operators that the model called, to the last bit where
a rule restores the operator that a converter took apart.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, cast

import torch

from opwright.internals.dispatcher import OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx.node import Node

__all__ = ["simplify"]

aten = torch.ops.aten
CONTROL = "opwright_engine::control"

# With a number in place of the second tensor; the results are the same if its dtype is the first's.
WITH_NUMBER: dict[object, OpOverload] = {
    aten.add.Tensor: aten.add.Scalar,
    aten.sub.Tensor: aten.sub.Scalar,
    aten.mul.Tensor: aten.mul.Scalar,
    aten.div.Tensor: aten.div.Scalar,
    aten.div.Tensor_mode: aten.div.Scalar_mode,
    aten.pow.Tensor_Tensor: aten.pow.Tensor_Scalar,
    aten.eq.Tensor: aten.eq.Scalar,
    aten.ne.Tensor: aten.ne.Scalar,
    aten.lt.Tensor: aten.lt.Scalar,
    aten.le.Tensor: aten.le.Scalar,
    aten.gt.Tensor: aten.gt.Scalar,
    aten.ge.Tensor: aten.ge.Scalar,
}
# Operators that may change nothing at all.
VIEWS = {
    aten.expand.default,
    aten.view.default,
    aten._unsafe_view.default,  # noqa: SLF001 - its name
    aten.permute.default,
    aten.clone.default,
}


def simplify(module: torch.fx.GraphModule, constants: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Simplify a graph in place, and return the constants that it still takes.

    Parameters
    ----------
    constants
        The values of its last placeholders.
    """
    graph = module.graph
    placeholders = graph.find_nodes(op="placeholder")
    values = dict(zip(placeholders[len(placeholders) - len(constants) :], constants, strict=True))
    for node in list(graph.nodes):
        make_scalar_operand(node, values)
    if not any(is_mutable(node) for node in graph.nodes):
        for rule in RULES:
            for node in list(graph.nodes):
                replacement = rule(node)
                if replacement is not None:
                    node.replace_all_uses_with(replacement)
    graph.eliminate_dead_code(lambda node: node.is_impure() or is_mutable(node))
    for node in [node for node in values if not node.users]:
        del values[node]
        graph.erase_node(node)
    module.recompile()
    return list(values.values())


def is_mutable(node: Node) -> bool:
    """Whether a call may write one of its arguments, as the graphs that a node calls may."""
    if not isinstance(node.target, OpOverload):
        return False
    schema = node.target._schema  # noqa: SLF001 - the only access
    return schema.is_mutable or schema.name == CONTROL


def make_scalar_operand(node: Node, values: dict[Node, torch.Tensor]) -> None:
    """Give an operator its second operand as a number if it is a constant of one element."""
    function = WITH_NUMBER.get(node.target)
    if function is None:
        return
    first, second, *more = node.args
    constant = values.get(cast("Node", second))
    if constant is None or constant.numel() != 1 or not isinstance(first, torch.fx.Node):
        return
    tensor = value_of(first)
    is_wide = constant.dim() > tensor.dim() or any(map(is_mutable, cast("Node", second).users))
    if is_wide or tensor.dtype != constant.dtype or tensor.dtype == torch.bool:
        return
    node.target = function
    node.args = (first, constant.item(), *more)


def remove_without_effect(node: Node) -> Node | None:
    """Return what a view, a copy, or a product with one is equal to."""
    if not node.args or not isinstance(node.args[0], torch.fx.Node):
        return None
    source = node.args[0]
    is_product = node.target in (aten.mul.Scalar, aten.div.Scalar) and node.args[1] == 1
    if node.target not in VIEWS and not is_product:
        return None
    before, after = value_of(source), value_of(node)
    is_same = (
        before.shape == after.shape
        and before.dtype == after.dtype
        and before.stride() == after.stride()
    )
    # An output is not to lie in the memory of an input, which another output may overwrite.
    return source if is_same and not is_view_of_input(source) else None


def is_view_of_input(node: Node) -> bool:
    """Whether a value may be a view of one of the graph's inputs."""
    while node.op == "call_function":
        if isinstance(node.target, OpOverload):
            returns = node.target._schema.returns  # noqa: SLF001 - the only access
            if all(each.alias_info is None for each in returns):
                return node.target in VIEWS and is_view_of_input(cast("Node", node.args[0]))
        elif node.target is not operator.getitem:
            return True
        node = cast("Node", node.args[0])
    return True


def restore_linear(node: Node) -> Node | None:
    """Return 1 * (a @ b) + bias, which a converter made of addmm, as addmm."""
    if node.target is not aten.add.Tensor or node.kwargs or len(node.args) != len("ab"):
        return None
    product, bias = node.args
    if not isinstance(product, torch.fx.Node) or not isinstance(bias, torch.fx.Node):
        return None
    is_scaled = product.target is aten.mul.Scalar and product.args[1] == 1
    product = cast("Node", product.args[0]) if is_scaled else product
    if not is_scaled or product.target is not aten.mm.default or bias.op != "placeholder":
        return None
    matrix, vector = value_of(product), value_of(bias)
    if vector.dim() != 1 or matrix.dtype != vector.dtype or matrix.shape[1] != vector.shape[0]:
        return None
    with node.graph.inserting_before(node):
        made = node.graph.call_function(aten.addmm.default, (bias, *product.args))
    made.meta = dict(node.meta)
    return made


def value_of(node: Node) -> torch.Tensor:
    """Return a fake tensor: what the node computed when it was traced."""
    return cast("torch.Tensor", node.meta["val"])


RULES: tuple[Callable[[Node], Node | None], ...] = (restore_linear, remove_without_effect)
