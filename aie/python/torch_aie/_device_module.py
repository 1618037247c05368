"""`torch.npu` of processes without torch_npu: what PyTorch and programs ask of a device module."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from torch_aie import _C, _device
from torch_aie.npu import (
    Stream,
    current_device,
    current_stream,
    default_stream,
    device_count,
    is_available,
    set_stream,
    stream,
    synchronize,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_aie.npu import Device

__all__ = [
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_rng_state",
    "init",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
]


def init() -> None:
    """Make the device."""
    _device.ready()


_lazy_init = init  # PyTorch calls it before it first uses the device


def is_initialized() -> bool:
    """Return whether the device is made."""
    return _C.owns_npu()


def set_device(device: Device) -> None:
    """Choose the current device."""
    _device.choose(_device.index_of(device))


@contextmanager
def device(device: Device) -> Iterator[None]:
    """Make `device` the current one inside of `with`."""
    index, before = _device.index_of(device), current_device()
    _C.set_device(index)
    try:
        yield
    finally:
        _C.set_device(before)


def _is_in_bad_fork() -> bool:
    return False  # the device is memory of the process


def manual_seed(seed: int) -> None:
    """Seed the CPU's generator, whose numbers the device has."""
    torch.default_generator.manual_seed(seed)


manual_seed_all = manual_seed


def get_rng_state(device: object = None) -> torch.Tensor:  # noqa: ARG001 - PyTorch gives it
    """Return the state of the CPU's generator."""
    return torch.get_rng_state()


def set_rng_state(
    new_state: torch.Tensor,
    device: object = None,  # noqa: ARG001 - PyTorch gives it
) -> None:
    """Set the state of the CPU's generator."""
    torch.set_rng_state(new_state)


def empty_cache() -> None:
    """Do nothing: freed memory is not kept."""


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the types of autocast."""
    return [torch.bfloat16, torch.float16]
