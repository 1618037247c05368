"""Quantized writes into caches, biases, convolution: quantization/quantized_updates.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import some


@pytest.mark.parametrize("axis", [-2, 1])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_quant_scatter(axis: int, index: torch.dtype) -> None:
    cache = some((4, 6, 3, 8), torch.int8)
    shape = (2, 2, 3, 8) if axis == 1 else (2, 6, 1, 8)
    updates, scales = some(shape, torch.bfloat16), (some((8,), torch.bfloat16, 1, 3) / 32)
    offsets = some((8,), torch.bfloat16).round()
    values = (updates.float() / scales.float() + offsets.float()).round().clamp(-128, 127)
    expected = cache.clone()
    places = [(3, 1), (0, 2)]
    for (row, position), part in zip(places, values, strict=True):
        dim = axis % 4 - 1
        expected[row].narrow(dim, position, part.size(dim)).copy_(part)
    indices = torch.tensor(places, dtype=index)
    args = (cache, indices, updates, scales, offsets)
    agree(run_on_npu(torch_npu.npu_quant_scatter, *args, axis=axis), expected)
    device = cache.to("npu")
    others = [tensor.to("npu") for tensor in args[1:]]
    torch_npu.npu_quant_scatter_(device, *others, axis=axis)
    agree(device, expected)


def test_quant_scatter_by_row() -> None:
    cache, updates = some((2, 5, 8), torch.int8), some((2, 1, 8), torch.float16)
    scales = some((1, 1, 8), torch.float32, 1, 3) / 32
    expected = cache.clone()
    values = (updates.float() / scales).round().clamp(-128, 127).to(torch.int8)
    expected[0, 3], expected[1, 1] = values[0, 0], values[1, 0]
    indices = torch.tensor([3, 1], dtype=torch.int32)
    agree(run_on_npu(torch_npu.npu_quant_scatter, cache, indices, updates, scales), expected)


@pytest.mark.parametrize("bias", [None, torch.int32, torch.float32, torch.float16])
@pytest.mark.parametrize("activation", [False, True])
def test_dequant_bias(activation: bool, bias: torch.dtype | None) -> None:  # noqa: FBT001
    x, weight = some((5, 7), torch.int32, -999, 999), torch.rand(7)
    rows = torch.rand(5) if activation else None
    add = None if bias is None else some((7,), bias)
    actual = run_on_npu(
        torch_npu.npu_dequant_bias, x, weight, rows, add, output_dtype=torch.float16
    )
    values = x + (add if bias == torch.int32 and add is not None else 0)
    values = values * weight * (1 if rows is None else rows[:, None])
    if add is not None and bias != torch.int32:
        values = values + add
    agree(actual, values.to(torch.float16))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("offset_x", [0, 3])
def test_quant_convolution(groups: int, offset_x: int) -> None:
    x, weight = some((2, 4, 9, 7), torch.int8), some((6, 4 // groups, 3, 3), torch.int8)
    scale, bias = torch.rand(6), some((6,), torch.int32)
    out = torch.zeros(2, 6, 5, 4, dtype=torch.float16).to("npu")
    call(
        "aclnnQuantConvolution",
        x.to("npu"),
        weight.to("npu"),
        bias.to("npu"),
        scale.to("npu"),
        None,
        [2, 2],
        [1, 1],
        [1, 1],
        False,  # noqa: FBT003 - as C programs call it
        [0, 0],
        groups,
        offset_x,
        "rint",
        out,
    )
    full = torch.nn.functional.pad(x.double(), (1, 1, 1, 1), value=offset_x)
    sums = torch.nn.functional.conv2d(full, weight.double(), stride=2, groups=groups)
    expected = (sums + bias[:, None, None]) * scale[:, None, None]
    agree(out, expected.to(torch.float16))


def test_rounding_of_quant_convolution() -> None:
    """Halves: to even numbers, or away from zero; no other way."""
    codes = torch.tensor([1, 3, -1, -3], dtype=torch.int8).view(1, 1, 1, 4)

    def run(mode: str) -> torch.Tensor:
        out = torch.zeros(1, 1, 1, 4, dtype=torch.int8).to("npu")
        call(
            "aclnnQuantConvolution",
            codes.to("npu"),
            torch.ones(1, 1, 1, 1, dtype=torch.int8).to("npu"),
            None,
            torch.tensor([0.5]).to("npu"),
            None,
            *([1, 1], [0, 0], [1, 1], False, [0, 0], 1, 0),
            mode,
            out,
        )
        return out.flatten().cpu()

    agree(run("rint"), torch.tensor([0, 2, 0, -2], dtype=torch.int8))
    agree(run("round"), torch.tensor([1, 2, -1, -2], dtype=torch.int8))
    rejects("'roundMode' is 'floor'", run, "floor")


def test_quantized_updates_refuses_wrong_calls() -> None:
    cache, updates = some((2, 5, 8), torch.int8), some((2, 1, 8), torch.float16)
    indices = torch.tensor([5, 1], dtype=torch.int32)
    quant = torch_npu.npu_quant_scatter
    rejects("indices", quant, cache, indices, updates, torch.ones(8))
