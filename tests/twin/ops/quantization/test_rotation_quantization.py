"""Quantization after rotations: native/opapi/ops/quantization/rotation_quantization.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, near_integers, rejects
from tests.twin.ops.low_bits import (
    E2M1,
    E4M3,
    Format,
    microscaled,
    nearly,
    pairs,
    stored,
    unpack_int4,
)
from tests.twin.ops.samples import some


def rotation(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(2)).bfloat16()


def rotated(x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    pieces = torch.unflatten(x.float(), -1, (-1, matrix.size(-1)))
    if matrix.dim() == 2:
        return (pieces @ matrix.float()).flatten(-2).to(x.dtype)
    return torch.einsum("...pk,pkl->...pl", pieces, matrix.float()).flatten(-2).to(x.dtype)


@pytest.mark.parametrize("four_bits", [False, True])
def test_rotate_quant_by_rows(four_bits: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, matrix = some((5, 64), torch.bfloat16), rotation(16, 16)
    y, scale = torch_npu.npu_rotate_quant(
        x.to("npu"), matrix.to("npu"), dst_dtype=torch.quint4x2 if four_bits else torch.int8
    )
    values = rotated(x, matrix).float()
    scales = values.abs().amax(-1) / (7 if four_bits else 127)
    torch.testing.assert_close(scale.cpu(), scales, rtol=1e-2, atol=0)
    near_integers(unpack_int4(y) if four_bits else y, (values / scales[:, None]).round())


@pytest.mark.parametrize("to", [E2M1, E4M3])
@pytest.mark.parametrize("matrix", [rotation(32, 32), rotation(3, 32, 32)])
def test_rotate_quant_to_microscaling(to: Format, matrix: torch.Tensor) -> None:
    x = some((4, 96), torch.bfloat16)
    for alpha in (None, torch.tensor([0.5]).bfloat16()):
        y, scale = torch_npu.npu_rotate_quant(
            x.to("npu"),
            matrix.to("npu"),
            alpha=None if alpha is None else alpha.to("npu"),
            dst_dtype=to.code,
        )
        values = rotated(x, matrix)
        if alpha is not None:
            groups = values.view(4, 3, 32)
            limit = groups.abs().amax(-1, keepdim=True) * 0.5
            values = groups.clamp(-limit, limit).view(4, 96)
        numbers, codes = microscaled(values, -1, to)
        nearly(stored(y, to), numbers, to)
        agree(scale.cpu().view(torch.uint8), pairs(codes, -1))


@pytest.mark.parametrize("clip", [1.0, 0.5])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_kronecker_quant(dtype: torch.dtype, clip: float) -> None:
    x, left, right = (some(shape, dtype) for shape in ((3, 4, 8), (4, 4), (8, 8)))
    y, scale = torch_npu.npu_kronecker_quant(x.to("npu"), left.to("npu"), right.to("npu"), clip)
    values = (left.float() @ (x.float() @ right.float())).to(dtype).float()
    scales = values.abs().amax((1, 2)) / (7 / clip)
    torch.testing.assert_close(scale.cpu(), scales, rtol=1e-2, atol=0)
    near_integers(unpack_int4(y), (values / scales[:, None, None]).round().clamp(-8, 7))


def test_kronecker_quant_to_microscaling() -> None:
    x, left, right = (some(shape, torch.bfloat16) for shape in ((3, 4, 16), (4, 4), (16, 16)))
    y, scale = torch_npu.npu_kronecker_quant(
        x.to("npu"), left.to("npu"), right.to("npu"), dst_dtype=torch_npu.float4_e2m1fn_x2
    )
    values = (left.float() @ (x.float() @ right.float())).bfloat16().flatten(1)
    numbers, codes = microscaled(values, -1, E2M1)
    nearly(stored(y, E2M1), numbers, E2M1)
    agree(scale.cpu().view(torch.uint8), pairs(codes, -1))


def test_rotation_quantization_refuses_wrong_calls() -> None:
    x = some((4, 48), torch.bfloat16)
    rejects("rotation", torch_npu.npu_rotate_quant, x, rotation(32, 32), dst_dtype=torch.int8)
