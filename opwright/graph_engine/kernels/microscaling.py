"""Quantization in blocks of 32 elements with a power of two as their scale.

The twin's aclnn functions compute it, as in eager. Scales are float8_e8m0.
"""

from __future__ import annotations

import math

import torch

from opwright.graph_engine.calls.aclnn import New, call_aclnn
from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime

BLOCK = 32
PAIR = 2  # scales come in pairs, which are the last axis
FLOAT4_E2M1, BFLOAT16, FLOAT8_E5M2 = 40, 27, 35
E8M0 = torch.float8_e8m0fnu


def scales_along(shape: torch.Size, axis: int, block: int = BLOCK) -> New:
    """Return the scales of blocks along an axis."""
    sizes = list(shape)
    sizes[axis] = math.ceil(math.ceil(sizes[axis] / block) / PAIR)
    return New([*sizes, PAIR], E8M0)


@kernel("DynamicMxQuant", source="ops-nn:quant/dynamic_mx_quant/op_graph/dynamic_mx_quant_proto.h")
def dynamic_mx_quant(
    x: torch.Tensor,
    *,
    axis: int = -1,
    round_mode: str = "rint",
    dst_type: int = FLOAT4_E2M1,
    blocksize: int = BLOCK,
    scale_alg: int = 0,
    dst_type_max: float = 0.0,
    max_low_bound: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize blocks along an axis."""
    return call_aclnn(
        "DynamicMxQuantV3",
        *(x, axis, round_mode, dst_type, blocksize, scale_alg, dst_type_max, max_low_bound),
        New(x.shape, from_runtime(dst_type, where="DynamicMxQuant")),
        scales_along(x.shape, axis, blocksize),
    )


@kernel(
    "DynamicMxQuantWithDualAxis",
    source="ops-nn:quant/dynamic_mx_quant_with_dual_axis/op_graph/dynamic_mx_quant_with_dual_axis_proto.h",
)
def dynamic_mx_quant_with_dual_axis(
    x: torch.Tensor,
    *,
    round_mode: str = "rint",
    dst_type: int = FLOAT4_E2M1,
    scale_alg: int = 0,
    dst_type_max: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize blocks along the last axis, and along the one before."""
    result = from_runtime(dst_type, where="DynamicMxQuantWithDualAxis")
    return call_aclnn(
        "DynamicMxQuantWithDualAxisV2",
        *(x, round_mode, dst_type, scale_alg, dst_type_max),
        *(New(x.shape, result), scales_along(x.shape, -1)),
        *(New(x.shape, result), scales_along(x.shape, -2)),
    )


@kernel(
    "DynamicBlockMxQuant",
    source="ops-nn:quant/dynamic_block_mx_quant/op_graph/dynamic_block_mx_quant_proto.h",
)
def dynamic_block_mx_quant(
    x: torch.Tensor,
    *,
    round_mode: str = "rint",
    dst_type: int = FLOAT4_E2M1,
    scale_alg: int = 0,
    dst_type_max: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize squares of 32 rows and columns; the scales along both axes."""
    return call_aclnn(
        "DynamicBlockMxQuant",
        *(x, round_mode, dst_type, scale_alg, dst_type_max),
        New(x.shape, from_runtime(dst_type, where="DynamicBlockMxQuant")),
        *(scales_along(x.shape, -1), scales_along(x.shape, -2)),
    )


@kernel(
    "GroupedDynamicMxQuant",
    source="ops-nn:quant/grouped_dynamic_mx_quant/op_graph/grouped_dynamic_mx_quant_proto.h",
)
def grouped_dynamic_mx_quant(
    x: torch.Tensor,
    group_index: torch.Tensor,
    *,
    round_mode: str = "rint",
    dst_type: int = FLOAT8_E5M2,
    blocksize: int = BLOCK,
    scale_alg: int = 0,
    dst_type_max: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize blocks of rows; a group of rows begins a block."""
    blocks = x.shape[0] // PAIR // blocksize + group_index.shape[0]
    return call_aclnn(
        "GroupedDynamicMxQuantV2",
        *(x, group_index, round_mode, dst_type, blocksize, scale_alg, dst_type_max),
        New(x.shape, from_runtime(dst_type, where="GroupedDynamicMxQuant")),
        New((blocks, x.shape[-1], PAIR), E8M0),
    )


@kernel(
    "DynamicDualLevelMxQuant",
    source="ops-nn:quant/dynamic_dual_level_mx_quant/op_graph/dynamic_dual_level_mx_quant_proto.h",
)
def dynamic_dual_level_mx_quant(
    x: torch.Tensor,
    smooth_scale: torch.Tensor | None = None,
    *,
    round_mode: str = "rint",
    level0_block_size: int = 512,
    level1_block_size: int = BLOCK,
) -> tuple[torch.Tensor, ...]:
    """Quantize large blocks by a float32 scale, and the small ones in them by a power of two."""
    *rows, columns = x.shape
    return call_aclnn(
        "DynamicDualLevelMxQuant",
        *(x, smooth_scale, round_mode, level0_block_size, level1_block_size),
        New(x.shape, from_runtime(FLOAT4_E2M1, where="DynamicDualLevelMxQuant")),
        New((*rows, math.ceil(columns / level0_block_size)), torch.float32),
        scales_along(x.shape, -1, level1_block_size),
    )


@kernel("AntiMxQuant", source="ops-nn:quant/anti_mx_quant/op_graph/anti_mx_quant_proto.h")
def anti_mx_quant(
    x: torch.Tensor, mxscale: torch.Tensor, *, axis: int = -1, dst_type: int = BFLOAT16
) -> tuple[torch.Tensor, ...]:
    """Turn quantized blocks into floating-point values."""
    result = New(x.shape, from_runtime(dst_type, where="AntiMxQuant"))
    return call_aclnn("AntiMxQuant", x, mxscale.view(E8M0), axis, dst_type, result)


@kernel("SwigluMxQuant", source="ops-nn:quant/swiglu_mx_quant/op_graph/swiglu_mx_quant_proto.h")
def swiglu_mx_quant(  # noqa: PLR0913 -- the prototype's
    x: torch.Tensor,
    group_index: torch.Tensor | None = None,
    *,
    activate_dim: int = -1,
    activate_left: bool = False,
    swiglu_mode: int = 0,
    clamp_limit: float = 7.0,
    glu_alpha: float = 1.702,
    glu_bias: float = 1.0,
    group_mode: int = 0,
    axis: int = -1,
    dst_type: int = FLOAT4_E2M1,
    round_mode: str = "rint",
    scale_alg: int = 0,
    max_dtype_value: float = 0.0,
) -> tuple[torch.Tensor, ...]:
    """Quantize blocks of the swiglu of x."""
    shape = list(x.shape)
    shape[activate_dim] //= 2
    scales = scales_along(torch.Size(shape), axis)
    if group_index is not None and axis % x.dim() != x.dim() - 1:
        sizes = list(shape)
        sizes[axis] = sizes[axis] // (BLOCK * PAIR) + group_index.shape[0]
        scales = New([*sizes, PAIR], E8M0)
    return call_aclnn(
        "SwigluMxQuant",
        *(x, group_index, activate_dim, activate_left, swiglu_mode, clamp_limit, glu_alpha),
        *(glu_bias, group_mode, axis, dst_type, round_mode, scale_alg, max_dtype_value),
        New(shape, from_runtime(dst_type, where="SwigluMxQuant")),
        scales,
    )


@kernel(
    "RmsNormDynamicMxQuant",
    source="ops-nn:norm/rms_norm_dynamic_mx_quant/op_graph/rms_norm_dynamic_mx_quant_proto.h",
)
def rms_norm_dynamic_mx_quant(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor | None = None,
    *,
    epsilon: float = 1e-6,
    scale_alg: int = 0,
    round_mode: str = "rint",
    dst_type: int = FLOAT4_E2M1,
    output_rstd: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Quantize blocks of a norm; also its factor for each row, zeros unless it is wanted."""
    y, scales, *rstd = call_aclnn(
        "RmsNormDynamicMxQuant",
        *(x, gamma, beta, epsilon, scale_alg, round_mode, dst_type, output_rstd),
        New(x.shape, from_runtime(dst_type, where="RmsNormDynamicMxQuant")),
        scales_along(x.shape, -1),
        New(rstd_shape(x, gamma), torch.float32) if output_rstd else None,
    )
    return y, scales, rstd[0] if rstd else absent_rstd(x, gamma)


@kernel(
    "AddRmsNormDynamicMxQuant",
    source="ops-nn:norm/add_rms_norm_dynamic_mx_quant/op_graph/add_rms_norm_dynamic_mx_quant_proto.h",
)
def add_rms_norm_dynamic_mx_quant(
    x1: torch.Tensor,
    x2: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor | None = None,
    *,
    epsilon: float = 1e-6,
    scale_alg: int = 0,
    round_mode: str = "rint",
    dst_type: int = FLOAT4_E2M1,
    output_rstd: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Quantize blocks of the norm of a sum; also the sum."""
    y, total, scales, *rstd = call_aclnn(
        "AddRmsNormDynamicMxQuant",
        *(x1, x2, gamma, beta, epsilon, scale_alg, round_mode, dst_type, output_rstd),
        New(x1.shape, from_runtime(dst_type, where="AddRmsNormDynamicMxQuant")),
        *(New(x1.shape, x1.dtype), scales_along(x1.shape, -1)),
        New(rstd_shape(x1, gamma), torch.float32) if output_rstd else None,
    )
    return y, total, scales, rstd[0] if rstd else absent_rstd(x1, gamma)


def rstd_shape(x: torch.Tensor, gamma: torch.Tensor) -> list[int]:
    """Return the shape of a norm's factors."""
    kept = x.dim() - gamma.dim()
    return [size if axis < kept else 1 for axis, size in enumerate(x.shape)]


def absent_rstd(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    """Return what stands for factors that are not wanted."""
    return torch.zeros(rstd_shape(x, gamma), dtype=torch.float32)
