"""CANN's two numberings of dtypes -> torch's dtypes.

Descriptors of a serialized graph have the numbers of ge.proto, attributes and runtime tensors those
of ge::DataType. Source: ge_ir.proto and graph/types.h of CANN's metadef.
"""

from __future__ import annotations

import torch

from opwright.aclnn.dtypes import DTYPE_NUMBERS
from opwright.graph_engine.errors import KernelArgumentError
from opwright.graph_engine.tensors.four_bits import FOUR_BITS
from opwright.twin.user_kernels.dtypes import FROM_RUNTIME, RUNTIME_CODES

__all__ = ["RUNTIME_CODES", "from_proto", "from_runtime"]

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
} | {
    code if code <= 27 else code - 1: dtype  # noqa: PLR2004 - see above
    for code, dtype in FROM_RUNTIME.items()
    if code >= 14  # noqa: PLR2004
}


def from_proto(number: int) -> torch.dtype | None:
    """Return torch's dtype for a descriptor's number; None if torch has none."""
    return FROM_PROTO.get(number)


def from_runtime(number: int, *, where: str) -> torch.dtype:
    """Return torch's dtype for a number of ge::DataType, or the one that stands for it in a graph.

    Raises
    ------
    KernelArgumentError
        OPW-N003.
    """
    if number in FOUR_BITS:
        return FOUR_BITS[number]
    if number not in FROM_RUNTIME:
        names = {code: f"dtype {name}" for name, code in DTYPE_NUMBERS.items()}
        raise KernelArgumentError(
            where=where,
            got=names.get(number, f"dtype {number}"),
            allowed=map(str, sorted(FROM_RUNTIME)),
        )
    return FROM_RUNTIME[number]
