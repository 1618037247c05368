"""Arguments on another device: the same values, strides, and aliasing with nothing."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch.utils import _pytree as pytree

T = TypeVar("T")


def to_device(arguments: T, device: torch.device) -> T:
    """Return the arguments with tensors copied to the device, and every named CPU replaced by it.

    Strides survive, also of expanded and sliced tensors, and whether a gradient is asked for.
    """
    moved: T = pytree.tree_map(lambda leaf: move(leaf, device), arguments)
    return moved


def move(leaf: object, device: torch.device) -> object:
    """Return one argument on the device."""
    if isinstance(leaf, torch.Tensor):
        return leaf if leaf.is_meta else move_tensor(leaf, device)
    if isinstance(leaf, str) and leaf == "cpu":
        return str(device)
    if isinstance(leaf, torch.device) and leaf.type == "cpu":
        return device
    if isinstance(leaf, torch.Generator):
        return torch.Generator(device).manual_seed(leaf.initial_seed())
    return leaf


def move_tensor(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return a copy of a tensor on the device, with its strides and the memory around it."""
    source = tensor.detach()
    if source.layout is not torch.strided or fills_its_memory(source):
        moved = source.to(device, copy=True)
    else:
        moved = with_memory(source, device)
    return moved.requires_grad_(tensor.requires_grad)


def fills_its_memory(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is all of its memory, in order."""
    size = tensor.numel() * tensor.element_size()
    return tensor.is_contiguous() and tensor.untyped_storage().nbytes() == size


def with_memory(source: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy the memory that a view is of, so that overlapping elements still overlap."""
    plain = source.conj() if source.is_conj() else source
    negative = plain.is_neg()
    # A negated view of one part of complex numbers: its memory has the other sign.
    plain = plain.neg() if negative else plain
    size = plain.untyped_storage().nbytes() // plain.element_size()
    memory = torch.as_strided(plain, (size,), (1,), 0).to(device, copy=True)
    moved = torch.as_strided(memory, plain.shape, plain.stride(), plain.storage_offset())
    moved = moved.neg() if negative else moved
    return moved.conj() if source.is_conj() else moved
