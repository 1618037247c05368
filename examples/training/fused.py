"""The models' operators, as torch_npu's fused ones."""

from __future__ import annotations

import functools

import torch
import torch_npu

FUTURE = 2048  # the side of the mask that npu_fusion_attention asks for with a causal sparse_mode


def rms_norm(x, weight, epsilon):
    """Divide the last axis by its root mean square."""
    return torch_npu.npu_rms_norm(x, weight, epsilon=epsilon)[0]


def rotary(x, cos, sin):
    """Rotate x (B, S, N, D) by the angles of its places (1, S, 1, D)."""
    return torch_npu.npu_rotary_mul(x, cos.to(x.dtype), sin.to(x.dtype))


def swiglu(x):
    """Multiply silu of the first half of the last axis by the second half."""
    return torch_npu.npu_swiglu(x, dim=-1)


@functools.cache
def future(device):
    """Return the mask that hides what comes later."""
    return torch.ones(FUTURE, FUTURE, dtype=torch.bool, device=device).triu(1)


def causal_attention(q, k, v, ends=None):
    """Attend to what came before, in q (B, S, N, D); k and v may have fewer heads.

    `ends` are the lengths of documents that follow each other in the sequences, added up.
    """
    options = {
        "head_num": q.size(2),
        "scale": q.size(-1) ** -0.5,
        "atten_mask": future(q.device),
    }
    if ends is None:
        return torch_npu.npu_fusion_attention(
            q, k, v, input_layout="BSND", sparse_mode=2, **options
        )[0]
    packed = (x.flatten(0, 1) for x in (q, k, v))
    seen = torch_npu.npu_fusion_attention(
        *packed,
        input_layout="TND",
        sparse_mode=3,
        actual_seq_qlen=ends,
        actual_seq_kvlen=ends,
        **options,
    )[0]
    return seen.view(q.shape)


def attention(q, k, v):
    """Attend to everything, in q, k and v (B, N, S, D)."""
    return torch_npu.npu_fusion_attention(
        q, k, v, head_num=q.size(1), input_layout="BNSD", scale=q.size(-1) ** -0.5
    )[0]


def group_norm_silu(x, norm):
    """Normalize groups of channels, then silu."""
    if torch.is_autocast_enabled(x.device.type):
        x = x.float()  # it takes one dtype, says its page; autocast widens group_norm as well
    return torch_npu.npu_group_norm_swish(
        x, norm.num_groups, norm.weight, norm.bias, eps=norm.eps, swish_scale=1.0
    )[0]


def chosen_experts(logits, count):
    """Return the `count` best experts of each token (T, count); there is no gradient."""
    return torch_npu.npu_moe_gating_top_k_softmax(logits.detach(), None, count)[1]


def permute(tokens, experts):
    """Bring tokens (T, D) into the order of their experts, and return where each went."""
    return torch_npu.npu_moe_token_permute(tokens, experts)


def unpermute(rows, places, weights):
    """Undo `permute`, adding up what the experts of a token said with their weights."""
    return torch_npu.npu_moe_token_unpermute(rows, places, probs=weights)


class GroupedMatmul(torch.autograd.Function):
    """Rows of x (R, K) times the matrix of their group in weight (G, K, N).

    `ends` says where groups end. torch_npu has no gradient for npu_grouped_matmul, but the two are
    grouped products themselves: over the same rows for x, over each group's rows for weight.
    """

    @staticmethod
    def forward(ctx, x, weight, ends):
        """Multiply."""
        ctx.save_for_backward(x, weight, ends)
        return grouped(x, weight, ends, axis=0)

    @staticmethod
    def backward(ctx, gradient):
        """Multiply by the transposed other operand."""
        x, weight, ends = ctx.saved_tensors
        gradient = gradient.contiguous()
        return (
            grouped(gradient, weight.transpose(1, 2), ends, axis=0),
            grouped(x.t(), gradient, ends, axis=2),
            None,
        )


def grouped(x, weight, ends, axis):
    """Multiply single tensors, grouped along the rows (0) or along the axis that is summed (2)."""
    return torch_npu.npu_grouped_matmul(
        [x], [weight], group_list=ends, split_item=3, group_type=axis, group_list_type=0
    )[0]


def grouped_matmul(x, weight, ends):
    """Multiply each group of rows that ends at `ends` by its own matrix."""
    return GroupedMatmul.apply(x, weight.to(x.dtype), ends)


def adamw(groups, rate):
    """Return an AdamW that updates all parameters at once, as one tensor."""
    return torch_npu.optim.NpuFusedAdamW(groups, lr=rate, betas=(0.9, 0.95))


def sgd(groups, rate):
    """Return SGD with momentum that updates all parameters at once, as one tensor."""
    return torch_npu.optim.NpuFusedSGD(groups, lr=rate, momentum=0.9, nesterov=True)
