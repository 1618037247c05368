"""Quantization of values, and norms and activations whose result is quantized.

The twin's aclnn functions compute them, as in eager. Attributes that say a dtype have the numbers
of ge::DataType.
"""

from __future__ import annotations

import math

import torch

from opwright.graph_engine.calls.aclnn import New, Written, call_aclnn
from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.microscaling import scales_along
from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime
from opwright.graph_engine.tensors.four_bits import INT4

INT8, INT32, FLOAT16, FLOAT8_E5M2 = 2, 3, 1, 35
# The texts of Quantize's attribute.
QUANTIZED = {
    "torch.qint8": torch.int8,
    "torch.quint8": torch.uint8,
    "torch.qint32": torch.int32,
    "torch.float8_e5m2": torch.float8_e5m2,
    "torch.float8_e4m3fn": torch.float8_e4m3fn,
}


def blocks(size: int, block: int) -> int:
    """Return how many blocks cover a size."""
    return math.ceil(size / block)


def scales_shape(x: torch.Tensor, quant_mode: str) -> tuple[int, ...]:
    """Return the shape of a tensor's scales."""
    if quant_mode == "pertensor":
        return (1,)
    kept = -1 if quant_mode == "perchannel" else -2
    return (*x.shape[:-2], x.shape[kept])


@kernel("DynamicQuant", source="ops-nn:quant/dynamic_quant/op_graph/dynamic_quant_proto.h")
def dynamic_quant(
    x: torch.Tensor,
    smooth_scales: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    *,
    dst_type: int = INT8,
) -> tuple[torch.Tensor, ...]:
    """Quantize each row by its largest value; returns values and scales."""
    return call_aclnn(
        "DynamicQuantV2",
        *(x, smooth_scales, group_index, dst_type),
        New(x.shape, from_runtime(dst_type, where="DynamicQuant")),
        New(x.shape[:-1], torch.float32),
        None,
    )


