"""Shared by the tests: the ways to run a model, and data of paged caches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torchair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# torch_npu 2.13.0: TorchAir has to be the first that compiles in a process.
MODES = ("eager", "max-autotune", "reduce-overhead", "npugraph_ex")
PAGE_SIZE = 128


def compiled(model: Callable[..., Any], mode: str, *, dynamic: bool = False) -> Callable[..., Any]:
    """Return a model as it runs in a mode."""
    torch.compiler.reset()
    if mode == "eager":
        return model
    backend: Any = mode
    if mode != "npugraph_ex":
        config = torchair.CompilerConfig()
        config.mode = mode
        backend = torchair.get_npu_backend(compiler_config=config)
    return torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)


def paged(lengths: Sequence[int], *, more: int = 0) -> tuple[int, torch.Tensor]:
    """Return how many pages sequences need, and a block table with its pages out of order.

    Parameters
    ----------
    more
        How many tokens each sequence may grow by.
    """
    counts = [max(1, -(-(length + more) // PAGE_SIZE)) for length in lengths]
    pages = torch.randperm(sum(counts), dtype=torch.int32)
    table = torch.full((len(lengths), max(counts) + 1), -1, dtype=torch.int32)
    for row, part in zip(table, pages.split(counts), strict=True):
        row[: len(part)] = part
    return sum(counts), table
