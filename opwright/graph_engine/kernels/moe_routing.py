"""The way of tokens to experts and back, as the twin's aclnn functions compute it.

MoeInitRoutingV3 has a quantization mode for each format; those that only Ascend950 has are refused.
"""

from __future__ import annotations

import torch

from opwright.graph_engine.calls.aclnn import New, call_aclnn
from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.table import kernel

NOT_QUANTIZED, STATIC, DYNAMIC = -1, 0, 1
DROPPED_AND_PADDED = 1  # of drop_pad_mode: each expert has a fixed number of rows
FIXED_ROWS = (1, 3)
KEY_VALUE = 2  # of expert_tokens_num_type: pairs of an expert and its count


@kernel(
    "MoeInitRouting",
    source="ops-transformer:moe/moe_init_routing/op_graph/moe_init_routing_proto.h",
)
def moe_init_routing(
    x: torch.Tensor, row_idx: torch.Tensor, expert_idx: torch.Tensor, *, active_num: int
) -> tuple[torch.Tensor, ...]:
    """Copy each row for each of its experts, sorted by expert; returns rows, places and experts."""
    rows, choices = row_idx.shape
    return call_aclnn(
        "MoeInitRouting",
        *(x, row_idx, expert_idx, active_num),
        New((min(rows, active_num) * choices, x.shape[1]), x.dtype),
        New([rows * choices], torch.int32),
        New([rows * choices], torch.int32),
    )


@kernel(
    "MoeInitRoutingV3",
    source="ops-transformer:moe/moe_init_routing_v3/op_graph/moe_init_routing_v3_proto.h",
)
def moe_init_routing_v3(  # noqa: PLR0913 -- the prototype's
    x: torch.Tensor,
    expert_idx: torch.Tensor,
    scale: torch.Tensor | None = None,
    offset: torch.Tensor | None = None,
    *,
    active_num: int = -1,
    expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0,
    expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False,
    quant_mode: int = NOT_QUANTIZED,
    active_expert_range: list[int] = (),  # type: ignore[assignment]
    row_idx_type: int = 0,
) -> tuple[torch.Tensor, ...]:
    """Copy rows to their experts; returns rows, places, counts of the experts, and scales."""
    require_one_of("quant_mode", quant_mode, NOT_QUANTIZED, STATIC, DYNAMIC)
    rows, choices = expert_idx.shape
    first, last = active_expert_range or (0, expert_num)
    if drop_pad_mode == DROPPED_AND_PADDED:
        shape: tuple[int, ...] = (expert_num, expert_capacity, x.shape[1])
    else:
        wanted = rows * choices
        shape = (wanted if active_num <= 0 else min(active_num, wanted), x.shape[1])
    counts: tuple[int, ...] = (last - first,)
    if expert_tokens_num_type == KEY_VALUE:
        counts = (expert_num, 2)
    places, of_experts, scales = (
        New([rows * choices], torch.int32),
        New(counts if expert_tokens_num_flag else [], torch.int64),
        New([] if quant_mode == STATIC else [torch.Size(shape[:-1]).numel()], torch.float32),
    )
    return call_aclnn(
        "MoeInitRoutingV3",
        *(x, expert_idx, scale, offset, active_num, expert_capacity, expert_num, drop_pad_mode),
        *(expert_tokens_num_type, expert_tokens_num_flag, quant_mode),
        *(list(active_expert_range) or [0, expert_num], row_idx_type),
        New(shape, x.dtype if quant_mode == NOT_QUANTIZED else torch.int8),
        *(places, of_experts, scales),
    )


@kernel(
    "MoeFinalizeRouting",
    source="ops-transformer:moe/moe_finalize_routing/op_graph/moe_finalize_routing_proto.h",
)
def moe_finalize_routing(
    expanded_x: torch.Tensor,
    x1: torch.Tensor,
    x2: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    scales: torch.Tensor | None = None,
    expanded_row_idx: torch.Tensor | None = None,
    expanded_expert_idx: torch.Tensor | None = None,
) -> tuple[torch.Tensor, ...]:
    """Add what the experts answered for each row, weighed."""
    return call_aclnn(
        "MoeFinalizeRouting",
        *(expanded_x, x1, x2, bias, scales, expanded_row_idx, expanded_expert_idx),
        New(x1.shape, expanded_x.dtype),
    )


