"""Gradients on the device against gradients on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch_npu
from torch.utils._pytree import tree_leaves, tree_map

from tests.twin.ops.compare import agree

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_gradients", "leaf"]


def leaf(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, seed: int = 3) -> torch.Tensor:
    """A tensor that wants a gradient."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype).requires_grad_()


def results_and_gradients(
    device: str, op: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    def placed(value: object) -> object:
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().to(device).requires_grad_(value.requires_grad)

    args, kwargs = tree_map(placed, args), tree_map(placed, kwargs)
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    results = [leaf for leaf in tree_leaves(op(*args, **kwargs)) if isinstance(leaf, torch.Tensor)]
    differentiable = [result for result in results if result.requires_grad]
    generator = torch.Generator().manual_seed(11)
    seeds = [
        torch.randn(result.shape, generator=generator).to(result.dtype).to(device)
        for result in differentiable
    ]
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    gradients = torch.autograd.grad(differentiable, wanted, seeds)
    return [result.detach().cpu() for result in results], [grad.cpu() for grad in gradients]


def check_gradients(op: Callable[..., object], *args: object, **kwargs: object) -> None:
    """Results, and the gradients of all arguments that want one, agree between device and CPU."""
    actual = results_and_gradients("npu", op, args, kwargs)
    torch_npu.npu.synchronize()
    expected = results_and_gradients("cpu", op, args, kwargs)
    assert expected[1]
    agree(list(actual), list(expected))
