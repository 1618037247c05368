"""Operators of a mixture of experts.

Among equal scores the expert with the lower number comes first. Source of the formulas: CANN's
documents of aclnnMoeGatingTopK and aclnnMoeGatingTopKSoftmax(V2); the order of equal scores is
inferred.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.table import kernel

SOFTMAX, SIGMOID, ROOT_OF_SOFTPLUS = 0, 1, 2
MAXIMUM, SUM_OF_TWO = 0, 1  # how a group of experts is scored


def choose(scores: torch.Tensor, k: int) -> torch.Tensor:
    """Return the indices, [rows, k] int64, of the k highest scores of each row, highest first."""
    return torch.sort(scores, dim=-1, descending=True, stable=True).indices.narrow(-1, 0, k)


def require_between(name: str, value: int, least: int, most: int) -> None:
    """Raise ValueError for an attribute outside of its range."""
    if not least <= value <= most:
        message = f"{name} is {value}; it must be between {least} and {most}"
        raise ValueError(message)


def normalize(x: torch.Tensor, norm_type: int) -> torch.Tensor:
    """Return the experts' scores in float32."""
    require_one_of("norm_type", norm_type, SOFTMAX, SIGMOID, ROOT_OF_SOFTPLUS)
    wide = x.float()
    if norm_type == SOFTMAX:
        return wide.softmax(-1)
    return wide.sigmoid() if norm_type == SIGMOID else functional.softplus(wide).sqrt()


def mask_groups(
    scores: torch.Tensor, groups: int, kept: int, group_select_mode: int
) -> torch.Tensor:
    """Set the scores of all experts outside the best groups to -inf."""
    if groups <= 1:
        return scores
    grouped = torch.unflatten(scores, -1, (groups, -1))
    best = grouped.topk(1 + group_select_mode).values.sum(-1)
    hidden = torch.ones_like(best, dtype=torch.bool).scatter(-1, choose(best, kept), value=False)
    return grouped.masked_fill(hidden.unsqueeze(-1), -torch.inf).flatten(-2)


def check_groups(experts: int, k: int, *, groups: int, kept: int, group_select_mode: int) -> None:
    """Raise for groups that do not fit the experts, or that hold fewer than k of them."""
    require_one_of("group_select_mode", group_select_mode, MAXIMUM, SUM_OF_TWO)
    require_between("group_count", groups, 1, experts)
    size, rest = divmod(experts, groups)
    if rest or size <= group_select_mode:
        message = (
            f"group_count is {groups}; it must divide the {experts} experts into groups of "
            f"{group_select_mode + 1} or more"
        )
        raise ValueError(message)
    require_between("k_group", kept, 1, groups)
    require_between("k", k, 1, size * kept if groups > 1 else experts)


def look_up(table: torch.Tensor, keys: torch.Tensor, rows: int, k: int) -> torch.Tensor:
    """Return the experts, [rows, k] int64, that a table [entries, k] gives to each row's key."""
    if table.dim() != 2 or table.shape[1] != k or tuple(keys.shape) != (rows,):  # noqa: PLR2004 - a matrix
        message = (
            f"tid2eid and input_ids have shapes {list(table.shape)} and {list(keys.shape)}; "
            f"they must be [entries, {k}] and [{rows}]"
        )
        raise ValueError(message)
    return table.index_select(0, keys.long()).long()


@kernel(
    "MoeGatingTopK", source="ops-transformer:moe/moe_gating_top_k/op_graph/moe_gating_top_k_proto.h"
)
def moe_gating_top_k(  # noqa: PLR0913 - the prototype's attributes
    x: torch.Tensor,
    bias: torch.Tensor | None = None,
    input_ids: torch.Tensor | None = None,
    tid2eid: torch.Tensor | None = None,
    *,
    k: int,
    k_group: int = 1,
    group_count: int = 1,
    group_select_mode: int = 0,
    renorm: int = 0,
    norm_type: int = 0,
    out_flag: bool = False,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Choose k experts for each row of x, [rows, experts]; weigh them by score without bias.

    Returns the weights [rows, k] in x's dtype, the experts [rows, k] int32, and the scores
    [rows, experts] float32. Hardware leaves the scores unset without `out_flag`; here they are
    NaN then, which a reader notices.
    """
    require_one_of("renorm", renorm, 0, 1)
    check_groups(
        x.shape[-1], k, groups=group_count, kept=k_group, group_select_mode=group_select_mode
    )
    if (input_ids is None) != (tid2eid is None):
        message = "input_ids and tid2eid must both be given, or neither"
        raise ValueError(message)
    norm = normalize(x, norm_type)
    if tid2eid is not None and input_ids is not None:
        experts = look_up(tid2eid, input_ids, x.shape[0], k)
    else:
        scores = norm if bias is None else norm + bias.float()
        experts = choose(mask_groups(scores, group_count, k_group, group_select_mode), k)
    weights = norm.gather(-1, experts)
    if norm_type != SOFTMAX or renorm == 1:
        weights = weights / (weights.sum(-1, keepdim=True) + eps)
    weights = (weights * routed_scaling_factor).to(x.dtype)
    return weights, experts.int(), norm if out_flag else torch.full_like(norm, torch.nan)


def choose_and_mark(
    scores: torch.Tensor, finished: torch.Tensor | None, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the k highest scores and their experts, int32.

    Rows that are finished get the number behind the last expert.
    """
    require_between("k", k, 0, scores.shape[-1])
    experts = choose(scores, k)
    chosen = scores.gather(-1, experts)
    if finished is not None:
        experts = experts.masked_fill(finished.unsqueeze(-1), scores.shape[-1])
    return chosen, experts.int()


@kernel(
    "MoeGatingTopKSoftmax",
    source="ops-transformer:moe/moe_gating_top_k_softmax/op_graph/moe_gating_top_k_softmax_proto.h",
)
def moe_gating_top_k_softmax(
    x: torch.Tensor, finished: torch.Tensor | None = None, *, k: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Choose by softmax; the third output counts the chosen places column by column."""
    weights, experts = choose_and_mark(x.float().softmax(-1), finished, k)
    rows = experts.shape[:-1].numel()
    places = torch.arange(rows * k, dtype=torch.int32, device=x.device)
    return weights.to(x.dtype), experts, places.view(k, rows).t().reshape(experts.shape)


@kernel(
    "MoeGatingTopKSoftmaxV2",
    source="ops-transformer:moe/moe_gating_top_k_softmax_v2/op_graph/moe_gating_top_k_softmax_v2_proto.h",
)
def moe_gating_top_k_softmax_v2(
    x: torch.Tensor,
    finished: torch.Tensor | None = None,
    *,
    k: int,
    renorm: int = 0,
    output_softmax: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Choose by softmax, or with `renorm` choose first and take the softmax of what is chosen.

    The third output is the whole softmax in float32 if it is wanted and there is one, else empty.
    """
    require_one_of("renorm", renorm, 0, 1)
    wide = x.float()
    absent = wide.new_zeros(0)
    if renorm == 1:
        weights, experts = choose_and_mark(wide, finished, k)
        return weights.softmax(-1).to(x.dtype), experts, absent
    softmax = wide.softmax(-1)
    weights, experts = choose_and_mark(softmax, finished, k)
    return weights.to(x.dtype), experts, softmax if output_softmax else absent
