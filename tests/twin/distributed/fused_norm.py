"""Sums of products over the ranks with a residual and a norm behind them, against the steps alone.

The expected values are computed on the CPU from what all ranks hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import distributed as dist

from tests.twin.aclnn_calls import call
from tests.twin.distributed.fused import agree, draw, draw_bytes, everyone, group_name

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH, LENGTH, INNER, COLUMNS = 2, 3, 32, 8
EPSILON = 1e-5


def normed(y: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    wide = y.float()
    return wide * (wide.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * gamma.float()


def check(
    name: str,
    operands: Sequence[torch.Tensor | None],
    total: torch.Tensor,
    group_size: Sequence[int] = (),
) -> None:
    """Call both forms: with an output of its own, and into the residual."""
    residual = draw(40, (BATCH, LENGTH, COLUMNS), torch.float16)
    gamma = draw(41, (COLUMNS,), torch.float16)
    y = (total.view(residual.shape) + residual.float()).half()
    for place in ("", "Inplace"):
        given = [None if operand is None else operand.to("npu") for operand in operands]
        changed, out, norm = (residual.clone().to("npu") for _ in range(3))
        outputs = [norm] if place else [out, norm]
        options = [EPSILON, group_name(), "sum", 0, 1, *group_size]
        call(f"aclnn{place}{name}", *given, changed, gamma.to("npu"), *options, *outputs)
        agree(changed if place else out, y)
        agree(norm, normed(y, gamma))


def added(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.stack([part.half() for part in parts]).float().sum(0).half().float()


def plain() -> None:
    rank = dist.get_rank()
    x = everyone((BATCH, LENGTH, INNER), torch.float16)
    weight = everyone((INNER, COLUMNS), torch.float16, seed=50)
    bias = everyone((COLUMNS,), torch.float16, seed=70)
    parts = [a.float() @ b.float() + c.float() for a, b, c in zip(x, weight, bias, strict=True)]
    check("MatmulAllReduceAddRmsNorm", [x[rank], weight[rank], bias[rank]], added(parts))


def of_bytes() -> None:
    """The rows may come without the batch."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = [draw_bytes(i, (BATCH * LENGTH, INNER)) for i in range(size)]
    weight = draw_bytes(90, (INNER, COLUMNS))
    scale = (draw(91, (COLUMNS,), torch.float32).abs() + 0.125).bfloat16().float()
    packed = scale.view(torch.int32).long()
    parts = [(a.double() @ weight.double() * scale).float() for a in x]
    check("QuantMatmulAllReduceAddRmsNorm", [x[rank], weight, None, packed], added(parts))


def of_a_quantized_weight() -> None:
    rank = dist.get_rank()
    x = everyone((BATCH, LENGTH, INNER), torch.float16)
    weight = draw_bytes(90, (INNER, COLUMNS))
    scale, offset = draw(91, (COLUMNS,), torch.float16), draw(92, (COLUMNS,), torch.float16)
    real = ((weight.float() + offset.float()) * scale.float()).half().float()
    operands = [x[rank], weight, None, scale, offset]
    parts = [a.float() @ real for a in x]
    check("WeightQuantMatmulAllReduceAddRmsNorm", operands, added(parts), group_size=[0])
