"""Gradients of a reference function: it is run again, with gradients."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from ._internals import (
    FakeTensor,
    enable_inplace_requires_grad,
    is_functorch_wrapped_tensor,
    is_traceable_wrapper_subclass,
    saved_tensors_hooks_disable,
    saved_tensors_hooks_enable,
    saved_tensors_hooks_get_disabled_error_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["vjp"]


def vjp(
    function: Callable[..., Any],
    values: Mapping[str, Any],
    *,
    positional: Sequence[str],
    written: Sequence[str],
    inputs: Sequence[str],
    outputs: Sequence[int | str],
    gradients: Sequence[Any],
) -> Any:  # noqa: ANN401 - one gradient, or several
    """Return the gradients of inputs for gradients of outputs.

    They can be differentiated again: where an input is part of a graph, so is what stands for it.

    Parameters
    ----------
    values
        The arguments of the function by name.
    positional
        The arguments that are passed by place, in order.
    written
        Those that the function writes; it gets copies.
    outputs
        Where each differentiable output is: a place among the results, or a written argument.
    gradients
        Of each output; None for zero.
    """
    leaves = [t for name in inputs for t in tensors(values[name]) if differentiable(t)]
    wanted = [each for value in gradients for each in listed(value)]

    def forward(*stand_ins: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rest = iter(stand_ins)
        given = dict(values)
        for name in inputs:
            given[name] = mapped(lambda t: next(rest) if differentiable(t) else t, given[name])
        for name in written:
            given[name] = mapped(torch.Tensor.clone, given[name])
        keywords = {name: value for name, value in given.items() if name not in positional}
        returned = function(*(given[name] for name in positional), **keywords)
        results = list(returned) if isinstance(returned, tuple) else [returned]
        found = [
            each
            for place in outputs
            for each in listed(given[place] if isinstance(place, str) else results[place])
        ]
        return tuple(o for o, g in zip(found, wanted, strict=True) if g is not None)

    flowing = [g for g in wanted if g is not None]
    pulled: Sequence[torch.Tensor | None] = [None] * len(leaves)
    if leaves and flowing:
        pulled = (
            pull_written(function, forward, leaves, flowing)
            if written
            else pull(forward, leaves, flowing)
        )
    rest = iter(pulled)
    found = [as_gradient(values[name], rest) for name in inputs]
    return found[0] if len(found) == 1 else tuple(found)


def pull_written(
    function: Callable[..., Any],
    forward: Callable[..., tuple[torch.Tensor, ...]],
    leaves: list[torch.Tensor],
    flowing: list[torch.Tensor],
) -> Sequence[torch.Tensor | None]:
    """Return gradients of the leaves of a function that writes what autograd may need.

    Autograd saves copies. In a transformation of torch.func, or when torch.compile traces, it does
    not see through these; there it refuses a function that needs them.
    """
    if any(map(is_followed, (*leaves, *flowing))):
        try:
            return pull(forward, leaves, flowing)
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            message = (
                f"the gradients of {function.__name__} cannot be computed under torch.func or "
                "torch.compile: it writes over values that they need; let it compute with copies "
                "of what it writes, as in x.copy_(x.clone() ** 2), or give it a backward function"
            )
            raise RuntimeError(message) from error
    with saving_copies():
        return pull(forward, leaves, flowing)


@contextmanager
def saving_copies() -> Iterator[None]:
    """Have autograd save copies, so that what is saved may be overwritten.

    torch.func forbids hooks for the code that it transforms; a kernel below it is not that code.
    """
    forbidden = saved_tensors_hooks_get_disabled_error_message()
    if forbidden is not None:
        saved_tensors_hooks_enable()
    try:
        with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda tensor: tensor):
            yield
    finally:
        if forbidden is not None:
            saved_tensors_hooks_disable(forbidden)


def is_followed(tensor: torch.Tensor) -> bool:
    """Return whether a tensor stands for others: in a transformation, or in a trace."""
    stands_in = (is_functorch_wrapped_tensor, is_traceable_wrapper_subclass)
    return isinstance(tensor, FakeTensor) or any(each(tensor) for each in stands_in)


def as_gradient(value: Any, rest: Iterator[torch.Tensor | None]) -> Any:  # noqa: ANN401 - any argument
    """Return the gradient of an argument; in a list, zeros where there is none."""
    if isinstance(value, torch.Tensor):
        return next(rest) if differentiable(value) else None
    if not isinstance(value, list | tuple):
        return None
    found = [next(rest) if t is not None and differentiable(t) else None for t in value]
    pairs = zip(found, value, strict=True)
    return [torch.zeros_like(t) if g is None and t is not None else g for g, t in pairs]


def pull(
    forward: Callable[..., tuple[torch.Tensor, ...]],
    leaves: list[torch.Tensor],
    flowing: list[torch.Tensor],
) -> Sequence[torch.Tensor | None]:
    """Return gradients of the leaves."""
    again = torch.is_grad_enabled()
    # Inside a transformation of torch.func, this is its autograd: leaves are made as it makes them.
    with torch.set_grad_enabled(mode=True), enable_inplace_requires_grad(enabled=True):
        stand_ins = [stand_in(t) for t in leaves]
        results = forward(*stand_ins)
        pairs = [(o, g) for o, g in zip(results, flowing, strict=True) if o.requires_grad]
        if not pairs:
            return [None] * len(leaves)
        reached, grads = zip(*pairs, strict=True)
        return torch.autograd.grad(reached, stand_ins, grads, create_graph=again, allow_unused=True)


def stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """Return a place of its own in the graph: the gradient of a view is not that of what it views.

    A tensor that this transformation of torch.func does not follow may be part of an outer one's
    graph, which detach() would leave.
    """
    view = tensor.view_as(tensor)
    return view if view.requires_grad else view.requires_grad_()


def differentiable(tensor: torch.Tensor) -> bool:
    """Return whether a tensor can have a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()


def tensors(value: object) -> list[torch.Tensor]:
    """Return the tensors of an argument."""
    return [each for each in listed(value) if isinstance(each, torch.Tensor)]


def listed(value: Any) -> list[Any]:  # noqa: ANN401 - any argument
    """Return a list as it is, and anything else as a list of one."""
    return list(value) if isinstance(value, list | tuple) else [value]


def mapped(function: Callable[[torch.Tensor], torch.Tensor], value: Any) -> Any:  # noqa: ANN401 - any argument
    """Replace the tensors of an argument."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        return [function(each) if isinstance(each, torch.Tensor) else each for each in value]
    return value
