"""Hyper-connections: native/opapi/ops/optimizer/hyper_connections.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

STREAMS, WIDTH = 4, 16
LEADING = pytest.mark.parametrize("leading", [(5,), (2, 3)], ids=str)


def single(*shape: int, seed: int = 0) -> torch.Tensor:
    return normal(*shape, dtype=torch.float32, seed=seed)


@LEADING
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("mixed", [True, False])
def test_post(leading: tuple[int, ...], dtype: torch.dtype, *, mixed: bool) -> None:
    """Forward and backward."""
    x = normal(*leading, STREAMS, WIDTH, dtype=dtype)
    mixing = single(*leading, STREAMS, STREAMS, seed=1)
    layer, weights = normal(*leading, WIDTH, dtype=dtype, seed=2), single(*leading, STREAMS, seed=3)
    grad = normal(*x.shape, dtype=dtype, seed=4)
    host = [tensor.float().requires_grad_() for tensor in (x, mixing, layer, weights)]
    streams = torch.einsum("...ij,...id->...jd", host[1], host[0]) if mixed else host[0]
    expected = streams + host[3].unsqueeze(-1) * host[2].unsqueeze(-2)
    torch.autograd.backward(expected, grad.float())
    given = mixing if mixed else None
    actual = run_on_npu(torch_npu.npu_mhc_post, x, given, layer, weights)
    agree(actual, expected.detach().to(dtype))
    actual = run_on_npu(torch_npu.npu_mhc_post_backward, grad, x, given, layer, weights)
    grads = [torch.zeros_like(one) if one.grad is None else one.grad for one in host]
    agree(actual, (grads[0].to(dtype), grads[1], grads[2].to(dtype), grads[3]))


def weights_of(operands: list[torch.Tensor], gamma: torch.Tensor) -> tuple[torch.Tensor, ...]:
    x, phi, alpha, bias = operands
    row = x.flatten(-2)
    inv_rms = (row.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    mix = (row * gamma.flatten()) @ phi.T
    parts = (mix * inv_rms).split_with_sizes([STREAMS, STREAMS, mix.size(-1) - 2 * STREAMS], -1)
    ends = bias.split_with_sizes([STREAMS, STREAMS, mix.size(-1) - 2 * STREAMS])
    pre = (alpha[0] * parts[0] + ends[0]).sigmoid() + 1e-6
    post = 2 * (alpha[1] * parts[1] + ends[1]).sigmoid()
    res = alpha[-1] * parts[2] + ends[2]
    res = res.view(*res.shape[:-1], STREAMS, STREAMS) if parts[2].size(-1) else res
    return (x * pre.unsqueeze(-1)).sum(-2), post, res, inv_rms.squeeze(-1), mix, pre


def pre_operands(leading: tuple[int, ...], columns: int) -> list[torch.Tensor]:
    return [
        normal(*leading, STREAMS, WIDTH, dtype=torch.bfloat16),
        single(columns, STREAMS * WIDTH, seed=1) / 8,
        torch.tensor([0.5, 0.7, 0.9][: 3 if columns > 2 * STREAMS else 2]),
        single(columns, seed=2),
    ]


@LEADING
@pytest.mark.parametrize("scaled", [True, False])
def test_pre(leading: tuple[int, ...], *, scaled: bool) -> None:
    """Forward and backward."""
    operands = pre_operands(leading, STREAMS * (STREAMS + 2))
    gamma = single(STREAMS, WIDTH, seed=3)
    host = [tensor.float().requires_grad_() for tensor in (*operands, gamma)]
    expected = weights_of(host[:4], host[4] if scaled else torch.ones(STREAMS, WIDTH))
    options = {"gamma": gamma if scaled else None}
    actual = run_on_npu(torch_npu.npu_mhc_pre, *operands, **options, out_flag=1)
    assert isinstance(actual, tuple)
    results = [tensor.detach() for tensor in expected]
    agree(actual, (results[0].bfloat16(), *results[1:]))
    short = run_on_npu(torch_npu.npu_mhc_pre, *operands, **options)
    assert isinstance(short, tuple)
    agree(short[:3], (results[0].bfloat16(), *results[1:3]))
    grads = [normal(*operands[0].shape[:-2], WIDTH, dtype=torch.bfloat16, seed=5)]
    grads += [single(*results[i].shape, seed=5 + i) for i in (1, 2)]
    more = normal(*operands[0].shape, dtype=torch.bfloat16, seed=9)
    torch.autograd.backward(expected[:3], [grad.float() for grad in grads])
    x, phi, alpha = (tensor.to("npu") for tensor in operands[:3])
    saved = [actual[i] for i in (3, 4, 5, 1)]
    given = gamma.to("npu") if scaled else None
    by_x, by_phi, by_alpha, by_bias, by_gamma = torch_npu.npu_mhc_pre_backward(
        x,
        phi,
        alpha,
        *(grad.to("npu") for grad in grads),
        *saved,
        gamma=given,
        grad_x_post=more.to("npu"),
    )
    gradients = [tensor.grad for tensor in host]
    assert gradients[0] is not None
    agree(by_x, (gradients[0] + more.float()).bfloat16())
    for one, other in zip((by_phi, by_alpha, by_bias), gradients[1:4], strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4)
    wanted = gradients[4] if scaled else torch.zeros_like(gamma)
    torch.testing.assert_close(by_gamma.cpu(), wanted, rtol=1e-4, atol=1e-4)


def test_pre_without_mixing() -> None:
    operands = pre_operands((5,), 2 * STREAMS)
    expected = weights_of([tensor.float() for tensor in operands], torch.ones(STREAMS, WIDTH))
    actual = run_on_npu(torch_npu.npu_mhc_pre, *operands, out_flag=1)
    assert isinstance(actual, tuple)
    agree(actual[0], expected[0].bfloat16())
    agree(actual[1], expected[1])
    assert not actual[2].cpu().any()
    agree(actual[3:], expected[3:])


@pytest.mark.parametrize("shape", [(7, 4, 4), (2, 3, 6, 6), (1, 8, 8)], ids=str)
@pytest.mark.parametrize("iterations", [1, 4])
def test_sinkhorn(shape: tuple[int, ...], iterations: int) -> None:
    """Forward, and backward from what forward keeps."""
    x, eps = single(*shape).requires_grad_(), 1e-6
    expected = x.softmax(-1) + eps
    expected = expected / (expected.sum(-2, keepdim=True) + eps)
    for _ in range(iterations - 1):
        expected = expected / (expected.sum(-1, keepdim=True) + eps)
        expected = expected / (expected.sum(-2, keepdim=True) + eps)
    grad = single(*shape, seed=1)
    torch.autograd.backward(expected, grad)
    y, kept, sums = torch_npu.npu_mhc_sinkhorn(
        x.detach().to("npu"), num_iters=iterations, out_flag=1
    )
    agree(y, expected.detach())
    actual = torch_npu.npu_mhc_sinkhorn_backward(grad.to("npu"), kept, sums)
    assert x.grad is not None
    torch.testing.assert_close(actual.cpu(), x.grad, rtol=1e-3, atol=1e-5)
    agree(torch_npu.npu_mhc_sinkhorn(x.detach().to("npu"), num_iters=iterations)[0], y.cpu())


def test_hyper_connections_refuses_wrong_calls() -> None:
    operands = pre_operands((5,), STREAMS * (STREAMS + 2))
    operands[1] = operands[1][:-1]
    rejects("phi", torch_npu.npu_mhc_pre, *operands)
    rejects("numIters", torch_npu.npu_mhc_sinkhorn, single(2, 4, 4), num_iters=101)


def doubly_stochastic(x: torch.Tensor, iterations: int, eps: float) -> torch.Tensor:
    x = x.softmax(-1) + eps
    x = x / (x.sum(-2, keepdim=True) + eps)
    for _ in range(iterations - 1):
        x = x / (x.sum(-1, keepdim=True) + eps)
        x = x / (x.sum(-2, keepdim=True) + eps)
    return x


@pytest.mark.parametrize("keeps", [True, False])
def test_pre_with_sinkhorn(*, keeps: bool) -> None:
    """Forward, and backward from what forward keeps."""
    leading, iterations, columns = (2, 3), 5, STREAMS * (STREAMS + 2)
    operands = pre_operands(leading, columns)
    host = [tensor.float().requires_grad_() for tensor in operands]
    reads, post, res, inv_rms, mix, pre = weights_of(host, torch.ones(STREAMS, WIDTH))
    matrix = doubly_stochastic(res, iterations, 1e-6)
    shapes = [(WIDTH,), (STREAMS,), (STREAMS**2,), (STREAMS,), (columns,), (1,)]
    outputs = [torch.full((*leading, *shape), 9.0) for shape in shapes]
    outputs[0] = outputs[0].bfloat16()
    outputs += [torch.full((2 * iterations, *leading, STREAMS), 9.0)]
    outputs += [torch.full((2 * iterations, *leading, STREAMS, STREAMS), 9.0)]
    out = [tensor.to("npu") for tensor in outputs]
    given = [tensor.to("npu") for tensor in operands]
    call("aclnnMhcPreSinkhorn", *given, STREAMS, iterations, 1e-6, 1e-6, keeps, *out)
    agree(out[0], reads.detach().bfloat16())
    agree(out[1], post.detach())
    torch.testing.assert_close(out[2].cpu(), matrix.detach().flatten(-2), rtol=1e-4, atol=1e-5)
    if not keeps:
        assert all(
            torch.equal(one.cpu(), other) for one, other in zip(out[3:], outputs[3:], strict=True)
        )
        return
    agree(out[3:6], [pre.detach(), mix.detach(), inv_rms.detach().unsqueeze(-1)])
    grads = [normal(*leading, WIDTH, dtype=torch.bfloat16, seed=5)]
    grads += [single(*leading, STREAMS, seed=6), single(*leading, STREAMS**2, seed=7)]
    torch.autograd.backward([reads, post, matrix.flatten(-2)], [grad.float() for grad in grads])
    results = [torch.zeros_like(tensor).to("npu") for tensor in operands]
    upstream = [grad.to("npu") for grad in grads]
    call("aclnnMhcPreSinkhornBackward", *upstream, *given, *out[3:], 1e-6, *results)
    for one, other in zip(results, host, strict=True):
        assert other.grad is not None
        rough = 1e-2 if one.dtype == torch.bfloat16 else 1e-3
        torch.testing.assert_close(one.cpu().float(), other.grad, rtol=rough, atol=rough)
