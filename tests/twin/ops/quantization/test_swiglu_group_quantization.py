"""SwiGLU with quantization in blocks: quantization/swiglu_group_quantization.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import CODES, call
from tests.twin.ops.compare import agree, rejects
from tests.twin.ops.low_bits import (
    E4M3,
    E5M2,
    HIFLOAT8,
    Format,
    hifloat8,
    microscaled,
    nearest_hifloat8,
    nearly,
    on_grid,
    pairs,
    stored,
)
from tests.twin.ops.samples import some

silu = torch.nn.functional.silu
EIGHT_BITS = {E4M3: torch.float8_e4m3fn, E5M2: torch.float8_e5m2}


def swiglu(x: torch.Tensor, limit: float = 0) -> torch.Tensor:
    gate, factor = x.float().chunk(2, -1)
    if limit:
        gate, factor = gate.clamp(max=limit), factor.clamp(-limit, limit)
    return silu(gate) * factor


def group_quant(
    x: torch.Tensor,
    y: torch.Tensor,
    scale: torch.Tensor,
    mode: int,
    *,
    weight: torch.Tensor | None = None,
    sizes: torch.Tensor | None = None,
    rounded: bool = False,
    limit: float = -1.0,
    origin: torch.Tensor | None = None,
) -> None:
    call(
        "aclnnSwigluGroupQuant",
        x.to("npu"),
        None if weight is None else weight.to("npu"),
        None if sizes is None else sizes.to("npu"),
        None,
        CODES[y.dtype],
        mode,
        0,
        rounded,
        limit,
        0.0,
        origin is not None,
        y,
        scale,
        origin,
    )


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.full(shape, 77, dtype=torch.uint8).to("npu").view(dtype)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("to", EIGHT_BITS)
def test_blocks(to: Format, rounded: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, weight = some((5, 400), torch.bfloat16, -9, 10), torch.rand(5) + 0.5
    y, scale = empty((5, 200), EIGHT_BITS[to]), torch.zeros(5, 2).to("npu")
    origin = torch.zeros(5, 200, dtype=torch.bfloat16).to("npu")
    sizes = torch.tensor([2, 1])
    group_quant(
        x, y, scale, 0, weight=weight, sizes=sizes, rounded=rounded, limit=3.0, origin=origin
    )
    values = swiglu(x, 3) * weight[:, None]
    factors = torch.stack([part.abs().amax(-1) for part in torch.split(values, 128, -1)], -1)
    factors = factors.clamp_min(1e-4) / to.highest
    if rounded:
        factors = torch.exp2(factors.log2().ceil())
    each = factors.repeat_interleave(128, -1)[:, :200]
    torch.testing.assert_close(scale.cpu()[:3], factors[:3])
    nearly(stored(y, to)[:3], on_grid(values / each, to)[:3], to)
    agree(origin[:3], values[:3].bfloat16())


@pytest.mark.parametrize("to", EIGHT_BITS)
def test_microscaled(to: Format) -> None:
    x = some((5, 192), torch.float16, -9, 10)
    y, scale = empty((5, 96), EIGHT_BITS[to]), empty((5, 2, 2), torch.float8_e8m0fnu)
    group_quant(x, y, scale, 1, rounded=True)
    numbers, codes = microscaled(swiglu(x), -1, to, algorithm=1)
    nearly(stored(y, to), numbers, to)
    agree(scale.cpu().view(torch.uint8), pairs(codes, -1))


def test_hifloat8() -> None:
    x, sizes = some((6, 32), torch.bfloat16, -9, 10), torch.tensor([4, 2])
    y, scale, _ = torch_npu.npu_swiglu_group_quant(
        x.to("npu"), group_index=sizes.to("npu"), dst_type=HIFLOAT8, quant_mode=3, dst_type_max=15.0
    )
    values = swiglu(x)
    factors = torch.stack([part.abs().amax() / 15 for part in torch.split(values, [4, 2])])
    torch.testing.assert_close(scale.cpu(), factors)
    numbers = torch.tensor([hifloat8(int(code)) for code in y.cpu().view(torch.uint8).flatten()])
    expected = values / factors[[0, 0, 0, 0, 1, 1], None]
    nearly(numbers.view(6, 16), nearest_hifloat8(expected), None)


@pytest.mark.parametrize("limit", [-1.0, 2.0])
def test_gradients(limit: float) -> None:
    x, grad = some((5, 32), torch.float32), some((5, 16), torch.float32, 1, 4)
    weight, sizes = torch.rand(5) + 0.5, torch.tensor([1, 3])
    leaf, factor = x.clone().requires_grad_(), weight.clone().requires_grad_()
    result = swiglu(leaf, max(limit, 0)) * factor[:, None]
    grads = torch.autograd.grad(result[:4], (leaf, factor), grad[:4])
    grad_x, grad_weight = torch_npu.npu_swiglu_group_quant_backward(
        grad.to("npu"),
        x.to("npu"),
        weight=weight.to("npu"),
        y_origin=swiglu(x, max(limit, 0)).to("npu"),
        group_index=sizes.to("npu"),
        clamp_limit=limit,
    )
    torch.testing.assert_close(grad_x.cpu(), grads[0])
    torch.testing.assert_close(grad_weight.cpu(), grads[1])


@pytest.mark.parametrize("axis", [-1, -2])
@pytest.mark.parametrize("mode", [0, 1])
def test_swiglu_mx_quant(axis: int, mode: int) -> None:
    x = some((70, 192), torch.bfloat16)
    y, scale = torch_npu.npu_swiglu_mx_quant(
        x.to("npu"), activate_left=True, swiglu_mode=mode, axis=axis, dst_type=E4M3.code
    )
    values = swiglu(x)
    if mode == 1:
        gate = x.float()[:, ::2].clamp(max=7)
        values = gate * torch.sigmoid(1.702 * gate) * (x.float()[:, 1::2].clamp(-7, 7) + 1)
    numbers, codes = microscaled(values, axis, E4M3)
    nearly(stored(y, E4M3), numbers, E4M3)
    agree(scale.cpu().view(torch.uint8), pairs(codes, axis))


@pytest.mark.parametrize("backward", [False, True])
def test_both_axes_in_groups(backward: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, ends = some((100, 128), torch.bfloat16), torch.tensor([40, 100])
    leaf = x.float().requires_grad_()
    values = swiglu(leaf)
    if backward:
        grad = some((100, 64), torch.bfloat16, 1, 3)
        (values,) = torch.autograd.grad(values, leaf, grad.float())
        result = torch.ops.npu._npu_swiglu_backward_mx_quant_with_dual_axis(  # noqa: SLF001
            x.to("npu"), grad.to("npu"), group_index=ends.to("npu")
        )
    else:
        values = values.detach()
        result = torch_npu.npu_swiglu_mx_quant_with_dual_axis(
            x.to("npu"), group_index=ends.to("npu")
        )
    y1, scale1, y2, scale2 = result
    numbers, codes = microscaled(values, -1, E4M3, algorithm=1)
    nearly(stored(y1, E4M3), numbers, E4M3)
    agree(scale1.cpu().view(torch.uint8), pairs(codes, -1))
    found = scale2.cpu().view(torch.uint8)
    for first, (begin, end) in ((0, (0, 40)), (40 // 64 + 1, (40, 100))):
        numbers, codes = microscaled(values[begin:end], 0, E4M3, algorithm=1)
        nearly(stored(y2, E4M3)[begin:end], numbers, E4M3)
        part = pairs(codes, 0)
        agree(found[first : first + part.size(0)], part)


def test_swiglu_group_quantization_refuses_wrong_calls() -> None:
    x = some((4, 32), torch.bfloat16)
    ends = torch.tensor([3, 9])
    rejects("group 1", torch_npu.npu_swiglu_mx_quant_with_dual_axis, x, group_index=ends)


@pytest.mark.parametrize(
    ("why", "changed"),
    [
        ("groupMode is 2", {"group_mode": 2}),
        ("swigluMode is 4", {"swiglu_mode": 4}),
        ("'dstType' is float8_e5m2, but the output is float8_e4m3fn", {"dst_type": 35}),
    ],
)
def test_refusals_of_options(why: str, changed: dict[str, object]) -> None:
    arguments = {
        "x": some((4, 128), torch.bfloat16),
        "group_index": torch.tensor([2, 2]),
        "activate_dim": -1,
        "activate_left": True,
        "swiglu_mode": 0,
        "clamp_limit": 7.0,
        "alpha": 1.702,
        "bias": 1.0,
        "group_mode": 0,
        "axis": -1,
        "dst_type": 36,
        "round_mode": "rint",
        "scale_algorithm": 0,
        "largest": 0.0,
        "y": empty((4, 64), torch.float8_e4m3fn),
        "scale": empty((4, 1, 2), torch.float8_e8m0fnu),
    }
    rejects(why, call, "aclnnSwigluMxQuant", *(arguments | changed).values())


def test_a_largest_number_that_has_no_meaning_is_refused() -> None:
    x = some((4, 128), torch.bfloat16)
    codes = [empty((4, 64), torch.float8_e4m3fn) for _ in range(2)]
    scales = [empty(shape, torch.float8_e8m0fnu) for shape in ((4, 1, 2), (1, 64, 2))]
    outputs = [codes[0], scales[0], codes[1], scales[1]]
    options = (None, True, "rint", 1, 36, 5.0)
    rejects("dstTypeMax is 5", call, "aclnnSwigluMxQuantWithDualAxis", x, *options, *outputs)
