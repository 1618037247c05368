"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.table import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

# FusedMatMul's operation on the product and its third operand.
FUSIONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
}
FUSIONS_OF_ONE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "": lambda product: product,
    "16cast32": lambda product: product.float(),
    "relu": torch.relu,
    "gelu_erf": functional.gelu,
    "gelu_tanh": lambda product: functional.gelu(product, approximate="tanh"),
}


def transpose_if(x: torch.Tensor, *, on: bool) -> torch.Tensor:
    """Transpose the matrices if `on`."""
    return x.transpose(-1, -2) if on else x


def refuse_offsets(offset_w: torch.Tensor | None, offset_x: int) -> None:
    """Raise NotImplementedError for offsets of quantized operands."""
    if offset_w is not None or offset_x:
        message = "offsets of quantized operands are not available"
        raise NotImplementedError(message)


def product_of(x1: torch.Tensor, x2: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """x1 @ x2 + bias, rounded once."""
    if bias is None:
        return x1 @ x2
    if bias.dtype == x1.dtype and x1.dim() == x2.dim() == len("mk"):
        return torch.addmm(bias, x1, x2)
    return (widen(x1) @ widen(x2) + widen(bias)).to(x1.dtype)


@kernel("MatMul", source="graphengine:third_party/fwkacllib/inc/ops/matrix_calculation_ops.h")
def mat_mul(
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
) -> torch.Tensor:
    """x1 @ x2 + bias."""
    return product_of(transpose_if(x1, on=transpose_x1), transpose_if(x2, on=transpose_x2), bias)


@kernel("MatMulV2", source="graphengine:third_party/fwkacllib/inc/ops/matrix_calculation_ops.h")
def mat_mul_v2(
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    offset_w: torch.Tensor | None = None,
    *,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
    offset_x: int = 0,
) -> torch.Tensor:
    """x1 @ x2 + bias."""
    refuse_offsets(offset_w, offset_x)
    return product_of(transpose_if(x1, on=transpose_x1), transpose_if(x2, on=transpose_x2), bias)


@kernel("BatchMatMul", source="graphengine:third_party/fwkacllib/inc/ops/matrix_calculation_ops.h")
def batch_mat_mul(
    x1: torch.Tensor, x2: torch.Tensor, *, adj_x1: bool = False, adj_x2: bool = False
) -> torch.Tensor:
    """x1 @ x2 over leading axes."""
    return transpose_if(x1, on=adj_x1) @ transpose_if(x2, on=adj_x2)


@kernel("BatchMatMulV2", source="ops-nn:matmul/batch_mat_mul_v3/docs/aclnnBatchMatMul.md")
def batch_mat_mul_v2(
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    offset_w: torch.Tensor | None = None,
    *,
    adj_x1: bool = False,
    adj_x2: bool = False,
    offset_x: int = 0,
) -> torch.Tensor:
    """x1 @ x2 + bias over leading axes."""
    refuse_offsets(offset_w, offset_x)
    return product_of(transpose_if(x1, on=adj_x1), transpose_if(x2, on=adj_x2), bias)


@kernel("FusedMatMul", source="ops-nn:matmul/fused_mat_mul/op_graph/fused_mat_mul_proto.h")
def fused_mat_mul(
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    x3: torch.Tensor | None = None,
    *,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
    enable_hf32: bool = False,
    fused_op_type: str = "",
) -> torch.Tensor:
    """Of x1 @ x2 + bias (and x3) the function `fused_op_type`; HF32 is computed in float32."""
    del enable_hf32
    product = transpose_if(widen(x1), on=transpose_x1) @ transpose_if(widen(x2), on=transpose_x2)
    if bias is not None:
        product = product + widen(bias)
    if fused_op_type in FUSIONS_OF_ONE:
        result = FUSIONS_OF_ONE[fused_op_type](product)
    elif fused_op_type in FUSIONS and x3 is not None:
        result = FUSIONS[fused_op_type](product, widen(x3))
    else:
        message = f"fused_op_type '{fused_op_type}' is not available, or its operand x3 is missing"
        raise NotImplementedError(message)
    return result if fused_op_type == "16cast32" else result.to(x1.dtype)


@kernel(
    "TransposeBatchMatMul",
    source="ops-nn:matmul/transpose_batch_mat_mul/op_graph/transpose_batch_mat_mul_proto.h",
)
def transpose_batch_mat_mul(
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
    *,
    perm_x1: list[int] = (),  # type: ignore[assignment]
    perm_x2: list[int] = (),  # type: ignore[assignment]
    perm_y: list[int] = (),  # type: ignore[assignment]
    enable_hf32: bool = False,
    batch_split_factor: int = 1,
) -> torch.Tensor:
    """x1 @ x2 + bias with the axes of all three permuted; HF32 is computed in float32."""
    del enable_hf32
    if scale is not None:
        message = "a scale, which makes the result int8, is not available"
        raise NotImplementedError(message)
    first, second = (x.permute(p) if p else x for x, p in ((x1, perm_x1), (x2, perm_x2)))
    product = product_of(first, second, bias)
    if batch_split_factor > 1:
        batches, rows, columns = product.shape
        groups = product.reshape(batch_split_factor, batches // batch_split_factor, rows, columns)
        return groups.permute(0, 2, 1, 3).reshape(batch_split_factor, rows, -1)
    return (product.permute(perm_y) if perm_y else product).contiguous()
