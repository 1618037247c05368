"""CANN's numbers of dtypes -> torch's dtypes."""

from __future__ import annotations

import torch

from opwright.aclnn.dtypes import CANN_DTYPES, DTYPE_NUMBERS

__all__ = ["FROM_RUNTIME", "RUNTIME_CODES"]

# aclDataType, which is ge::DataType. The type that packs two values into a byte is left out: the
# sizes of its tensors differ between CANN, which counts values, and torch, which counts bytes.
FROM_RUNTIME: dict[int, torch.dtype] = {
    DTYPE_NUMBERS[name]: getattr(torch, CANN_DTYPES[name])
    for name in DTYPE_NUMBERS
    if name in CANN_DTYPES and name != "FLOAT4_E2M1"
}
RUNTIME_CODES = {dtype: code for code, dtype in FROM_RUNTIME.items()}
