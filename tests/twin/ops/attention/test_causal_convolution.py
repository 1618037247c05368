"""Causal convolutions, cached and masked: native/opapi/ops/attention/causal_convolution.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

CHANNELS, WIDTH = 5, 3


def int32(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def convolved(past: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Each token's weighted sum of itself and the two before it, in float32."""
    rows = torch.cat([past.float(), x.float()])
    return torch.stack([(rows[i : i + WIDTH] * weight.float()).sum(0) for i in range(len(x))])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("residual", [0, 1])
def test_prefill(dtype: torch.dtype, residual: int) -> None:
    """Packed sequences, of which one has no past and one is skipped."""
    starts, lines, computed = int32(0, 4, 5, 8, 10), int32(2, 0, 4, -1), int32(7, 0, 1, 3)
    x, weight = normal(10, CHANNELS, dtype=dtype), normal(WIDTH, CHANNELS, dtype=dtype, seed=1)
    states = normal(5, WIDTH - 1, CHANNELS, dtype=dtype, seed=2)
    expected, expected_states = torch.zeros_like(x), states.clone()
    for i, line in enumerate(lines.tolist()):
        tokens = x[starts[i] : starts[i + 1]]
        if line < 0:
            continue
        past = torch.zeros_like(states[0]) if computed[i] == 0 else states[line]
        result = convolved(past, tokens, weight) + residual * tokens.float()
        expected[starts[i] : starts[i + 1]] = result.to(dtype)
        expected_states[line] = torch.cat([past, tokens])[-(WIDTH - 1) :]
    on_npu = states.to("npu")
    actual = torch_npu.npu_fused_causal_conv1d(
        x.to("npu"),
        weight.to("npu"),
        on_npu,
        query_start_loc=starts.to("npu"),
        cache_indices=lines.to("npu"),
        num_computed_tokens=computed.to("npu"),
        residual_connection=residual,
    )
    agree(actual, expected)
    agree(on_npu, expected_states)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("mode", ["default", "pangu"])
def test_decode_with_speculation(dtype: torch.dtype, mode: str) -> None:
    """Of longer states, the rows that were accepted count; also in place."""
    batch, length, rows = 3, 3, WIDTH - 1 + 2
    x, weight = normal(batch, length, CHANNELS, dtype=dtype), normal(WIDTH, CHANNELS, dtype=dtype)
    states = normal(batch, rows, CHANNELS, dtype=dtype, seed=2)
    accepted, computed = int32(1, 3, 2), int32(5, 1, 4)
    expected, expected_states = torch.empty_like(x), states.clone()
    for i in range(batch):
        offset = int(accepted[i]) - 1
        past = states[i, : offset + WIDTH - 1]
        result = convolved(past[offset:], x[i], weight)
        if mode == "pangu":
            result[: max(WIDTH - 1 - int(computed[i]), 0)] = 0
        expected[i] = result.to(dtype)
        padded = torch.cat([past, x[i]])
        used = min(rows, len(padded))
        expected_states[i, -used:] = padded[-used:]
    options = {
        "num_accepted_tokens": accepted.to("npu"),
        "num_computed_tokens": computed.to("npu"),
        "conv_mode": mode,
    }
    on_npu = states.to("npu")
    agree(
        torch_npu.npu_fused_causal_conv1d(x.to("npu"), weight.to("npu"), on_npu, **options),
        expected,
    )
    agree(on_npu, expected_states)
    in_place, on_npu = x.to("npu"), states.to("npu")
    torch_npu.npu_fused_causal_conv1d_v2(in_place, weight.to("npu"), on_npu, **options)
    agree(in_place, expected)
    agree(on_npu, expected_states)


def test_states_in_blocks() -> None:
    """A long prompt leaves the end of each full block in the block's line."""
    size, length, done = 4, 10, 2
    x, weight = normal(length, CHANNELS), normal(WIDTH, CHANNELS, seed=1)
    states = normal(6, WIDTH - 1, CHANNELS, seed=2)
    lines = int32(5, 3, 1, 0).view(1, -1)
    on_npu = states.to("npu")
    actual = torch_npu.npu_fused_causal_conv1d(
        x.to("npu"),
        weight.to("npu"),
        on_npu,
        query_start_loc=int32(0, length).to("npu"),
        cache_indices=lines.to("npu"),
        num_computed_tokens=int32(done).to("npu"),
        block_idx_first_scheduled_token=int32(0).to("npu"),
        block_idx_last_scheduled_token=int32(2).to("npu"),
        initial_state_idx=int32(0).to("npu"),
        block_size=size,
    )
    agree(actual, convolved(states[5], x, weight).half())
    expected = states.clone()
    padded = torch.cat([states[5], x])
    expected[1] = padded[-2:]  # block 2, the last one
    for block in (0, 1):  # tokens 2 and 6 of x begin the next block
        boundary = size * (block + 1) - done
        expected[lines[0, block]] = padded[boundary : boundary + WIDTH - 1]
    agree(on_npu, expected)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_masked(dtype: torch.dtype, *, masked: bool) -> None:
    """Forward and backward."""
    length, batch = 6, 2
    x, weight = normal(length, batch, CHANNELS, dtype=dtype), normal(WIDTH, CHANNELS, dtype=dtype)
    grad = normal(length, batch, CHANNELS, dtype=dtype, seed=3)
    mask = torch.rand(batch, length, generator=torch.Generator().manual_seed(0)) > 0.4
    mask = mask if masked else torch.ones_like(mask)
    host = [tensor.float().requires_grad_() for tensor in (x, weight)]
    padded = torch.nn.functional.pad(host[0], (0, 0, 0, 0, WIDTH - 1, 0))
    expected = sum(padded[k : k + length] * host[1][k] for k in range(WIDTH))
    assert isinstance(expected, torch.Tensor)
    expected = expected * mask.T.unsqueeze(2)
    torch.autograd.backward(expected, grad.float())
    device = [tensor.to("npu").requires_grad_() for tensor in (x, weight)]
    actual = torch_npu.npu_masked_causal_conv1d(*device, mask=mask.to("npu") if masked else None)
    agree(actual.detach(), expected.detach().to(dtype))
    torch.autograd.backward(actual, grad.to("npu"))
    for one, other in zip(device, host, strict=True):
        assert other.grad is not None
        agree(one.grad, other.grad.to(dtype))


def test_causal_convolution_refuses_wrong_calls() -> None:
    x, weight, states = normal(4, CHANNELS), normal(WIDTH, CHANNELS), normal(2, 2, CHANNELS)
    convolve = torch_npu.npu_fused_causal_conv1d
    rejects("queryStartLoc", convolve, x, weight, states)
    twice = {"query_start_loc": int32(0, 4), "residual_connection": 2}
    rejects("'residualConnection' is 2", convolve, x, weight, states, **twice)
    rejects("convStates", convolve, x, weight, states[:, :1], query_start_loc=int32(0, 4))
    rejects(
        "convStates",
        convolve,
        x,
        weight,
        states,
        query_start_loc=int32(0, 4),
        cache_indices=int32(7),
    )


def test_no_tokens() -> None:
    x, weight = normal(0, CHANNELS), normal(WIDTH, CHANNELS)
    options = {"query_start_loc": int32(0, 0)}
    actual = run_on_npu(
        torch_npu.npu_fused_causal_conv1d, x, weight, normal(1, 2, CHANNELS), **options
    )
    agree(actual, x)
