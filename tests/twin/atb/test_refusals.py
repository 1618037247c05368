"""Refusals of ATB's operations: at the call, or on the stream where its queue calls them."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.atb.attention_problems import on_npu, paged
from tests.twin.graphs.captures import refusal
from tests.twin.ops.samples import normal

HEADS, SIZE = 4, 32


def int32(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def check_usable() -> None:
    """Nothing after a refusal is harmed."""
    cache = torch.zeros(1, 2, 1, 16, dtype=torch.float16, device="npu")
    key = torch.ones(1, 1, 16, dtype=torch.float16, device="npu")
    torch_npu._npu_reshape_and_cache_siso(key, cache, int32(1).to("npu"))  # noqa: SLF001
    assert cache.sum().item() == 16


def operands() -> dict[str, object]:
    query, caches = normal(2, HEADS, SIZE), paged([3, 4], HEADS, SIZE, torch.float16)
    return {
        "query": query.to("npu"),
        "key_cache": caches.keys.to("npu"),
        "value_cache": caches.values.to("npu"),
        "num_kv_heads": HEADS,
        "num_heads": HEADS,
        "scale_value": 0.1,
        "block_table": caches.table.to("npu"),
        "context_lens": int32(3, 4),
        "out": torch.empty_like(query).to("npu"),
    }


def paged_attention(**changes: object) -> None:
    torch_npu._npu_paged_attention(**{**operands(), **changes})  # noqa: SLF001  # as models call it
    torch_npu.npu.synchronize()


def test_parameters_are_refused_at_the_call() -> None:
    with pytest.raises(RuntimeError, match=r"PagedAttentionParam>: parameter 'kvHeadNum' is 3"):
        paged_attention(num_kv_heads=3)
    with pytest.raises(RuntimeError, match=r"parameter 'headNum' is 0; allowed: 1 and more"):
        paged_attention(num_heads=0)
    check_usable()


def test_forms_that_are_missing_are_refused_by_name() -> None:
    query, caches = normal(2, HEADS, SIZE), paged([3, 4], HEADS, SIZE, torch.float16)
    q, k, v, table, out = on_npu(query, caches.keys, caches.values, caches.table, query)
    scales = torch.ones(HEADS * SIZE, device="npu")
    with pytest.raises(RuntimeError, match=r"parameter 'quantType' is 2.*not available"):
        torch_npu._npu_paged_attention_quant(  # noqa: SLF001
            q, k, v, HEADS, HEADS, 0.1, table, int32(3, 4), 2, 1, scales, scales, out
        )
    mask = torch.zeros(2, 8, dtype=torch.float16, device="npu")
    with pytest.raises(RuntimeError, match=r"parameter 'maskType' is 5.*Atlas 300I Duo"):
        torch_npu._npu_paged_attention_splitfuse_v2(  # noqa: SLF001
            q, k, v, table, int32(3, 4), mask, int32(1, 1), HEADS, HEADS, 0.1, out=out
        )
    with pytest.raises(RuntimeError, match=r"SelfAttentionParam>: parameter 'kernelType' is 2"):
        torch_npu._npu_flash_attention_unpad_v2(  # noqa: SLF001
            q, q, q, int32(1, 1), 0.1, HEADS, HEADS, kernel_type=2, out=out
        )
    with pytest.raises(RuntimeError, match="AtbMLAPreprocess"):
        torch_npu.atb.npu_mla_preprocess(*[q] * 12, q, q, q, table)
    check_usable()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"query": normal(2, HEADS, SIZE).float()},
            r"parameter 'query' has dtype float32; allowed: float16, bfloat16",
        ),
        ({"query": normal(2, 2, SIZE)}, r"parameter 'query' has shape \[2, 2, 32\]; dimension 1"),
        (
            {"value_cache": normal(1, 16, HEADS, SIZE)},
            r"parameter 'valueCache' has shape .*; dimension 0 must be .*, as keyCache",
        ),
        (
            {"block_table": torch.zeros(2, 1, dtype=torch.int64)},
            r"parameter 'blockTables' has dtype int64; allowed: int32",
        ),
        (
            {"block_table": int32(0, 0)},
            r"parameter 'blockTables' has shape \[2\]; dimensions allowed: 2",
        ),
        ({"context_lens": int32(3, 4, 5)}, r"a row for each of the 3 sequences of contextLens"),
        ({"context_lens": int32(3)}, r"the query has 2 tokens"),
        ({"context_lens": int32(3, 400)}, r"sequence 1 has 400 keys in 25 blocks of 16"),
        ({"block_table": int32(0, 77).view(2, 1)}, r"names blocks from 77 to 77 for sequence 1"),
        ({"out": normal(2, HEADS, 16)}, r"parameter 'attnOut' has shape \[2, 4, 16\]; it must be"),
    ],
)
def test_operands_are_refused_with_what_is_allowed(
    changes: dict[str, torch.Tensor], message: str
) -> None:
    """In torch_npu's queue an error would end it, so the stream reports these."""
    devices = {
        name: tensor if name == "context_lens" else tensor.to("npu")
        for name, tensor in changes.items()
    }
    with pytest.raises(RuntimeError, match=message):
        paged_attention(**devices)
    check_usable()


def test_lengths_must_lie_on_the_host() -> None:
    with pytest.raises(RuntimeError, match=r"parameter 'contextLens' lies on the device"):
        paged_attention(context_lens=int32(3, 4).to("npu"))
    check_usable()


def test_a_mask_type_that_torch_npu_does_not_pass_on() -> None:
    """It gives no operands at all in mask types that it does not know."""
    q = normal(2, HEADS, SIZE).to("npu")
    torch_npu.atb._npu_flash_attention_v2(  # noqa: SLF001
        q,
        q,
        q,
        [1, 1],
        mask_type=3,
        num_heads=HEADS,
        num_kv_heads=HEADS,
        out=torch.empty_like(q),
    )
    with pytest.raises(RuntimeError, match=r"the operation has 5 inputs, but 0 are given"):
        torch_npu.npu.synchronize()
    check_usable()


def test_functions_that_are_looked_up_are_refused_on_the_stream() -> None:
    x, bias = on_npu(normal(4, 8), normal(8))
    torch_npu.atb.npu_fused_add_topk_div(x, bias, group_num=2, group_topk=1, n=1, k=9)
    with pytest.raises(RuntimeError, match=r"AtbFusedAddTopkDiv.*parameter 'k' is 9"):
        torch_npu.npu.synchronize()
    check_usable()


def test_a_refusal_while_a_graph_is_captured_has_the_text() -> None:
    given = {**operands(), "query": normal(2, HEADS, SIZE).float().to("npu")}
    message = refusal(lambda: torch_npu._npu_paged_attention(**given))  # noqa: SLF001
    assert "PagedAttentionOperation: parameter 'query' has dtype float32" in message
    x, bias = on_npu(normal(4, 8), normal(8))

    def choose() -> object:
        return torch_npu.atb.npu_fused_add_topk_div(x, bias, group_num=2, group_topk=1, n=1, k=9)

    message = refusal(choose)
    assert "parameter 'k' is 9" in message
    check_usable()
