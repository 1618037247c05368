"""Mixture of experts in graphs: compiled for the twin, and kernels by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from opwright.graph_engine.kernels import moe  # noqa: F401 - fill the table
from tests.graph_engine.agreement import assert_agree, call

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[..., object]] = {
    "softmax": lambda x: torch_npu.npu_moe_gating_top_k(x, 3, out_flag=True),
    "softmax_renormalized": lambda x: torch_npu.npu_moe_gating_top_k(x, 3, renorm=1, out_flag=True),
    "sigmoid_with_bias": lambda x, b: torch_npu.npu_moe_gating_top_k(
        x, 3, bias=b, norm_type=1, out_flag=True
    ),
    "scaled": lambda x: torch_npu.npu_moe_gating_top_k(
        x, 1, renorm=1, routed_scaling_factor=2.5, eps=0.1
    )[:2],
    "best_groups": lambda x, b: torch_npu.npu_moe_gating_top_k(
        x, 3, bias=b, k_group=2, group_count=4, norm_type=1, out_flag=True
    ),
    "groups_by_two_highest": lambda x: torch_npu.npu_moe_gating_top_k(
        x, 3, k_group=2, group_count=4, group_select_mode=1, out_flag=True
    ),
    "equal_scores": lambda x: torch_npu.npu_moe_gating_top_k(x * 0, 5, out_flag=True),
    "softmax_with_places": lambda x: torch_npu.npu_moe_gating_top_k_softmax(x, None, 3),
    "finished": lambda x: torch_npu.npu_moe_gating_top_k_softmax(x, x[:, 0] > 0, 3),
}


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled_gates_answer_what_eager_answers(*, dynamic: bool) -> None:
    torch.manual_seed(7)
    runs = [{"x": torch.randn(rows, 12), "b": torch.randn(12)} for rows in (6, 1, 9)]
    assert_agree(FUNCTIONS, runs, dynamic=dynamic)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_softmax_of_the_chosen_is_taken_with_renorm(dtype: torch.dtype) -> None:
    x = torch.randperm(40).view(5, 8).to(dtype) / 8  # no equal scores, whose order topk leaves open
    weights, experts, softmax = call("MoeGatingTopKSoftmaxV2", x, k=2, renorm=1)
    chosen = x.float().topk(2)
    assert torch.equal(experts, chosen.indices.int())
    torch.testing.assert_close(weights, chosen.values.softmax(-1).to(dtype))
    assert softmax.numel() == 0


def test_the_whole_softmax_is_an_output_on_demand() -> None:
    x = torch.randn(5, 8)
    weights, experts, softmax = call("MoeGatingTopKSoftmaxV2", x, k=3, output_softmax=True)
    torch.testing.assert_close(softmax, x.softmax(-1))
    torch.testing.assert_close(weights, softmax.gather(-1, experts.long()))


def test_scores_that_nobody_asked_for_are_nan() -> None:
    assert call("MoeGatingTopK", torch.randn(5, 8), k=3)[2].isnan().all()


def test_a_table_chooses_the_experts() -> None:
    x, table = torch.randn(3, 8), torch.tensor([[1, 2], [3, 4], [5, 6]])
    keys = torch.tensor([2, 0, 2])
    weights, experts, _ = call("MoeGatingTopK", x, None, keys, table, k=2, norm_type=2)
    assert torch.equal(experts, table[keys].int())
    scores = torch.nn.functional.softplus(x).sqrt().gather(-1, table[keys])
    torch.testing.assert_close(weights, scores / scores.sum(-1, keepdim=True))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"norm_type": 3}, "norm_type 3 is not available"),
        ({"renorm": 2}, "renorm 2 is not available"),
        ({"group_select_mode": 2}, "group_select_mode 2 is not available"),
    ],
)
def test_unknown_modes_of_gates_are_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        call("MoeGatingTopK", torch.randn(2, 4), k=1, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 9}, "k is 9; it must be between 1 and 8"),
        ({"k": 0}, "k is 0; it must be between 1 and 8"),
        ({"k": 3, "group_count": 4}, "k is 3; it must be between 1 and 2"),
        ({"k": 1, "group_count": 3}, "group_count is 3; it must divide the 8 experts"),
        ({"k": 1, "group_count": 0}, "group_count is 0; it must be between 1 and 8"),
        ({"k": 1, "group_count": 8, "group_select_mode": 1}, "into groups of 2 or more"),
        ({"k": 1, "group_count": 2, "k_group": 3}, "k_group is 3; it must be between 1 and 2"),
    ],
)
def test_groups_that_do_not_fit_are_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call("MoeGatingTopK", torch.randn(2, 8), **given)


def test_keys_without_their_table_are_refused() -> None:
    x, keys, table = torch.randn(2, 8), torch.tensor([0, 1]), torch.tensor([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="must both be given, or neither"):
        call("MoeGatingTopK", x, None, keys, k=2)
    with pytest.raises(ValueError, match="must both be given, or neither"):
        call("MoeGatingTopK", x, None, None, table, k=2)
    with pytest.raises(ValueError, match=r"they must be \[entries, 1\] and \[2\]"):
        call("MoeGatingTopK", x, None, keys, table, k=1)


@pytest.mark.parametrize("name", ["MoeGatingTopKSoftmax", "MoeGatingTopKSoftmaxV2"])
def test_more_choices_than_experts_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="k is 9; it must be between 0 and 8"):
        call(name, torch.randn(2, 8), k=9)


def test_no_choice_is_empty() -> None:
    outputs = call("MoeGatingTopKSoftmax", torch.randn(2, 8), k=0)
    assert [tuple(output.shape) for output in outputs] == [(2, 0)] * 3


# Of x float16 rows, i int32 experts of each row, w float16 weights of these.
ROUTES: dict[str, Callable[..., object]] = {
    "expand": lambda x, i: torch_npu.npu_moe_init_routing(
        x, torch.arange(i.numel(), device="npu").int().view(2, -1).t().contiguous(), i, 99
    ),
    "expand_counted": lambda x, i: torch_npu.npu_moe_init_routing_v2(
        x,
        i,
        active_num=i.numel(),
        expert_num=4,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        active_expert_range=[0, 4],
    )[:3],
    "expand_quantized": lambda x, i: torch_npu.npu_moe_init_routing_v2(
        x,
        i,
        active_num=i.numel(),
        expert_num=4,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        quant_mode=1,
        active_expert_range=[0, 4],
    ),
    "expand_padded": lambda x, i: torch_npu.npu_moe_init_routing_v2(
        x,
        i,
        expert_num=4,
        expert_capacity=3,
        drop_pad_mode=1,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        active_expert_range=[0, 4],
    )[:3],
    "gather": lambda x, i, w: torch_npu.npu_moe_finalize_routing(
        torch.cat([x, x]), x, None, x[:4], w, torch.arange(i.numel(), device="npu").int(), i
    ),
    "gather_plainly": lambda x, i, w: torch_npu.npu_moe_finalize_routing(
        torch.cat([x, x]),
        None,
        None,
        None,
        w,
        torch.arange(i.numel(), device="npu").int(),
        None,
        drop_pad_mode=2,
    ),
    "count": lambda i: torch_npu.npu_moe_compute_expert_tokens(i.flatten().sort().values, 4),
    "from_ranks": lambda x, w: torch_npu.npu_moe_re_routing(
        x[:4], torch.ones(2, 2, dtype=torch.int32, device="npu"), per_token_scales=w[:4, 0].float()
    ),
    "balance": lambda i: torch_npu.npu_moe_update_expert(
        i,
        torch.tensor([[1, 3, 0], [2, 1, 2], [1, 0, 0], [1, 2, 0]], device="npu").int(),
        local_rank_id=0,
        world_size=2,
    )[0],
}


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled_routes_answer_what_eager_answers(*, dynamic: bool) -> None:
    torch.manual_seed(7)
    runs = [
        {
            "x": torch.randn(rows, 8).half(),
            "i": torch.randint(0, 4, (rows, 2), dtype=torch.int32),
            "w": torch.rand(rows, 2).half(),
        }
        for rows in ((6, 4) if dynamic else (6,))  # a fixed size is compiled for itself alone
    ]
    assert_agree(ROUTES, runs, dynamic=dynamic)
