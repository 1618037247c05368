"""Tensors for the operator tests, the same in every run."""

from __future__ import annotations

import torch

__all__ = ["different", "normal", "positions", "some"]


def some(shape: tuple[int, ...], dtype: torch.dtype, low: int = -4, high: int = 5) -> torch.Tensor:
    """Numbers between the bounds, floating-point ones with a fraction."""
    generator = torch.Generator().manual_seed(7)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    if dtype.is_floating_point:
        return (
            torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low
        ).to(dtype)
    if dtype.is_complex:
        return torch.randn(shape, generator=generator, dtype=dtype)
    return torch.randint(max(low, torch.iinfo(dtype).min), high, shape, generator=generator).to(
        dtype
    )


def different(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """No two numbers are equal, so that the order and the index of each is determined."""
    count = torch.Size(shape).numel()
    return (
        torch.randperm(count, generator=torch.Generator().manual_seed(3)).reshape(shape).to(dtype)
    )


def positions(shape: tuple[int, ...], size: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Indices into a dim of the given size."""
    return torch.randint(0, size, shape, generator=torch.Generator().manual_seed(5)).to(dtype)


def normal(*shape: int, dtype: torch.dtype = torch.float16, seed: int = 0) -> torch.Tensor:
    """Numbers of the normal distribution."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
