"""Quantised and dequantised at once: native/opapi/ops/quantization/fake_quantization.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.ops.compare import agree, check, run_on_npu
from tests.twin.ops.gradients import check_gradients
from tests.twin.ops.samples import some

ATEN = torch.ops.aten
PER_TENSOR = ATEN._fake_quantize_per_tensor_affine_cachemask_tensor_qparams  # noqa: SLF001
SHAPES = ((4, 5), (2, 3, 4), (5,))


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("zero_dtype", [torch.int32, torch.float32])
def test_per_channel(axis: int, zero_dtype: torch.dtype) -> None:
    for shape in SHAPES:
        scale = some((shape[axis],), torch.float32, 1, 2) / 7
        zero = some((shape[axis],), torch.int32, -3, 4).to(zero_dtype)
        x = some(shape, torch.float32).requires_grad_()
        check_gradients(
            torch.fake_quantize_per_channel_affine, x, scale, zero, axis % len(shape), -12, 15
        )


@pytest.mark.parametrize("enabled", [0, 1])
def test_per_tensor(enabled: int) -> None:
    scale, zero = torch.tensor([0.13]), torch.tensor([2], dtype=torch.int32)
    switch = torch.tensor([enabled])
    for shape in (*SHAPES, (0, 3)):
        check(PER_TENSOR, some(shape, torch.float32), scale, zero, switch, -8, 7)
    check(PER_TENSOR, some((5, 4), torch.float32).t(), scale, zero, switch, -8, 7)


def test_half() -> None:
    x, scale = some((4, 5), torch.float16), torch.tensor([0.25])
    zero, on = torch.tensor([1], dtype=torch.int32), torch.tensor([1])
    level = torch.round(x.float() / 0.25) + 1
    expected = ((level.clamp(-8, 7) - 1) * 0.25).half()
    mask = (level >= -8) & (level <= 7)
    agree(run_on_npu(PER_TENSOR, x, scale, zero, on, -8, 7), (expected, mask))
