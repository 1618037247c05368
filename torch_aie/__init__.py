"""Torch-AIE on the CPU: TorchScript modules compiled into engines, with converters in C++."""

from __future__ import annotations

from torch_aie import _enums
from torch_aie._compile import compile, export_engine, finalize, set_device  # noqa: A004 - API
from torch_aie._enums import PrecisionPolicy, TensorFormat, dtype
from torch_aie._input import Input

__all__ = [
    "Input",
    "PrecisionPolicy",
    "TensorFormat",
    "_enums",
    "compile",
    "dtype",
    "export_engine",
    "finalize",
    "set_device",
]
