"""A router of a mixture of experts: the k best experts of each token, and their weights."""

import torch

import opwright as ow

ops = ow.OperatorSet("moe_ops", version="1.0.0")

NORMS = (
    lambda x: x.softmax(-1),
    torch.sigmoid,
    lambda x: torch.nn.functional.softplus(x).sqrt(),
)


def first(scores, k):
    """Return the places of the k highest; among equal ones the first comes first."""
    return scores.argsort(dim=-1, descending=True, stable=True)[..., :k]


@ops.operator(
    "moe_gating_top_k(Tensor x, int k, *, Tensor? bias=None, int k_group=1, int group_count=1, "
    "float routed_scaling_factor=1.0, float eps=1e-20, int group_select_mode=0, int renorm=0, "
    "int norm_type=0, bool out_flag=False) -> (Tensor y, Tensor expert_idx, Tensor out)",
    aclnn="aclnnMoeGatingTopK(x, bias, k, k_group, group_count, group_select_mode, renorm, "
    "norm_type, out_flag, routed_scaling_factor, eps, y, expert_idx, out)",
    shapes={"x": "T, E", "bias": "E", "y": "T, k", "expert_idx": "T, k", "out": "T, E"},
    dtypes={"x": "float32 float16 bfloat16", "bias": "x", "expert_idx": "int32", "out": "float32"},
    requires=[
        "1 <= k_group <= group_count",
        "E % group_count == 0",
        "group_select_mode < E // group_count",
        "1 <= k <= E // group_count * k_group",
        "group_select_mode in (0, 1)",
        "renorm in (0, 1)",
        "norm_type in (0, 1, 2)",
    ],
    unspecified={"out": "not out_flag"},
    samples=[ow.sample(x=ow.tensor(6, 8), k=2, norm_type=1, out_flag=True)],
    errors=[ow.error("1 <= k <= E", x=ow.tensor(4, 8), k=9)],
)
def moe_gating_top_k(x, k, *, bias=None, k_group=1, group_count=1, renorm=0, norm_type=0, **more):
    """Choose experts by score plus bias, in the best groups only; weigh them by score alone."""
    scores = NORMS[norm_type](x.float())
    choice = scores if bias is None else scores + bias.float()
    if group_count > 1:
        groups = choice.unflatten(-1, (group_count, -1))
        best = first(groups.topk(1 + more["group_select_mode"]).values.sum(-1), k_group)
        hidden = torch.ones_like(groups[..., 0], dtype=torch.bool).scatter(-1, best, 0)
        choice = groups.masked_fill(hidden.unsqueeze(-1), -torch.inf).flatten(-2)
    index = first(choice, k)
    y = scores.gather(-1, index)
    if norm_type or renorm:
        y = y / (y.sum(-1, keepdim=True) + more["eps"])
    return (y * more["routed_scaling_factor"]).to(x.dtype), index.int(), scores
