"""Fused attention of training, with its gradient."""

from __future__ import annotations

import torch

from opwright.graph_engine.kernels.attention_scores import (
    Band,
    Problem,
    attend,
    hidden_keys,
    join_heads,
    refuse,
    split_heads,
)
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.table import kernel

MOST = 2147483647
STATISTICS = 8  # columns that the device stores a row's maximum and sum in


def key_heads_of(key: torch.Tensor, size: int, layout: str) -> int:
    """Return how many heads a key has; layouts that join heads say it by the size of one."""
    return key.shape[2] // size if layout in ("BSH", "SBH") else 1


def training_problem(
    operands: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    position: torch.Tensor | None,
    mask: torch.Tensor | None,
    prefix: list[int] | None,
    *,
    scale: float,
    band: Band,
    layout: str,
    heads: int,
) -> Problem:
    """Return the problem of FlashAttentionScore; position terms are added before the scale."""
    query = split_heads(operands[0], layout, heads)
    key_heads = key_heads_of(operands[1], query.shape[3], layout)
    key, value = (split_heads(x, layout, key_heads) for x in operands[1:])
    shifted = Band(
        mode=band.mode, before=band.before, after=band.after, shift=key.shape[2] - query.shape[2]
    )
    hidden = hidden_keys(shifted, mask, prefix, query.shape[2], key.shape[2])
    return Problem(
        query=query,
        key=key,
        value=value,
        scale=scale,
        hidden=hidden,
        position=position,
        scale_position=True,
    )


