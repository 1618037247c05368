"""The functions of fused.py in plain PyTorch, for the CPU."""

from __future__ import annotations

import itertools

import torch
from torch.nn import functional


def rms_norm(x, weight, epsilon):
    """Divide the last axis by its root mean square."""
    return functional.rms_norm(x, weight.shape, weight, epsilon)


def rotary(x, cos, sin):
    """Rotate x (B, S, N, D) by the angles of its places (1, S, 1, D)."""
    first, second = x.chunk(2, -1)
    return x * cos.to(x.dtype) + torch.cat((-second, first), -1) * sin.to(x.dtype)


def swiglu(x):
    """Multiply silu of the first half of the last axis by the second half."""
    gate, value = x.chunk(2, -1)
    return functional.silu(gate) * value


def causal_attention(q, k, v, ends=None):
    """Attend to what came before, in q (B, S, N, D); k and v may have fewer heads.

    `ends` are the lengths of documents that follow each other in the sequences, added up.
    """
    q_heads, k_heads, v_heads = (x.transpose(1, 2) for x in (q, k, v))
    seen = torch.ones(q.size(1), q.size(1), dtype=torch.bool, device=q.device).tril()
    if ends is not None:
        lengths = torch.tensor([end - begin for begin, end in itertools.pairwise([0, *ends])])
        document = torch.arange(len(lengths)).repeat_interleave(lengths).view(q.shape[:2])
        seen = seen & (document[:, None, :, None] == document[:, None, None, :])
    return functional.scaled_dot_product_attention(
        q_heads, k_heads, v_heads, attn_mask=seen, enable_gqa=True
    ).transpose(1, 2)


def attention(q, k, v):
    """Attend to everything, in q, k and v (B, N, S, D)."""
    return functional.scaled_dot_product_attention(q, k, v)


def group_norm_silu(x, norm):
    """Normalize groups of channels, then silu."""
    return functional.silu(
        functional.group_norm(x, norm.num_groups, norm.weight, norm.bias, norm.eps)
    )


def chosen_experts(logits, count):
    """Return the `count` best experts of each token (T, count); there is no gradient."""
    return logits.detach().topk(count, -1).indices


def permute(tokens, experts):
    """Bring tokens (T, D) into the order of their experts, and return where each went."""
    order = experts.flatten().argsort(stable=True)
    return tokens[order // experts.size(1)], order.argsort()


def unpermute(rows, places, weights):
    """Undo `permute`, adding up what the experts of a token said with their weights."""
    said = rows[places].view(*weights.shape, -1)
    return (said * weights[..., None].to(rows.dtype)).sum(1)


def grouped_matmul(x, weight, ends):
    """Multiply each group of rows that ends at `ends` by its own matrix."""
    weight = weight.to(x.dtype)
    pairs = itertools.pairwise([0, *ends.tolist()])
    return torch.cat(
        [x[begin:end] @ matrix for (begin, end), matrix in zip(pairs, weight, strict=True)]
    )


def adamw(groups, rate):
    """Return AdamW."""
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95))


def sgd(groups, rate):
    """Return SGD with momentum."""
    return torch.optim.SGD(groups, lr=rate, momentum=0.9, nesterov=True)
