"""Gradients of operators whose forward computation says all."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["gradients"]


def make_list(given: torch.Tensor | Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return tensors as a list."""
    return [given] if isinstance(given, torch.Tensor) else list(given)


def gradients(
    function: Callable[..., torch.Tensor | Sequence[torch.Tensor]],
    inputs: Sequence[torch.Tensor],
    outer: torch.Tensor | Sequence[torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """Return the gradients of `function` by `inputs`; zeros where nothing depends on one."""
    with torch.enable_grad():
        leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
        results = function(*leaves)
    found = cast(
        "tuple[torch.Tensor | None, ...]",
        torch.autograd.grad(make_list(results), leaves, make_list(outer), allow_unused=True),
    )
    return tuple(
        torch.zeros_like(leaf) if grad is None else grad
        for grad, leaf in zip(found, leaves, strict=True)
    )
