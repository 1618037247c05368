"""CANN's two numberings of dtypes -> torch's dtypes.

Descriptors of a serialized graph have the numbers of ge.proto, attributes and runtime tensors those
of ge::DataType. Source: ge_ir.proto and graph/types.h of CANN's metadef.
"""

from __future__ import annotations

import torch

from opwright.engine.errors import KernelArgumentError

__all__ = ["RUNTIME_CODES", "from_proto", "from_runtime"]

FROM_RUNTIME = {
    0: torch.float32,
    1: torch.float16,
    2: torch.int8,
    3: torch.int32,
    4: torch.uint8,
    6: torch.int16,
    7: torch.uint16,
    8: torch.uint32,
    9: torch.int64,
    10: torch.uint64,
    11: torch.float64,
    12: torch.bool,
    16: torch.complex64,
    17: torch.complex128,
    27: torch.bfloat16,
    33: torch.complex32,
    35: torch.float8_e5m2,
    36: torch.float8_e4m3fn,
    37: torch.float8_e8m0fnu,
}
RUNTIME_CODES = {dtype: code for code, dtype in FROM_RUNTIME.items()}
# The first numbers of ge.proto are an order of their own, 14 to 27 are those of the runtime, and
# from 28 on they are one lower.
FROM_PROTO = {
    1: torch.float32,
    2: torch.float16,
    3: torch.int8,
    4: torch.uint8,
    5: torch.int16,
    6: torch.uint16,
    7: torch.int32,
    8: torch.int64,
    9: torch.uint32,
    10: torch.uint64,
    11: torch.bool,
    12: torch.float64,
    16: torch.complex64,
    17: torch.complex128,
    27: torch.bfloat16,
    32: torch.complex32,
    34: torch.float8_e5m2,
    35: torch.float8_e4m3fn,
    36: torch.float8_e8m0fnu,
}


def from_proto(number: int) -> torch.dtype | None:
    """Return torch's dtype for a descriptor's number; None if torch has none."""
    return FROM_PROTO.get(number)


def from_runtime(number: int, *, where: str) -> torch.dtype:
    """Return torch's dtype for a number of ge::DataType.

    Raises
    ------
    KernelArgumentError
        OPW-N003.
    """
    if number not in FROM_RUNTIME:
        raise KernelArgumentError(
            where=where, got=f"dtype {number}", allowed=map(str, sorted(FROM_RUNTIME))
        )
    return FROM_RUNTIME[number]
