"""The operator that compiled graphs have in place of one that writes.

Where functionalization cannot take an operator as it is, its library replaces it by one that it can
take. That one has the converter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.comparing import programs, run
from opwright.check.observe.watch import silence_torch
from opwright.internals.dispatcher import OpOverload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.check.row_context import RowContext

__all__ = ["find_graph_forms"]

SUFFIX = "_argument"  # of arguments whose names torch does not allow in graphs


def find_graph_forms(context: RowContext) -> list[Any]:
    """Return the operators with the same arguments that a traced graph has in an operator's place.

    They are of the same namespace. Empty if the operator does not write, has no samples, or cannot
    be traced, which row functionalization reports.
    """
    sample = next(iter(context.samples.of((), 0)), None)
    if sample is None or not context.subject.schema.mutated:
        return []
    # It takes a second, which rows without a compiler need not wait for.
    from functorch.compile import (  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types
        aot_function,
        make_boxed_func,
    )

    found: dict[Any, None] = {}

    def keep(graph: torch.fx.GraphModule, inputs: Sequence[object]) -> Any:  # noqa: ANN401 - torch has no type
        del inputs
        found.update(dict.fromkeys(operators_of(graph)))
        return make_boxed_func(graph.forward)

    (program,) = programs(context, sample, ("inside",))
    function = aot_function(
        program.function(context.subject.overload),
        fw_compiler=keep,
        bw_compiler=keep,
        inference_compiler=keep,
    )
    try:
        with silence_torch(), torch.no_grad():
            run(context, program, function, sample)
    except Exception:  # noqa: BLE001 - kernels and Meta are the author's
        return []
    return [each for each in found if is_form_of(context, each)]


def operators_of(graph: torch.fx.GraphModule) -> Iterator[Any]:
    """Yield the operators of a graph, those that functionalization wraps as well."""
    for node in graph.graph.nodes:
        for each in (node.target, *node.args):
            if isinstance(each, OpOverload):
                yield each


def is_form_of(context: RowContext, operator: Any) -> bool:  # noqa: ANN401 - torch.ops has no types
    """Return whether an operator stands for the one under check."""
    subject = context.subject
    if operator is subject.overload or operator.namespace != subject.namespace:
        return False
    names = [each.name.removesuffix(SUFFIX) for each in operator._schema.arguments]  # noqa: SLF001 - it has no public name
    return names == [each.name for each in subject.schema.arguments]
