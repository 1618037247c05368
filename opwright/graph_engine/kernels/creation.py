"""Operators that make tensors, copy them, or read them as another dtype."""

from __future__ import annotations

import torch

from opwright.aclnn.dtypes import DTYPE_NUMBERS
from opwright.graph_engine.errors import KernelArgumentError
from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.elementwise import unary
from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime
from opwright.graph_engine.tensors.four_bits import code_of, is_four_bits, pack, unpack

FLOAT = 0
INT32 = 3
COMPLEX64 = 16
PREFETCH = 6  # of Cmo

kernel("OnesLike", source="ops-math:math/ones_like/op_graph/ones_like_proto.h")(
    unary(torch.ones_like)
)
kernel("ZerosLike", source="ops-math:math/zero_op/op_graph/zero_op_proto.h")(
    unary(torch.zeros_like)
)


@kernel("Fill", source="ops-math:conversion/fill/op_graph/fill_proto.h")
def fill(dims: list[int], value: torch.Tensor) -> torch.Tensor:
    """Repeat one value."""
    return value.reshape(()).expand(dims).clone()


@kernel("FillV2", source="inferred")
def fill_v2(dims: list[int], *, value: float = 0.0) -> torch.Tensor:
    """Repeat one number."""
    return torch.full(dims, value, dtype=torch.float32)


# The content of memory is not defined, so zeros are as good: results do not vary between runs.
@kernel("Empty", source="graphengine:third_party/fwkacllib/inc/ops/array_ops.h")
def empty(shape: list[int], *, dtype: int = INT32, init: bool = False) -> torch.Tensor:
    """Answer a tensor without defined values, or zeros if `init`."""
    del init
    return torch.zeros(shape, dtype=from_runtime(dtype, where="Empty"))


@kernel("Eye", source="ops-math:math/eye/op_graph/eye_proto.h")
def eye(
    *, num_rows: int, num_columns: int = 0, batch_shape: list[int] | None = None, dtype: int = FLOAT
) -> torch.Tensor:
    """Answer identity matrices; without a number of columns they are square."""
    matrix = torch.eye(num_rows, num_columns or num_rows, dtype=from_runtime(dtype, where="Eye"))
    return matrix.expand([*(batch_shape or ()), *matrix.shape]).clone()


