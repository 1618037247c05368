"""Norm, concatenation and rotation in one: native/opapi/ops/kv_cache/norm_rope_concat.cpp."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import agree
from tests.twin.ops.samples import normal

YES, NO = True, False
BATCH, ROWS, ADDED, HEADS, WIDTH, TURNED, EPS = 2, 5, 3, 2, 8, 6, 1e-5


def single(*shape: int, seed: int) -> torch.Tensor:
    return normal(*shape, dtype=torch.float32, seed=seed)


def normed(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, norm: int) -> torch.Tensor:
    match norm:
        case 0:
            return x
        case 1:
            return functional.layer_norm(x, [WIDTH], eps=EPS)
        case 2:
            return functional.layer_norm(x, [WIDTH], weight, bias, EPS)
        case _:
            result = x * (x.square().mean(-1, keepdim=True) + EPS).rsqrt()
            return result * weight if norm == 4 else result


def rotated(x: torch.Tensor, sin: torch.Tensor, cos: torch.Tensor, rope: int) -> torch.Tensor:
    if rope == 0:
        return x
    part = x[:, :, :TURNED]
    if rope == 1:
        turned = torch.stack([-part[..., 1::2], part[..., ::2]], -1).flatten(-2)
    else:
        turned = torch.cat([-part[..., WIDTH // 2 :], part[..., : WIDTH // 2]], -1)
    return torch.cat([part * cos + turned * sin, x[:, :, TURNED:]], 2)


def joined(x: torch.Tensor, added: torch.Tensor | None, order: int) -> torch.Tensor:
    both = [x] if added is None else [x, added] if order == 0 else [added, x]
    return torch.cat(both, 1).transpose(1, 2)


@pytest.mark.parametrize("norm", range(5))
@pytest.mark.parametrize("rope", [0, 1, 2])
@pytest.mark.parametrize("order", [0, 1])
def test_forward_and_backward(norm: int, rope: int, order: int) -> None:
    added_norm = (norm + 2) % 5
    tensors = [single(BATCH, ROWS, HEADS, WIDTH, seed=i) for i in range(3)]
    tensors += [single(BATCH, ADDED, HEADS, WIDTH, seed=i) for i in range(3, 6)]
    factors = [single(WIDTH, seed=i) for i in range(6, 14)]
    sin, cos = single(TURNED, WIDTH, seed=14), single(TURNED, WIDTH, seed=15)
    host = [tensor.clone().requires_grad_() for tensor in (*tensors, *factors)]
    q, k, v, added_q, added_k, added_v = host[:6]
    w = host[6:]
    streams = [
        (normed(q, w[0], w[1], norm), normed(added_q, w[4], w[5], added_norm)),
        (normed(k, w[2], w[3], norm), normed(added_k, w[6], w[7], added_norm)),
    ]
    expected = [rotated(joined(*both, order), sin, cos, rope) for both in streams]
    expected.append(joined(v, added_v, order))
    out = [torch.full(each.shape, 9.0).to("npu") for each in expected]
    statistics = [
        torch.zeros(BATCH, rows, HEADS, 1).to("npu") for rows in (ROWS, ADDED) for _ in range(4)
    ]
    given = [tensor.to("npu") for tensor in (*tensors, *factors, sin, cos)]
    options = [norm, added_norm, rope, order]
    call("aclnnNormRopeConcat", *given, *options, EPS, YES, *out, *statistics)
    agree(out, [each.detach() for each in expected])

    grads = [single(*each.shape, seed=20 + i) for i, each in enumerate(expected)]
    torch.autograd.backward(expected, grads)
    results = [torch.zeros(each.shape).to("npu") for each in host]
    q, k, _, added_q, added_k = given[:5]
    w = given[6:14]
    saved = [
        *(w[0], *statistics[:2], w[2], *statistics[2:4]),
        *(w[4], *statistics[4:6], w[6], *statistics[6:8]),
    ]
    call(
        "aclnnNormRopeConcatBackward",
        *(grad.to("npu") for grad in grads),
        *(q, k, added_q, added_k, *saved, *given[14:], *options, *results),
    )
    for one, other in zip(results, host, strict=True):
        wanted = torch.zeros(other.shape) if other.grad is None else other.grad
        torch.testing.assert_close(one.cpu(), wanted, rtol=1e-4, atol=1e-4)


def test_images_alone() -> None:
    q, k, v = (single(BATCH, ROWS, HEADS, WIDTH, seed=i).to("npu") for i in range(3))
    out = [torch.zeros(BATCH, HEADS, ROWS, WIDTH).to("npu") for _ in range(3)]
    nothing = [None] * 13
    call("aclnnNormRopeConcat", q, k, v, *nothing, 3, 0, 0, 0, EPS, NO, *out, *[None] * 8)
    weight = torch.ones(WIDTH)
    for x, result in zip((q, k), out[:2], strict=True):
        agree(result, joined(normed(x.cpu(), weight, weight, 3), None, 0))
    agree(out[2], joined(v.cpu(), None, 0))
    with pytest.raises(AclnnError, match="ropeType is 3"):
        call("aclnnNormRopeConcat", q, k, v, *nothing, 3, 0, 3, 0, EPS, NO, *out, *[None] * 8)
