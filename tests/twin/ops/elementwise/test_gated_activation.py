"""Gated activations and FastGelu: native/opapi/ops/elementwise/gated_activation.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.ops.compare import agree, copied, layouts, rejects, run_on_npu
from tests.twin.ops.samples import some

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def inputs(dtype: torch.dtype) -> list[torch.Tensor]:
    """Tensors of several layouts whose last dimension is even."""
    made = list(layouts(lambda shape: some(shape, dtype)))
    return [torch.cat([t, t.flip(-1)], -1) for t in made if t.dim()] + [made[1].t()[:, ::1][:, :4]]


def swiglu(x: torch.Tensor, dim: int) -> torch.Tensor:
    gate, factor = x.float().chunk(2, dim)
    return (functional.silu(gate) * factor).to(x.dtype)


def gradient(y: torch.Tensor, x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    (result,) = torch.autograd.grad(y, x, grad)
    return result


@pytest.mark.parametrize("dtype", DTYPES)
def test_swiglu(dtype: torch.dtype) -> None:
    for x in inputs(dtype):
        agree(run_on_npu(torch_npu.npu_swiglu, x), swiglu(x, -1))
    x = some((6, 4, 3), dtype)
    for dim in (0, 1, -3):
        agree(run_on_npu(torch_npu.npu_swiglu, x, dim), swiglu(x, dim))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, -1])
def test_swiglu_backward(dim: int, dtype: torch.dtype) -> None:
    host = some((6, 8), dtype).requires_grad_()
    device = copied(host.detach(), "npu").requires_grad_()
    expected = swiglu(host, dim)
    grad = some(tuple(expected.shape), dtype, -1, 2)
    actual = torch_npu.npu_swiglu(device, dim)
    agree(gradient(actual, device, grad.to("npu")), gradient(expected, host, grad))


def geglu(
    x: torch.Tensor, dim: int, approximate: int, *, left: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = x.float().chunk(2, dim)
    gate, factor = (first, second) if left else (second, first)
    gelu = functional.gelu(gate, approximate=("none", "tanh")[approximate])
    return (gelu * factor).to(x.dtype), gelu.to(x.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("approximate", [0, 1])
def test_geglu(approximate: int, left: bool, dtype: torch.dtype) -> None:  # noqa: FBT001
    options = {"approximate": approximate, "activate_left": left}
    for x in inputs(dtype):
        actual = run_on_npu(torch_npu.npu_geglu, x, dim=-1, **options)
        agree(actual, geglu(x, -1, approximate, left=left))
    host = some((6, 8), dtype, -2, 3).requires_grad_()
    device = copied(host.detach(), "npu").requires_grad_()
    expected, _ = geglu(host, 0, approximate, left=left)
    grad = some((3, 8), dtype, -1, 2)
    result, _ = torch_npu.npu_geglu(device, 0, **options)
    # the kept result of GELU is rounded to the half type
    actual = gradient(result, device, grad.to("npu")).cpu()
    torch.testing.assert_close(actual, gradient(expected, host, grad), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_mul(approximate: str, dtype: torch.dtype) -> None:
    x = some((5, 8), dtype)
    gate, factor = x.float().chunk(2, -1)
    expected = (functional.gelu(gate, approximate=approximate) * factor).to(dtype)
    agree(run_on_npu(torch_npu.npu_gelu_mul, x, approximate=approximate), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fast_gelu(dtype: torch.dtype) -> None:
    for x in layouts(lambda shape: some(shape, dtype)):
        wide = x.float().requires_grad_()
        expected = wide * torch.sigmoid(1.702 * wide)
        agree(run_on_npu(torch_npu.npu_fast_gelu, x), expected.detach().to(dtype))
        device = copied(x, "npu").requires_grad_()
        grad = torch.ones_like(x)
        actual = gradient(torch_npu.npu_fast_gelu(device), device, grad.to("npu"))
        agree(actual, gradient(expected, wide, grad.float()).to(dtype))


def test_odd_sizes_are_refused() -> None:
    rejects("SwiGlu", torch_npu.npu_swiglu, torch.ones(2, 5))


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dim", [-1, 1])
def test_clipped_swiglu(dim: int, interleaved: bool) -> None:  # noqa: FBT001
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = some((3, 4, 6), dtype, -12, 12)
        rows = x.double().reshape((3, -1) if dim == 1 else (12, -1))
        groups = torch.tensor([1, 1])
        half = rows.size(1) // 2
        gate = (rows[:, ::2] if interleaved else rows[:, :half]).clamp(max=7)
        factor = (rows[:, 1::2] if interleaved else rows[:, half:]).clamp(-7, 7)
        expected = gate * torch.sigmoid(1.702 * gate) * (factor + 1)
        shape = (3, 2, 6) if dim == 1 else (3, 4, 3)
        run = torch_npu.npu_clipped_swiglu
        actual = run_on_npu(run, x, dim=dim, interleaved=interleaved)
        agree(actual, expected.reshape(shape).to(dtype))
        expected[2:] = 0
        actual = run_on_npu(run, x, group_index=groups, dim=dim, interleaved=interleaved)
        agree(actual, expected.reshape(shape).to(dtype))
