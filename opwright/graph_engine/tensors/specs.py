"""Shape and dtype of tensors, without their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import torch

__all__ = ["Spec", "spec_of", "spec_text"]

Spec: TypeAlias = "tuple[tuple[int, ...], torch.dtype]"


def spec_of(tensor: torch.Tensor) -> Spec:
    """Return shape and dtype of a tensor."""
    return tuple(tensor.shape), tensor.dtype


def spec_text(spec: Spec) -> str:
    """Return dtype and shape, for an error.

    >>> import torch
    >>> spec_text(((2, 3), torch.float32))
    'float32[2, 3]'
    """
    shape, dtype = spec
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"