@kernel("DynamicQuantV2", source="ops-nn:quant/dynamic_quant_v2/op_graph/dynamic_quant_v2_proto.h")
def dynamic_quant_v2(
    x: torch.Tensor,
    smooth_scales: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    *,
    dst_type: int = INT8,
    is_symmetrical: bool = False,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize rows, columns or the whole; returns values, scales and offsets."""
    require_one_of("quant_mode", quant_mode, "pertoken", "pertensor", "perchannel")
    shape = scales_shape(x, quant_mode)
    y, scale, *offset = call_aclnn(
        "DynamicQuantV4",
        *(x, smooth_scales, group_index, dst_type, is_symmetrical, quant_mode, dst_type_max),
        New(x.shape, from_runtime(dst_type, where="DynamicQuantV2")),
        New(shape, torch.float32),
        None if is_symmetrical else New(shape, torch.float32),
    )
    return y, scale, offset[0] if offset else torch.zeros_like(scale)


@kernel("AscendQuantV2", source="ops-nn:quant/ascend_quant_v2/op_graph/ascend_quant_v2_proto.h")
def ascend_quant_v2(
    x: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor | None = None,
    *,
    sqrt_mode: bool = False,
    round_mode: str = "round",
    dst_type: int = INT8,
    axis: int = -1,
) -> tuple[torch.Tensor, ...]:
    """Quantize by scales that are given, which multiply."""
    return call_aclnn(
        "AscendQuantV3",
        *(x, scale, offset, sqrt_mode, round_mode, dst_type, axis),
        New(x.shape, from_runtime(dst_type, where="AscendQuantV2")),
    )


@kernel("Quantize", source="ops-nn:quant/quantize/op_graph/quantize_proto.h")
def quantize(
    x: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None = None,
    *,
    dtype: str,
    axis: int = 1,
) -> tuple[torch.Tensor, ...]:
    """Quantize by scales that are given, which divide; converters give them x's rank."""
    require_one_of("dtype", dtype, *QUANTIZED)
    factors, zeros = scales.flatten(), None if zero_points is None else zero_points.flatten()
    result = QUANTIZED[dtype]
    return call_aclnn("Quantize", x, factors, zeros, result, axis, New(x.shape, result))


@kernel(
    "AscendAntiQuantV2",
    source="ops-nn:quant/ascend_anti_quant_v2/op_graph/ascend_anti_quant_v2_proto.h",
)
def ascend_anti_quant_v2(
    x: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor | None = None,
    *,
    dst_type: int = FLOAT16,
    sqrt_mode: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Turn quantized values into floating-point ones."""
    return call_aclnn(
        "AscendAntiQuant",
        *(x, scale, offset, dst_type, sqrt_mode),
        New(x.shape, from_runtime(dst_type, where="AscendAntiQuantV2")),
    )


@kernel("GroupQuant", source="ops-nn:quant/group_quant/op_graph/group_quant_proto.h")
def group_quant(
    x: torch.Tensor,
    scale: torch.Tensor,
    group_index: torch.Tensor,
    offset: torch.Tensor | None = None,
    *,
    dst_type: int = INT8,
) -> tuple[torch.Tensor, ...]:
    """Quantize groups of rows, each by scales of its own."""
    return call_aclnn(
        "GroupQuant",
        *(x, scale, group_index, offset, dst_type),
        New(x.shape, from_runtime(dst_type, where="GroupQuant")),
    )


@kernel("QuantMax", source="ops-nn:quant/quant_max/op_graph/quant_max_proto.h")
def quant_max(
    x: torch.Tensor,
    scale: torch.Tensor,
    group_list: torch.Tensor | None = None,
    *,
    round_mode: str = "rint",
    dst_type: int = FLOAT8_E5M2,
) -> tuple[torch.Tensor, ...]:
    """Quantize by a scale that is given; also the largest absolute value."""
    y = New(x.shape, from_runtime(dst_type, where="QuantMax"))
    if group_list is None or group_list.shape[0] <= 1:
        return call_aclnn("QuantMax", x, scale, round_mode, dst_type, y, New([1], x.dtype))
    amax = New([group_list.shape[0]], x.dtype)
    return call_aclnn("GroupedQuantMax", x, scale, group_list, round_mode, dst_type, y, amax)


@kernel(
    "TransQuantParamV2",
    source="ops-nn:quant/trans_quant_param_v2/op_graph/trans_quant_param_v2_proto.h",
)
def trans_quant_param_v2(
    scale: torch.Tensor, offset: torch.Tensor | None = None, *, round_mode: int = 0
) -> tuple[torch.Tensor, ...]:
    """Pack scales and offsets of a quantized product into int64."""
    of_both = [scale] if offset is None else [scale, offset]
    shape = scale.shape if scale.dim() > 1 else [max(len(each) for each in of_both)]
    return call_aclnn("TransQuantParamV3", scale, offset, round_mode, New(shape, torch.int64))


@kernel(
    "DynamicBlockQuant",
    source="ops-nn:quant/dynamic_block_quant/op_graph/dynamic_block_quant_proto.h",
)
def dynamic_block_quant(
    x: torch.Tensor,
    *,
    min_scale: float = 0.0,
    round_mode: str = "rint",
    dst_type: int = FLOAT8_E5M2,
    row_block_size: int = 1,
    col_block_size: int = 128,
    dst_type_max: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize blocks of rows and columns, each by its largest value."""
    *outer, rows, columns = x.shape
    shape = (*outer, blocks(rows, row_block_size), blocks(columns, col_block_size))
    return call_aclnn(
        "DynamicBlockQuantV2",
        *(x, min_scale, round_mode, dst_type, row_block_size, col_block_size, dst_type_max),
        New(x.shape, from_runtime(dst_type, where="DynamicBlockQuant")),
        New(shape, torch.float32),
    )


@kernel(
    "GroupedDynamicBlockQuant",
    source="ops-nn:quant/grouped_dynamic_block_quant/op_graph/grouped_dynamic_block_quant_proto.h",
)
def grouped_dynamic_block_quant(
    x: torch.Tensor,
    group_list: torch.Tensor,
    *,
    min_scale: float = 0.0,
    round_mode: str = "rint",
    dst_type: int = FLOAT8_E5M2,
    row_block_size: int = 1,
    col_block_size: int = 128,
    group_list_type: int = 0,
    dst_type_max: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize blocks within groups of rows; a group begins a block."""
    *outer, rows, columns = x.shape
    of_rows = rows // row_block_size + group_list.shape[0]
    return call_aclnn(
        "GroupedDynamicBlockQuantV2",
        *(x, group_list, min_scale, round_mode, dst_type, row_block_size, col_block_size),
        *(group_list_type, dst_type_max),
        New(x.shape, from_runtime(dst_type, where="GroupedDynamicBlockQuant")),
        New((*outer, of_rows, blocks(columns, col_block_size)), torch.float32),
    )


@kernel(
    "QuantUpdateScatter",
    source="ops-nn:index/quant_update_scatter/op_graph/quant_update_scatter_proto.h",
)
def quant_update_scatter(
    var: torch.Tensor,
    indices: torch.Tensor,
    updates: torch.Tensor,
    quant_scales: torch.Tensor,
    quant_zero_points: torch.Tensor | None = None,
    *,
    reduce: str,
    axis: int = -2,
    quant_axis: int = -1,
    round_mode: str = "rint",
) -> torch.Tensor:
    """Quantize updates and write them into var."""
    require_one_of("reduce", reduce, "update")
    (result,) = call_aclnn(
        "InplaceQuantScatterV2",
        *(Written(var), indices, updates, quant_scales, quant_zero_points),
        *(axis, quant_axis, 1, round_mode),
    )
    return var.copy_(result)


@kernel("GeluQuant", source="ops-nn:activation/gelu_quant/op_graph/gelu_quant_proto.h")
def gelu_quant(
    x: torch.Tensor,
    input_scale: torch.Tensor | None = None,
    input_offset: torch.Tensor | None = None,
    *,
    approximate: str = "none",
    quant_mode: str = "dynamic",
    dst_type: int = INT8,
    round_mode: str = "rint",
) -> tuple[torch.Tensor | None, ...]:
    """Quantize the gelu of x; scales are answered if they are not given."""
    dynamic = quant_mode == "dynamic"
    y, *scale = call_aclnn(
        "GeluQuant",
        *(x, input_scale, input_offset, approximate, quant_mode, round_mode, dst_type),
        New(x.shape, from_runtime(dst_type, where="GeluQuant")),
        New(x.shape[:-1], torch.float32) if dynamic else None,
    )
    return y, scale[0] if dynamic else x.new_zeros(0, dtype=torch.float32)


@kernel(
    "DequantSwigluQuant",
    source="ops-nn:quant/dequant_swiglu_quant/op_graph/dequant_swiglu_quant_proto.h",
)
def dequant_swiglu_quant(  # noqa: PLR0913 -- the prototype's
    x: torch.Tensor,
    weight_scale: torch.Tensor | None = None,
    activation_scale: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    quant_scale: torch.Tensor | None = None,
    quant_offset: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    *,
    activate_left: bool = False,
    quant_mode: str = "static",
    dst_type: int = INT8,
    round_mode: str = "rint",
    activate_dim: int = -1,
    swiglu_mode: int = 0,
    clamp_limit: float = 7.0,
    glu_alpha: float = 1.702,
    glu_bias: float = 1.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize the swiglu of x, which may be a quantized product; returns values and scales."""
    shape = list(x.shape)
    shape[activate_dim] //= 2
    return call_aclnn(
        "DequantSwigluQuantV2",
        *(x, weight_scale, activation_scale, bias, quant_scale, quant_offset, group_index),
        *(activate_left, quant_mode, dst_type, round_mode, activate_dim, swiglu_mode),
        *(clamp_limit, glu_alpha, glu_bias),
        New(shape, from_runtime(dst_type, where="DequantSwigluQuant")),
        New(shape[:-1], torch.float32),
    )


@kernel("ClippedSwiglu", source="ops-nn:activation/clipped_swiglu/op_graph/clipped_swiglu_proto.h")
def clipped_swiglu(
    x: torch.Tensor,
    group_index: torch.Tensor | None = None,
    *,
    dim: int = -1,
    alpha: float = 1.702,
    limit: float = 7.0,
    bias: float = 1.0,
    interleaved: bool = True,
) -> tuple[torch.Tensor, ...]:
    """Swiglu of clipped values."""
    shape = list(x.shape)
    shape[dim] //= 2
    return call_aclnn(
        "ClippedSwiglu",
        *(x, group_index, dim, alpha, limit, bias, interleaved),
        New(shape, x.dtype),
    )


@kernel(
    "AddRmsNormDynamicQuant",
    source="ops-nn:norm/add_rms_norm_dynamic_quant/op_graph/add_rms_norm_dynamic_quant_proto.h",
)
def add_rms_norm_dynamic_quant(
    x1: torch.Tensor,
    x2: torch.Tensor,
    gamma: torch.Tensor,
    smooth_scale1: torch.Tensor | None = None,
    smooth_scale2: torch.Tensor | None = None,
    beta: torch.Tensor | None = None,
    *,
    epsilon: float = 1e-6,
    output_mask: list[bool] = (),  # type: ignore[assignment]
    dst_type: int = INT8,
) -> tuple[torch.Tensor | None, ...]:
    """Quantize the norm of x1 + x2 row by row, once or twice.

    Returns both quantized results, the sum, and both results' scales.
    """
    both = smooth_scale1 is not None and smooth_scale2 is not None
    first, second = tuple(output_mask) or (True, both)
    dtype = from_runtime(dst_type, where="AddRmsNormDynamicQuant")
    rows = x1.shape[:-1]
    found = iter(
        call_aclnn(
            "AddRmsNormDynamicQuantV2",
            *(x1, x2, gamma, smooth_scale1, smooth_scale2, beta, epsilon),
            list(output_mask) or None,
            New(x1.shape, dtype) if first else None,
            New(x1.shape, dtype) if second else None,
            New(x1.shape, x1.dtype),
            New(rows, torch.float32) if first else None,
            New(rows, torch.float32) if second else None,
        )
    )
    wanted = (first, second, True, first, second)
    absent = {0: dtype, 1: dtype, 3: torch.float32, 4: torch.float32}
    return tuple(
        next(found) if is_wanted else x1.new_zeros(0, dtype=absent[index])
        for index, is_wanted in enumerate(wanted)
    )


@kernel(
    "RmsNormGradQuant",
    source="ops-nn:norm/rms_norm_grad_quant/op_graph/rms_norm_grad_quant_proto.h",
)
def rms_norm_grad_quant(
    dy: torch.Tensor,
    x: torch.Tensor,
    rstd: torch.Tensor,
    gamma: torch.Tensor,
    scale_x: torch.Tensor,
    offset_x: torch.Tensor | None = None,
    *,
    div_mode: bool = True,
    quant_mode: str = "static",
    dst_type: int = INT8,
) -> tuple[torch.Tensor, ...]:
    """Gradients of a norm: that of x quantized, that of gamma."""
    return call_aclnn(
        "RmsNormGradQuant",
        *(dy, x, rstd, gamma, scale_x, offset_x, quant_mode, div_mode),
        New(dy.shape, from_runtime(dst_type, where="RmsNormGradQuant")),
        New(gamma.shape, torch.float32),
    )


@kernel("RotateQuant", source="ops-nn:matmul/rotate_quant/op_graph/rotate_quant_proto.h")
def rotate_quant(
    x: torch.Tensor,
    rotation: torch.Tensor,
    alpha: torch.Tensor | None = None,
    *,
    y_dtype: int = 0,
    axis: int = -1,
    round_mode: str = "rint",
    scale_alg: int = 0,
    dst_type_max: float = 0.0,
    transpose_y: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Quantize x times a rotation."""
    return call_aclnn(
        "RotateQuant",
        *(x, rotation, alpha, axis, round_mode, scale_alg, dst_type_max, transpose_y),
        New(x.shape, from_runtime(y_dtype, where="RotateQuant")),
        New(x.shape[:1], torch.float32),
    )


@kernel("FlatQuant", source="ops-nn:quant/flat_quant/op_graph/flat_quant_proto.h")
def flat_quant(
    x: torch.Tensor,
    kronecker_p1: torch.Tensor,
    kronecker_p2: torch.Tensor,
    *,
    clip_ratio: float = 1.0,
    dst_dtype: int = INT32,
    dst_type_max: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize p1 @ x @ p2 to 4 bits, matrix by matrix; int32 says eight integers in each."""
    batches, rows, columns = x.shape
    if dst_dtype == INT32:
        result = New(x.shape, INT4)
        scale = New([batches], torch.float32)
    else:
        whole = torch.Size([batches, rows * columns])
        result = New(whole, from_runtime(dst_dtype, where="FlatQuant"))
        scale = scales_along(whole, -1)
    return call_aclnn(
        "FlatQuantV2", x, kronecker_p1, kronecker_p2, clip_ratio, dst_type_max, result, scale
    )