@kernel(
    "FlashAttentionScore",
    source="ops-transformer:attention/flash_attention_score/op_graph/flash_attention_score_proto.h",
)
def flash_attention_score(  # noqa: PLR0913, PLR0917 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    real_shift: torch.Tensor | None = None,
    drop_mask: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    *,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = MOST,
    next_tockens: int = MOST,
    head_num: int,
    input_layout: str,
    inner_precise: int = 1,
    sparse_mode: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Attention of training, without dropout."""
    del padding_mask, actual_seq_qlen, actual_seq_kvlen, q_start_idx, kv_start_idx, inner_precise
    refuse({"drop_mask": drop_mask, "keep_prob": None if keep_prob == 1 else keep_prob})
    problem = training_problem(
        (query, key, value),
        real_shift,
        atten_mask,
        prefix,
        scale=scale_value,
        band=Band(mode=sparse_mode, before=pre_tockens, after=next_tockens, shift=0),
        layout=input_layout,
        heads=head_num,
    )
    result = attend(problem)
    rows = [*result.highest.shape[:-1], STATISTICS]
    return (
        result.highest.float().expand(rows).clone(),
        result.total.float().expand(rows).clone(),
        query.new_empty(0),
        join_heads(result.out, input_layout),
    )


@kernel(
    "FlashAttentionScoreGrad",
    source="ops-transformer:attention/flash_attention_score_grad/op_graph/flash_attention_score_grad_proto.h",
)
def flash_attention_score_grad(  # noqa: PLR0913, PLR0917 -- the prototype's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dy: torch.Tensor,
    pse_shift: torch.Tensor | None = None,
    drop_mask: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    softmax_max: torch.Tensor | None = None,
    softmax_sum: torch.Tensor | None = None,
    softmax_in: torch.Tensor | None = None,
    attention_in: torch.Tensor | None = None,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    *,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = 65536,
    next_tockens: int = 65536,
    head_num: int,
    input_layout: str,
    inner_precise: int = 1,
    sparse_mode: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of FlashAttentionScore, from its maximum and sum."""
    del padding_mask, softmax_in, attention_in, inner_precise
    del actual_seq_qlen, actual_seq_kvlen, q_start_idx, kv_start_idx
    refuse({"drop_mask": drop_mask, "keep_prob": None if keep_prob == 1 else keep_prob})
    if softmax_max is None or softmax_sum is None:
        message = "the maximum and sum of the softmax are needed"
        raise ValueError(message)
    problem = training_problem(
        (query, key, value),
        pse_shift,
        atten_mask,
        prefix,
        scale=scale_value,
        band=Band(mode=sparse_mode, before=pre_tockens, after=next_tockens, shift=0),
        layout=input_layout,
        heads=head_num,
    )
    weights = (problem.scores() - softmax_max[..., :1]).exp() / softmax_sum[..., :1]
    grad = widen(split_heads(dy, input_layout, head_num))
    by_weights = problem.product(grad, widen(problem.value).transpose(-1, -2))
    by_scores = weights * (by_weights - (by_weights * weights).sum(-1, keepdim=True))
    by_query = problem.product(by_scores, widen(problem.key)) * problem.scale
    by_key = by_scores.transpose(-1, -2) @ widen(problem.query) * problem.scale
    by_value = weights.transpose(-1, -2) @ grad
    heads = problem.key.shape[1]
    groups = (torch.unflatten(x, 1, (heads, -1)) for x in (by_key, by_value))
    joined = (by_query, *(x.sum(2) for x in groups))
    by_operands = [join_heads(x, input_layout).to(query.dtype) for x in joined]
    by_position = query.new_empty(0)
    if pse_shift is not None:
        by_position = (by_scores * problem.scale).sum_to_size(pse_shift.shape).to(query.dtype)
    return by_operands[0], by_operands[1], by_operands[2], by_position


@kernel(
    "npu__npu_fusion_attention_v3", source="torch_npu:_op_plugin_docs.py:npu_fusion_attention_v3"
)
def fusion_attention(  # noqa: PLR0913, PLR0917 -- those of torch_npu's schema
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    scale: float | None = None,
    keep_prob: float | None = None,
    pre_tockens: int | None = None,
    next_tockens: int | None = None,
    inner_precise: int | None = None,
    prefix: list[int] | None = None,
    actual_seq_qlen: torch.Tensor | None = None,
    actual_seq_kvlen: torch.Tensor | None = None,
    sparse_mode: int | None = None,
    gen_mask_parallel: int | None = None,
    sync: int | None = None,
    softmax_layout: str | None = None,
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, ...]:
    """Attention of training, as `scaled_dot_product_attention` calls it.

    TorchAir has no converter for it, and writes a class that calls torch_npu on a stream that is
    external to it, where torch_npu cannot record the event that it needs. So the class is not
    called: the node is computed as FlashAttentionScore is.
    """
    del padding_mask, inner_precise, gen_mask_parallel, sync
    refuse_packed(actual_seq_qlen, actual_seq_kvlen, softmax_layout, sink)
    highest, total, _, out = flash_attention_score(
        query,
        key,
        value,
        pse,
        atten_mask=atten_mask,
        prefix=prefix,
        scale_value=1.0 if scale is None else scale,
        keep_prob=1.0 if keep_prob is None else keep_prob,
        pre_tockens=MOST if pre_tockens is None else pre_tockens,
        next_tockens=MOST if next_tockens is None else next_tockens,
        head_num=head_num,
        input_layout=input_layout,
        sparse_mode=sparse_mode or 0,
    )
    numbers = [torch.zeros(1, dtype=torch.int64) for _ in ("seed", "offset")]
    return out, highest, total, query.new_empty(0), *numbers


@kernel(
    "npu__npu_fusion_attention_grad_v3",
    source="ops-transformer:attention/flash_attention_score_grad/docs/aclnnFlashAttentionScoreGrad.md",
)
def fusion_attention_grad(  # noqa: PLR0913, PLR0917 -- those of torch_npu's schema
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dy: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    softmax_max: torch.Tensor | None = None,
    softmax_sum: torch.Tensor | None = None,
    softmax_in: torch.Tensor | None = None,
    attention_in: torch.Tensor | None = None,
    scale_value: float | None = None,
    keep_prob: float | None = None,
    pre_tockens: int | None = None,
    next_tockens: int | None = None,
    inner_precise: int | None = None,
    seed: torch.Tensor | None = None,
    offset: torch.Tensor | None = None,
    prefix: list[int] | None = None,
    actual_seq_qlen: torch.Tensor | None = None,
    actual_seq_kvlen: torch.Tensor | None = None,
    sparse_mode: int | None = None,
    gen_mask_parallel: int | None = None,
    sync: int | None = None,
    softmax_layout: str | None = None,
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, ...]:
    """Gradients of attention of training."""
    del padding_mask, inner_precise, seed, offset, gen_mask_parallel, sync
    refuse_packed(actual_seq_qlen, actual_seq_kvlen, softmax_layout, sink)
    found = flash_attention_score_grad(
        query,
        key,
        value,
        dy,
        pse,
        atten_mask=atten_mask,
        softmax_max=softmax_max,
        softmax_sum=softmax_sum,
        softmax_in=softmax_in,
        attention_in=attention_in,
        prefix=prefix,
        scale_value=1.0 if scale_value is None else scale_value,
        keep_prob=1.0 if keep_prob is None else keep_prob,
        pre_tockens=MOST if pre_tockens is None else pre_tockens,
        next_tockens=MOST if next_tockens is None else next_tockens,
        head_num=head_num,
        input_layout=input_layout,
        sparse_mode=sparse_mode or 0,
    )
    # The fourth would be that of pse, which has no gradient according to torch_npu's Meta.
    return *found[:3], query.new_empty(0), torch.zeros(())


def refuse_packed(
    query_ends: torch.Tensor | None,
    key_ends: torch.Tensor | None,
    softmax_layout: str | None,
    sink: torch.Tensor | None,
) -> None:
    """Raise for sequences that are packed, and for a sink."""
    refuse(
        {
            "actual_seq_qlen": query_ends,
            "actual_seq_kvlen": key_ends,
            "softmax_layout": softmax_layout or None,
            "sink": sink,
        }
    )