# How many elements these answer depends on values, so these have to be known: see `number`.
@kernel("Range", source="ops-math:math/range/op_graph/range_proto.h")
def range_(start: torch.Tensor, limit: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
    """Count from `start` to before `limit` in steps of `delta`."""
    dtype = torch.result_type(start, limit)
    return torch.arange(number(start), number(limit), number(delta), dtype=dtype)


@kernel("LinSpace", source="ops-math:math/lin_space/op_graph/lin_space_proto.h")
def lin_space(start: torch.Tensor, stop: torch.Tensor, num: int) -> torch.Tensor:
    """Answer `num` values from `start` to `stop` at equal distances."""
    # Of integers as well: the converter converts the result.
    dtype = start.dtype if start.is_floating_point() else torch.float32
    return torch.linspace(number(start), number(stop), num, dtype=dtype)


def number(x: torch.Tensor) -> int | float:
    """Return a value on the host: of a constant or host input, or one that follows from shapes.

    Raises
    ------
    RuntimeError
        By torch: the value is computed on the device.
    """
    value = x.item()
    assert isinstance(value, int | float)
    return value


# CANN has these dtypes, and torch no numbers of them.
UNCAST = {
    DTYPE_NUMBERS["INT4"]: "INT4, which operators of quantization answer",
    **{
        DTYPE_NUMBERS[name]: f"{name}, to and from which Ascend950 alone casts"
        for name in ("HIFLOAT8", "FLOAT4_E2M1", "FLOAT4_E1M2")
    },
}


@kernel("Cast", source="ops-math:math/cast/op_graph/cast_proto.h")
def cast(x: torch.Tensor, *, dst_type: int, truncate: bool = False) -> torch.Tensor:
    """Convert the dtype.

    Raises
    ------
    KernelArgumentError
        OPW-N003: a dtype of which torch has no numbers.
    """
    del truncate
    source = [code_of(x.dtype)] if is_four_bits(x.dtype) else []
    for code in [dst_type, *source]:
        if code in UNCAST:
            raise KernelArgumentError(
                where="Cast", got=f"dtype {UNCAST[code]}", allowed=["a dtype of torch"]
            )
    return x.to(from_runtime(dst_type, where="Cast"))


@kernel("Bitcast", source="graphengine:third_party/fwkacllib/inc/ops/transformation_ops.h")
def bitcast(x: torch.Tensor, *, type: int, keep_dim: bool = False) -> torch.Tensor:  # noqa: A002
    """Read the bytes as another dtype: the last axis becomes longer or shorter."""
    del keep_dim  # how the descriptor says it; the bytes are the same
    dtype = from_runtime(type, where="Bitcast")
    if is_four_bits(dtype) and dtype == x.dtype:
        return x
    as_bytes = pack(x) if is_four_bits(x.dtype) else x
    if is_four_bits(dtype):
        return unpack(as_bytes.contiguous().view(torch.uint8), dtype)
    return as_bytes.view(dtype).clone()


@kernel("Identity", source="ops-math:conversion/identity/op_graph/identity_proto.h")
@kernel("TensorMove", source="ops-math:conversion/tensor_move/op_graph/tensor_move_proto.h")
@kernel("Snapshot", "StopGradient", source="graphengine:third_party/fwkacllib/inc/ops/array_ops.h")
def identity(x: torch.Tensor) -> torch.Tensor:
    """Answer a copy."""
    return x.clone()


@kernel("IdentityN", source="ops-math:conversion/identity_n/op_graph/identity_n_proto.h")
def identity_n(x: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Answer a copy of each."""
    return tuple(each.clone() for each in x)


@kernel("Assign", source="ops-math:conversion/assign/op_graph/assign_proto.h")
def assign(
    ref: torch.Tensor,
    value: torch.Tensor,
    *,
    validate_shape: bool = True,
    use_locking: bool = False,
) -> torch.Tensor:
    """Write `value` into the memory of `ref`."""
    del validate_shape, use_locking
    return ref.copy_(value)


@kernel("NoOp", source="graphengine:third_party/fwkacllib/inc/ops/no_op.h")
def no_op() -> tuple[torch.Tensor, ...]:
    """Only be waited for."""
    return ()


@kernel("Cmo", source="torch_npu:_op_plugin_docs.py:npu_prefetch")
def cmo(
    src: torch.Tensor,
    *,
    max_size: int,
    type: int = PREFETCH,  # noqa: A002
    offset: int = 0,
) -> tuple[torch.Tensor, ...]:
    """Prefetch into the NPU's cache, which a CPU's memory does not have: no value depends on it."""
    del src, max_size, offset
    require_one_of("type", type, PREFETCH)
    return ()


@kernel("Complex", source="torchair:aten.view_as_complex.default")
def complex_(real: torch.Tensor, imag: torch.Tensor, *, Tout: int = COMPLEX64) -> torch.Tensor:
    """Join real and imaginary parts."""
    del Tout  # follows from the parts
    return torch.complex(real, imag)


@kernel("Real", source="ops-math:math/real/op_graph/real_proto.h")
def real(input: torch.Tensor, *, Tout: int = FLOAT) -> torch.Tensor:  # noqa: A002
    """Answer the real parts."""
    del Tout  # follows from the input
    return torch.real(input).clone()


@kernel("Imag", source="torchair:aten.view_as_real.default")
def imag(input: torch.Tensor, *, Tout: int = FLOAT) -> torch.Tensor:  # noqa: A002
    """Answer the imaginary parts."""
    del Tout  # follows from the input
    return torch.imag(input).clone()
