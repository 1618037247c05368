"""Attention within windows, with bytes between the steps: native/opapi/ops/attention/swin.cpp."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import close
from tests.twin.ops.samples import normal, some

YES, NO = True, False
BATCH, HEIGHT, WIDTH, WINDOW, HEADS, DEPTH = 2, 14, 21, 7, 2, 8
INNER = HEADS * DEPTH
BYTE = torch.int8


def packed(scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The scale as the device has it, in an integer of 64 bits; and the number that this is."""
    rounded = scale.bfloat16().float()
    return rounded.view(torch.int32).long(), rounded


def test_queries_keys_and_values_of_windows() -> None:
    x = normal(BATCH, HEIGHT * WIDTH, INNER)
    gamma, beta, offset = (normal(INNER, seed=i) for i in range(1, 4))
    scale = some((INNER,), torch.float16, 20, 40)
    weight = some((3 * INNER, INNER), BYTE, -20, 20)
    bias = some((3 * INNER,), torch.int32, -99, 99)
    stored, real = packed(some((3 * INNER,), torch.float32, 0, 1) / 1000 + 1e-4)
    out = [
        torch.zeros(BATCH * 6, HEADS, WINDOW**2, DEPTH, dtype=torch.float16).to("npu")
        for _ in range(3)
    ]
    given = [one.to("npu") for one in (x, gamma, beta, weight, bias, scale, offset, stored)]
    numbers = [HEADS, DEPTH, 1e-5, HEIGHT, WIDTH, WINDOW, WINDOW]
    call("aclnnSwinTransformerLnQkvQuant", *given, *numbers, YES, *out)
    normed = functional.layer_norm(x.float(), [INNER], gamma.float(), beta.float(), 1e-5)
    windows = normed.view(BATCH, 2, WINDOW, 3, WINDOW, INNER).transpose(2, 3).flatten(3, 4)
    values = windows.flatten(0, 2) * scale.float() + offset.float()
    product = (values.round().clamp(-128, 127) @ weight.float().t() + bias) * real
    parts = product.view(BATCH * 6, WINDOW**2, 3, HEADS, DEPTH).permute(2, 0, 3, 1, 4)
    for one, other in zip(out, parts, strict=True):
        # A sum in another order may round one byte another way.
        assert (one.cpu().float() - other).abs().max() <= 20.5 * real.max()
        assert ((one.cpu().float() - other).abs() > 2e-3).float().mean() < 0.01
    with pytest.raises(AclnnError, match="weightTranspose is false"):
        call("aclnnSwinTransformerLnQkvQuant", *given, *numbers, NO, *out)


@pytest.mark.parametrize("whole", [True, False])
def test_attention_of_bytes(*, whole: bool) -> None:
    rows, width = 16, 32
    query, key, value = (some((2, HEADS, rows, width), BYTE, -99, 99).roll(i, 3) for i in range(3))
    first = packed(some((1, rows), torch.float32, 0, 1) / 9000 + 1e-5)
    second = packed(some((1, width), torch.float32, 0, 1) / 90 + 1e-3)
    scale, offset = some((1, rows), torch.float16, 90, 120), some((1, rows), torch.float16, -5, 5)
    biases = [some((1, size), torch.int32, -999, 999) for size in (rows, width)]
    mask = normal(1, HEADS, rows, rows)
    scores = query.double() @ key.double().transpose(2, 3)
    scores = (scores + biases[0] if whole else scores).float() * first[1]
    shares = (scores + mask.float() if whole else scores).softmax(-1) * scale.float()
    shares = (shares + offset.float() if whole else shares).round().clamp(-128, 127)
    product = shares.double() @ value.double()
    expected = (product + biases[1] if whole else product).float() * second[1]
    out = torch.zeros(2, HEADS, rows, width, dtype=torch.float16).to("npu")
    optional = [one.to("npu") if whole else None for one in (offset, *biases, mask)]
    given = [one.to("npu") for one in (query, key, value, scale, first[0], second[0])]
    call("aclnnSwinAttentionScoreQuant", *given, *optional, None, NO, NO, NO, -1, out)
    close(out, expected)
