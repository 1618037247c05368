"""Products of quantized matrices and in groups, in graphs compiled for the twin, against eager."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from tests.graph_engine.agreement import assert_agree

if TYPE_CHECKING:
    from collections.abc import Callable

# Of a and b int8, s float32 scales of b's columns, x float16, e the ends of two groups of rows.
FUNCTIONS: dict[str, Callable[..., object]] = {
    "by_channel": lambda a, b, s: torch_npu.npu_quant_matmul(a, b, s, output_dtype=torch.bfloat16),
    "by_token": lambda a, b, s, x: torch_npu.npu_quant_matmul(
        a, b, s, pertoken_scale=x[:, 0].float(), output_dtype=torch.float16
    ),
    "with_bias": lambda a, b, s: torch_npu.npu_quant_matmul(
        a, b, s, bias=(s * 9).int(), output_dtype=torch.bfloat16
    ),
    "to_int8": lambda a, b, s: torch_npu.npu_quant_matmul(a, b, torch_npu.npu_trans_quant_param(s)),
    "transposed": lambda a, b, s: torch_npu.npu_quant_matmul(
        a, b.t().contiguous().t(), s, output_dtype=torch.bfloat16
    ),
    "in_batches": lambda a, b, s: torch_npu.npu_quant_matmul(
        torch.stack([a, a]), b, s, output_dtype=torch.bfloat16
    ),
    "by_float_scales": lambda a, b, s: torch_npu.npu_quant_matmul(
        a, b, s, bias=(s * 9).int(), output_dtype=torch.float16
    ),
    "without_rows": lambda a, b, s: torch_npu.npu_quant_matmul(
        a[:0], b, s, output_dtype=torch.bfloat16
    ),
    "in_4_bits": lambda a, b, s: torch_npu.npu_quant_matmul(
        a.view(torch.int32),
        torch.cat([b, b]).view(torch.int32)[:, :2],
        s[:16],
        output_dtype=torch.float16,
    ),
    "quantized_weight": lambda b, s, x: torch_npu.npu_weight_quant_batchmatmul(x, b, s.half()),
    "quantized_weight_with_all": lambda b, s, x: torch_npu.npu_weight_quant_batchmatmul(
        x, b, s.half(), antiquant_offset=s.half(), bias=s.half()
    ),
    "quantized_weight_in_4_bits": lambda b, s, x: torch_npu.npu_weight_quant_batchmatmul(
        x, b.view(torch.int32), torch.cat([s, s]).half()
    ),
    "dequantized": lambda b, s, x: torch_npu.npu_quant_matmul_dequant(x, b.t().contiguous(), s),
    "grouped": lambda b, x, e: torch_npu.npu_grouped_matmul(
        [x], [torch.stack([b.half(), b.half() * 2])], group_list=e, split_item=3, group_type=0
    ),
    "grouped_apart": lambda b, s, x: torch_npu.npu_grouped_matmul(
        [x, x[:2]], [b.half(), b.half()], bias=[s.half(), s.half()], split_item=0, group_type=-1
    ),
    "grouped_by_k": lambda x, e: torch_npu.npu_grouped_matmul(
        [x.t()], [x], group_list=e, split_item=3, group_type=2
    ),
    "grouped_integers": lambda a, b, s, x, e: torch_npu.npu_grouped_matmul(
        [a],
        [torch.stack([b, b])],
        scale=[torch.stack([s, s]).bfloat16()],
        per_token_scale=[x[:, 0].float()],
        group_list=e,
        split_item=3,
        group_type=0,
        output_dtype=torch.bfloat16,
    ),
    "network": lambda b, x: torch_npu.npu_ffn(x, b.half(), b.half().t(), "gelu"),
    "network_of_experts": lambda b, x: torch_npu.npu_ffn(
        x[:3],
        torch.stack([b.half(), b.half()]),
        torch.stack([b.half().t(), b.half().t()]),
        "relu",
        expert_tokens=[1, 2],
    ),
    # In eager mode the form that is not in place loses its result (docs/npu_functions.md).
    "low_rank": lambda b, x, e: (
        torch_npu.npu_batch_gather_matmul
        if torch.compiler.is_compiling()
        else torch_npu.npu_batch_gather_matmul_
    )(x.clone(), x[:, :16], b[:16].half().view(1, 1, 32, 16), e[:1].int().expand(len(x)) * 0),
}
# Apart because some versions of torch_npu refuse it (tests/by_version.toml).
GROUPED_SWIGLU: dict[str, Callable[..., object]] = {
    "grouped_swiglu": lambda a, b, s, x, e: torch_npu.npu_grouped_matmul_swiglu_quant_v2(
        a, [torch.stack([b, b])], [torch.stack([s, s])], x[:, 0].float().abs() + 0.1, e
    ),
}


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.parametrize(
    "functions",
    [pytest.param(FUNCTIONS, id="most"), pytest.param(GROUPED_SWIGLU, id="grouped_swiglu")],
)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled_products_answer_what_eager_answers(
    functions: dict[str, Callable[..., object]], *, dynamic: bool
) -> None:
    torch.manual_seed(7)
    runs = [
        {
            "a": torch.randint(-9, 9, (rows, 32), dtype=torch.int8),
            "b": torch.randint(-9, 9, (32, 32), dtype=torch.int8),
            "s": torch.rand(32) + 0.5,
            "x": torch.randn(rows, 32).half(),
            "e": torch.tensor([1, rows]),
        }
        for rows in ((6, 3) if dynamic else (6,))  # a fixed size is compiled for itself alone
    ]
    assert_agree(functions, runs, dynamic=dynamic)
