"""Rotary position embeddings: native/opapi/ops/kv_cache/rotary.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, copied, rejects, run_on_npu
from tests.twin.ops.samples import some

MODES = ["half", "interleave", "quarter", "interleave-half"]  # in the order of their codes
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def rotated(x: torch.Tensor, mode: str) -> torch.Tensor:
    match mode:
        case "half":
            first, second = x.chunk(2, -1)
            return torch.cat([-second, first], -1)
        case "interleave":
            return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
        case _:
            return torch.cat([rotated(part, "half") for part in x.chunk(2, -1)], -1)


def embedded(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: str) -> torch.Tensor:
    x, cos, sin = x.float(), cos.float(), sin.float()
    if mode == "interleave-half":
        x = torch.cat([x[..., ::2], x[..., 1::2]], -1)
        mode = "half"
    return x * cos + rotated(x, mode) * sin


def angles(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    values = some(shape, torch.float32)
    return values.cos().to(dtype), values.sin().to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.parametrize("heads", [1, 3])
def test_rotary_mul(mode: str, heads: int, dtype: torch.dtype) -> None:
    """Forward and backward, also with cos and sin that are broadcast over the heads."""
    x = some((2, 3, 5, 8), dtype)
    cos, sin = angles((1, heads, 5, 8), dtype)
    host = [t.clone().requires_grad_() for t in (x, cos, sin)]
    device = [copied(t, "npu").requires_grad_() for t in (x, cos, sin)]
    expected = embedded(host[0], host[1], host[2], mode).to(dtype)
    actual = torch_npu.npu_rotary_mul(*device, mode)
    agree(actual.detach(), expected.detach())
    grad = some((2, 3, 5, 8), dtype, -1, 2)
    torch.autograd.backward(expected, grad)
    torch.autograd.backward(actual, grad.to("npu"))
    for one, other in zip(device, host, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=2e-2, atol=5e-2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("heads", [1, 3])
def test_interleave_rope(heads: int, dtype: torch.dtype) -> None:
    x = some((2, 3, 5, 64), dtype)
    cos, sin = angles((2, heads, 5, 64), dtype)
    actual = run_on_npu(torch_npu.npu_interleave_rope, x, cos, sin)
    agree(actual, embedded(x, cos, sin, "interleave-half").to(dtype))


def test_rotary_mul_of_a_view_and_with_a_matrix() -> None:
    x = some((2, 5, 3, 8), torch.float32).transpose(1, 2)
    cos, sin = angles((1, 1, 5, 8), torch.float32)
    agree(run_on_npu(torch_npu.npu_rotary_mul, x, cos, sin), embedded(x, cos, sin, "half"))
    matrix = rotated(torch.eye(8), "interleave")
    actual = run_on_npu(torch_npu.npu_rotary_mul, x, cos, sin, "half", rotate=matrix)
    agree(actual, embedded(x, cos, sin, "interleave"))


@pytest.mark.parametrize("mode", MODES)
def test_all_modes(mode: str) -> None:
    code = MODES.index(mode)
    x = some((2, 3, 5, 8), torch.float32).requires_grad_()
    cos, sin = (t.requires_grad_() for t in angles((1, 1, 5, 8), torch.float32))
    out = torch.zeros(2, 3, 5, 8, device="npu")
    tables = cos.detach().to("npu"), sin.detach().to("npu")
    call("aclnnRotaryPositionEmbedding", x.detach().to("npu"), *tables, code, out)
    expected = embedded(x, cos, sin, mode)
    agree(out, expected.detach())
    grad = some((2, 3, 5, 8), torch.float32, -1, 2)
    grads = [torch.zeros(t.shape, device="npu") for t in (x, cos, sin)]
    call(
        "aclnnRotaryPositionEmbeddingGrad",
        grad.to("npu"),
        *tables,
        x.detach().to("npu"),
        code,
        *grads,
    )
    agree(grads, list(torch.autograd.grad(expected, (x, cos, sin), grad)))


LAYOUTS = {"BSND": (2, 5, 3, 8), "SBND": (5, 2, 3, 8), "BNSD": (2, 3, 5, 8), "TND": (5, 3, 8)}


@pytest.mark.parametrize("mode", ["half", "interleave", "quarter"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_apply_rotary_pos_emb(layout: str, mode: str) -> None:
    heads = layout.index("N")
    shape = LAYOUTS[layout]
    one_head = (*shape[:heads], 1, *shape[heads + 1 :])
    query, key = some(shape, torch.float32), some(one_head, torch.float32, 0, 3)
    cos, sin = angles(one_head, torch.float32)
    on_npu = query.to("npu"), key.to("npu")
    torch_npu.npu_apply_rotary_pos_emb(*on_npu, cos.to("npu"), sin.to("npu"), layout, mode)
    agree(on_npu[0], embedded(query, cos, sin, mode))
    agree(on_npu[1], embedded(key, cos, sin, mode))
    plain = query.to("npu"), key.to("npu")
    call("aclnnApplyRotaryPosEmb", *plain, cos.to("npu"), sin.to("npu"), 1)
    agree(plain[0], embedded(query, cos, sin, "half"))


def test_odd_sizes_are_refused() -> None:
    x = torch.ones(1, 1, 1, 5)
    rejects("RotaryPositionEmbedding", torch_npu.npu_rotary_mul, x, x, x)


def turned_in_place(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: int, part: list[int] | None
) -> torch.Tensor:
    changed = x.clone()
    call("aclnnInplacePartialRotaryMul", changed, cos, sin, mode, part)
    return changed


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_part_of_the_last_dimension_in_place(dtype: torch.dtype) -> None:
    x = some((2, 3, 4, 8), dtype)
    cos, sin = angles((2, 3, 1, 4), dtype)
    expected = x.clone()
    expected[..., 2:6] = embedded(x[..., 2:6], cos, sin, "interleave").to(dtype)
    agree(run_on_npu(turned_in_place, x, cos, sin, 1, [2, 6]), expected)
    agree(run_on_npu(turned_in_place, x, cos, sin, 1, [3, 3]), x)
    cos, sin = angles((2, 3, 1, 8), dtype)
    agree(
        run_on_npu(turned_in_place, x, cos, sin, 1, None),
        embedded(x, cos, sin, "interleave").to(dtype),
    )
    rejects("rotary_mode", turned_in_place, x, cos, sin, 0, None)
    rejects("partialSlice", turned_in_place, x, cos, sin, 1, [2, 9])
