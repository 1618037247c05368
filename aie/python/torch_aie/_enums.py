"""The enums of the API, with the numbers that the C++ libraries use."""

from __future__ import annotations

import enum

import torch

__all__ = ["PrecisionPolicy", "TensorFormat", "dtype", "of_torch_dtype", "to_torch_dtype"]


class PrecisionPolicy(enum.IntEnum):
    """The precision that an engine computes in; a graph's inputs and outputs keep their types."""

    FP16 = 0
    FP32 = 1
    PREF_FP32 = 2
    PREF_FP16 = 3


class dtype(enum.IntEnum):  # noqa: N801 - the API's name
    """Types of elements."""

    UNKNOWN = -1
    FLOAT = 0
    FLOAT16 = 1
    INT8 = 2
    INT32 = 3
    UINT8 = 4
    INT16 = 6
    UINT16 = 7
    UINT32 = 8
    INT64 = 9
    UINT64 = 10
    DOUBLE = 11
    BOOL = 12
    STRING = 13


class TensorFormat(enum.IntEnum):
    """Layouts of tensors."""

    UNKNOWN = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3


_OF_TORCH = {
    torch.float32: dtype.FLOAT,
    torch.float16: dtype.FLOAT16,
    torch.int8: dtype.INT8,
    torch.int32: dtype.INT32,
    torch.uint8: dtype.UINT8,
    torch.int16: dtype.INT16,
    torch.int64: dtype.INT64,
    torch.float64: dtype.DOUBLE,
    torch.bool: dtype.BOOL,
}


def of_torch_dtype(torch_dtype: torch.dtype) -> dtype:
    """Return the API's type for PyTorch's; raise TypeError for one that it does not have."""
    if torch_dtype not in _OF_TORCH:
        allowed = ", ".join(sorted(map(str, _OF_TORCH)))
        msg = f"dtype: got {torch_dtype}, allowed are {allowed}"
        raise TypeError(msg)
    return _OF_TORCH[torch_dtype]


def to_torch_dtype(own: dtype) -> torch.dtype:
    """Return PyTorch's type for the API's; raise TypeError for one that PyTorch does not have."""
    for torch_dtype, candidate in _OF_TORCH.items():
        if candidate == own:
            return torch_dtype
    msg = f"dtype: got {own!r}, allowed are {', '.join(kind.name for kind in _OF_TORCH.values())}"
    raise TypeError(msg)