@kernel(
    "MoeFinalizeRoutingV2",
    source="ops-transformer:moe/moe_finalize_routing_v2/op_graph/moe_finalize_routing_v2_proto.h",
)
def moe_finalize_routing_v2(
    expanded_x: torch.Tensor,
    expanded_row_idx: torch.Tensor,
    x1: torch.Tensor | None = None,
    x2: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    scales: torch.Tensor | None = None,
    expert_idx: torch.Tensor | None = None,
    *,
    drop_pad_mode: int = 0,
    k: int = 1,
) -> tuple[torch.Tensor, ...]:
    """Add what the experts answered for each row, weighed or not."""
    rows = expanded_row_idx.shape[0] // max(k, 1) if scales is None else scales.shape[0]
    columns = expanded_x.shape[2 if drop_pad_mode in FIXED_ROWS else 1]
    return call_aclnn(
        "MoeFinalizeRoutingV2",
        *(expanded_x, expanded_row_idx, x1, x2, bias, scales, expert_idx, drop_pad_mode),
        New((rows, columns), expanded_x.dtype),
    )


@kernel(
    "MoeComputeExpertTokens",
    source="ops-transformer:moe/moe_compute_expert_tokens/op_graph/moe_compute_expert_tokens_proto.h",
)
def moe_compute_expert_tokens(
    sorted_experts: torch.Tensor, *, num_experts: int
) -> tuple[torch.Tensor, ...]:
    """Return how many rows each expert and those before it have."""
    return call_aclnn(
        "MoeComputeExpertTokens", sorted_experts, num_experts, New([num_experts], torch.int32)
    )


@kernel("MoeReRouting", source="ops-transformer:moe/moe_re_routing/op_graph/moe_re_routing_proto.h")
def moe_re_routing(
    tokens: torch.Tensor,
    expert_token_num_per_rank: torch.Tensor,
    per_token_scales: torch.Tensor | None = None,
    *,
    expert_token_num_type: int = 1,
    idx_type: int = 0,
) -> tuple[torch.Tensor, ...]:
    """Sort rows that came by rank by their experts; returns rows, scales, places and counts."""
    rows = tokens.shape[:1]
    scales = New(rows, torch.float32)
    if per_token_scales is not None:
        scales = New(per_token_scales.shape, per_token_scales.dtype)
    counts = expert_token_num_per_rank
    return call_aclnn(
        "MoeReRouting",
        *(tokens, counts, per_token_scales, expert_token_num_type, idx_type),
        New(tokens.shape, tokens.dtype),
        *(scales, New(rows, torch.int32), New(counts.shape[1:], counts.dtype)),
    )


@kernel(
    "MoeUpdateExpert",
    source="ops-transformer:mc2/moe_update_expert/op_graph/moe_update_expert_proto.h",
)
def moe_update_expert(
    expert_ids: torch.Tensor,
    eplb_table: torch.Tensor,
    expert_scales: torch.Tensor | None = None,
    pruning_threshold: torch.Tensor | None = None,
    active_mask: torch.Tensor | None = None,
    *,
    local_rank_id: int = -1,
    world_size: int = -1,
    balance_mode: int = 0,
) -> tuple[torch.Tensor, ...]:
    """Give each expert one of its copies; also which of them are active."""
    return call_aclnn(
        "MoeUpdateExpert",
        *(expert_ids, eplb_table, expert_scales, pruning_threshold, active_mask),
        *(local_rank_id, world_size, balance_mode),
        New(expert_ids.shape, expert_ids.dtype),
        New(expert_ids.shape, torch.bool),
    )
