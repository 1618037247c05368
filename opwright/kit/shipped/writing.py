"""TorchAir's conversion of calls that write, also where TorchAir's own fails.

That is where a written list is passed, a written tensor is not there, several written tensors are
views of one, or a converter adds several nodes that write. torch then has one node
(auto_functionalized_v2) with the tensors that the views belong to, its bases; the node's results
are those of the operator, then the bases.
"""
# ruff: noqa: ANN401 - TorchAir has no types

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ._internals_of_torchair import (
    ControlTensor,
    Identity,
    Tensor,
    TensorMove,
    auto_functionalize,
    auto_functionalized_v2,
    get_default_ge_graph,
    get_or_auto_gen_converter,
    infer_and_gen_sym_shape_silent,
    layout_equal,
    regenerate_view,
    view_copy,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["mend_torchair"]

NAME = "conveter_auto_functionalize_v2"  # as TorchAir spells it


def mend_torchair() -> None:
    """Let TorchAir convert what it does not, once in a process and without a way back."""
    original = getattr(auto_functionalized_v2, NAME)
    if hasattr(original, "opwright_mends"):
        return

    @functools.wraps(original)
    def convert(operator: Any, *args: Any, **kwargs: Any) -> Any:
        views, _ = views_of(operator, kwargs)
        if args or [getattr(view, "base_index", -1) for view in views.values()] == [0]:
            return original(operator, *args, **kwargs)
        return converted(operator, kwargs)

    vars(convert)["opwright_mends"] = original
    setattr(auto_functionalized_v2, NAME, convert)


def views_of(operator: Any, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return by written argument its view of a base, and the arguments that are not written."""
    names, types = auto_functionalize.get_mutable_args(operator)
    others = dict(given)
    bases = others.pop("_all_bases", [])
    others.pop("symbol_input_map", None)
    return auto_functionalize.read_view_information_from_args(names, types, others, bases), others


def converted(operator: Any, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Add the node of an operator that writes views of bases; return its results and the bases."""
    views, others = views_of(operator, given)
    symbols = given.get("symbol_input_map", {})
    copies = [moved(base) for base in given["_all_bases"]]
    arguments = {**others, **{name: seen(view, copies, symbols) for name, view in views.items()}}
    graph = get_default_ge_graph()
    before = len(graph.op)
    result = get_or_auto_gen_converter(operator)(**arguments)
    infer_and_gen_sym_shape_silent(operator, [], arguments, result, graph.op[before:])
    bases = written_bases(list(flat(views.values())), copies, graph.op[before:])
    return (*result, *bases) if isinstance(result, tuple) else (result, *bases)


def moved(base: Any) -> Any:
    """Return a copy of a base, which TorchAir leaves out where nobody needs the old values."""
    copy = TensorMove(base)
    copy.set_meta(base.meta)
    return copy


def seen(view: Any, copies: Sequence[Any], symbols: Mapping[Any, Any]) -> Any:
    """Return what a written argument gets: a tensor, a list of them, or None."""
    if isinstance(view, list):
        return [seen(each, copies, symbols) for each in view]
    return None if view is None else regenerate_view[type(view)](view, copies, symbols)


def flat(views: Any) -> Iterator[Any]:
    """Yield the views, without those of arguments that are not there."""
    for view in views:
        if isinstance(view, list):
            yield from flat(view)
        elif view is not None:
            yield view


def written_bases(views: Sequence[Any], copies: Sequence[Any], nodes: Sequence[Any]) -> list[Any]:
    """Return the bases after nodes wrote their views.

    Views of one base are written back one after the other.
    """
    bases = list(copies)
    after = [ControlTensor(node) for node in nodes]
    for view in views:
        whole = isinstance(view, auto_functionalize.NotView) or layout_equal(view)
        place = view.base_index
        if whole:
            written = written_by(nodes, copies[place])
            bases[place] = written or Identity(bases[place], dependencies=after)
        else:
            bases[place] = view_copy(view, bases, dependencies=after)
    return bases


def written_by(nodes: Sequence[Any], tensor: Any) -> Any:
    """Return what the last node answers that writes a tensor: an output with the input's name."""
    for node in reversed(nodes):
        for source, entry in zip(node.input, node.input_desc, strict=False):
            names = [output.name for output in node.output_desc]
            if source == tensor.tensor and entry.name in names:
                return Tensor(node, names.index(entry.name))
    return None
