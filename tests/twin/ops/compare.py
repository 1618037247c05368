"""Operators on the device against the same operators on the CPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.utils._pytree import tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "FLOATS",
    "HALVES",
    "INTEGERS",
    "agree",
    "check",
    "check_in_place",
    "check_out",
    "close",
    "copied",
    "layouts",
    "near_integers",
    "rejects",
    "run_on_npu",
]

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
HALVES = (torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)

# The same ATen kernels compute both sides; the half types may go through float32 on the device, and
# small operators run on one thread there, which adds in another order.
TOLERANCES = {
    torch.float32: (1.3e-6, 2e-5),
    torch.float16: (1e-3, 1e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.complex32: (1e-2, 1e-2),
}


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """Everything in the storage of a CPU tensor."""
    count = tensor.untyped_storage().nbytes() // tensor.itemsize
    return tensor.as_strided((count,), (1,), 0)


def copied(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A copy of the CPU tensor's whole storage, seen through the same strides and offset."""
    storage = flat(tensor).to(device, copy=True)
    return storage.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def run_on_npu(op: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Run `op` with copies of its tensors on the device; wait, so that its error is reported."""

    def on_npu(value: object) -> object:
        if isinstance(value, torch.Tensor) and value.device.type == "cpu":
            return copied(value, "npu")
        return value

    result = op(*tree_map(on_npu, args), **tree_map(on_npu, kwargs))
    torch_npu.npu.synchronize()
    return result


def agree(actual: object, expected: object) -> None:
    """Compare dtypes, shapes and values; NaN equals NaN."""
    if isinstance(expected, torch.Tensor):
        assert isinstance(actual, torch.Tensor)
        rtol, atol = TOLERANCES.get(expected.dtype, (None, None))
        torch.testing.assert_close(actual.cpu(), expected, rtol=rtol, atol=atol, equal_nan=True)
    elif isinstance(expected, (tuple, list)):
        assert isinstance(actual, (tuple, list))
        for one, other in zip(actual, expected, strict=True):
            agree(one, other)
    else:
        assert actual == expected


def close(actual: object, expected: torch.Tensor) -> None:
    """Compare with what was computed in more bits: the device rounds to its dtype once."""
    assert isinstance(actual, torch.Tensor)
    rounding = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 1e-5}[actual.dtype]
    torch.testing.assert_close(
        actual.cpu().double(), expected.to(actual.dtype).double(), rtol=rounding, atol=rounding
    )


def near_integers(actual: object, expected: torch.Tensor) -> None:
    """Compare rounded numbers.

    After float32 arithmetic in another order halves may round either way, but few are halves.
    """
    assert isinstance(actual, torch.Tensor)
    assert not actual.is_floating_point()
    assert actual.shape == expected.shape
    differences = (actual.cpu().int() - expected.int()).abs()
    assert differences.max() <= 1
    assert differences.sum() <= max(1, 0.02 * differences.numel())


def check(op: Callable[..., object], *args: object, **kwargs: object) -> None:
    """Run `op` on CPU tensors and on their copies on the device; the results must agree."""
    agree(run_on_npu(op, *args, **kwargs), op(*args, **kwargs))


def check_out(op: Callable[..., object], *args: object, **kwargs: object) -> None:
    """The same with out=, which is not contiguous and has other contents before."""
    expected = op(*args, **kwargs)
    assert isinstance(expected, torch.Tensor)
    backwards = torch.full(expected.shape[::-1], 7).to(expected.dtype)
    out = copied(backwards.permute(tuple(range(expected.dim()))[::-1]), "npu")
    run_on_npu(op, *args, **kwargs, out=out)
    agree(out, expected)


def check_in_place(
    op: Callable[..., object], tensor: torch.Tensor, *args: object, **kwargs: object
) -> None:
    """The same for an operator that writes into its first argument and nowhere else."""
    host, device = copied(tensor, "cpu"), copied(tensor, "npu")
    op(host, *args, **kwargs)
    assert run_on_npu(op, device, *args, **kwargs) is device
    everything = flat(host)
    agree(device.as_strided(everything.size(), (1,), 0), everything)


def rejects(name: str, op: Callable[..., object], *args: object, **kwargs: object) -> None:
    """The device refuses these arguments with a RuntimeError that names the operator."""
    with pytest.raises(RuntimeError, match=re.escape(name)):
        run_on_npu(op, *args, **kwargs)


def layouts(make: Callable[[tuple[int, ...]], torch.Tensor]) -> Iterator[torch.Tensor]:
    """Tensors of one kind of contents in the layouts that views have; `make` fills a shape."""
    yield make((4, 5))
    yield make((5, 4)).t()
    yield make((8, 5))[2:6]  # a storage offset
    yield make((4, 10))[:, ::2]
    yield make((2, 3, 4, 5)).permute(0, 2, 3, 1)
    yield make((0, 5))
    yield make(())
