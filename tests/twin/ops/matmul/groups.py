"""Rows of four experts, and their products by the definition."""

from __future__ import annotations

import torch

SIZES = (3, 0, 4, 2)
ENDS = (3, 3, 7, 9)


def split(sizes: tuple[int, ...] = SIZES) -> list[slice]:
    ends = torch.tensor(sizes).cumsum(0).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def group_list(form: int) -> torch.Tensor:
    return torch.tensor(
        {0: ENDS, 1: SIZES, 2: [(0, 3), (2, 4), (3, 2), (1, 0)]}[form], dtype=torch.int64
    )


def product(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    value = x.double() @ weight.double()
    return value if bias is None else value + bias.double()


def rows_of_experts(
    x: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    return torch.cat(
        [
            product(x[rows], weights[i], None if bias is None else bias[i])
            for i, rows in enumerate(split())
        ]
    )


def packed_scale(scale: torch.Tensor) -> torch.Tensor:
    """A float32 as 64 bits, as npu_trans_quant_param writes it; the 13 lowest bits are lost."""
    return scale.view(torch.int32).bitwise_and(~0x1FFF).long().bitwise_and(0xFFFFFFFF)


def rounded_scale(scale: torch.Tensor) -> torch.Tensor:
    return scale.view(torch.int32).bitwise_and(~0x1FFF).view(torch.float32)


def each_row(per_expert: torch.Tensor) -> torch.Tensor:
    return per_expert.repeat_interleave(torch.tensor(SIZES), 0)
