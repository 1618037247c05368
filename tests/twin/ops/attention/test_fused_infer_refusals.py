"""Refusals of attention for inference."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.attention.inference import BATCH, HEADS, KEYS, PAGE, PAGES, SCALE, WIDTH
from tests.twin.ops.compare import rejects
from tests.twin.ops.samples import normal

REFUSED: dict[str, dict[str, object]] = {
    "parameter 'quantScale2'": {"quant_scale2": torch.ones(1)},
    "parameter 'antiquantScale'": {"antiquant_scale": torch.ones(2, dtype=torch.float16)},
    "parameter 'keyRopeAntiquantScale' is given": {"key_rope_antiquant_scale": torch.ones(1)},
    "parameter 'sparseMode' is 5": {"sparse_mode": 5},
    "sparse mode 1 needs it": {"sparse_mode": 1},
    "parameter 'attenMask' is null; sparse mode 3": {"sparse_mode": 3},
    "parameter 'attenMask' is of another shape": {
        "sparse_mode": 2,
        "atten_mask": torch.ones(KEYS, KEYS, dtype=torch.bool),
    },
    "parameter 'numHeads' is 4": {"num_key_value_heads": 3},
    "parameter 'query' has 4 heads in BNSD, but 2 are declared": {"num_heads": 2},
    "lengths must be between 0 and 8": {"actual_seq_lengths": [9]},
    "parameter 'actualSeqLengthsKv' has 2 lengths": {"actual_seq_lengths_kv": [1, 2]},
    "parameter 'valueSharedPrefix' has 2 heads in BNSD, but 4": {
        "key_shared_prefix": torch.ones(1, HEADS, 5, WIDTH).half(),
        "value_shared_prefix": torch.ones(1, 2, 5, WIDTH).half(),
    },
    "only one is given": {"query_rope": torch.ones(BATCH, HEADS, KEYS, 16).half()},
    "is needed with a block table": {
        "block_table": torch.zeros(BATCH, 1, dtype=torch.int32),
        "block_size": KEYS,
    },
    "parameter 'pseShift' has shape [4, 8, 8]": {"pse_shift": torch.ones(HEADS, KEYS, KEYS).half()},
    "rope and shared prefixes must have the query's dtype Half": {
        "query_rope": torch.ones(BATCH, HEADS, KEYS, 16),
        "key_rope": torch.ones(BATCH, HEADS, KEYS, 16),
    },
    "too small for 8 queries and 8 keys": {"atten_mask": torch.ones(4, KEYS, dtype=torch.bool)},
}


@pytest.mark.parametrize(("why", "options"), REFUSED.items(), ids=REFUSED.keys())
def test_fused_infer_refuses_wrong_calls(why: str, options: dict[str, object]) -> None:
    """Each names the parameter."""
    tensors = [normal(BATCH, HEADS, KEYS, WIDTH) for _ in range(3)]
    rejects(
        why,
        partial(torch_npu.npu_fused_infer_attention_score, scale=SCALE, input_layout="BNSD"),
        *tensors,
        **{"num_heads": HEADS, **options},
    )


def test_refused_dtypes_and_tables() -> None:
    operator = partial(torch_npu.npu_fused_infer_attention_score, input_layout="BNSD")
    query = normal(BATCH, HEADS, KEYS, WIDTH)
    wide = normal(BATCH, HEADS, KEYS, 2 * WIDTH)
    rejects("query and key have heads of 16 and 32", operator, query, wide, query, num_heads=HEADS)
    rejects("must be float16 or bfloat16", operator, *[query.float()] * 3, num_heads=HEADS)
    rejects("quantised attention", operator, query, *[query.to(torch.int8)] * 2, num_heads=HEADS)
    pages = partial(
        operator,
        num_heads=HEADS,
        block_table=torch.zeros(BATCH, 2, dtype=torch.int32, device="npu"),
        block_size=PAGE,
    )
    cache = normal(PAGES, HEADS, PAGE, WIDTH)
    needs_three = "needs 3 blocks, but blockTable has 2"
    rejects(needs_three, pages, query, cache, cache, actual_seq_lengths_kv=[33])
    small = cache[:, :, :8].contiguous()
    rejects("must be [blocks, size, H]", pages, query, small, small, actual_seq_lengths_kv=[5])
    rejects(
        "the ends must not decrease",
        torch_npu.npu_fused_infer_attention_score,
        *[query[0].transpose(0, 1)] * 3,
        input_layout="TND",
        num_heads=HEADS,
        actual_seq_lengths=[5, 3],
        actual_seq_lengths_kv=[5, 8],
    )


# Of an operator with 2 sequences of 8 queries and 4 heads, in pages -> what is wrong with it.
CALLS: dict[str, dict[str, object]] = {
    "names blocks from 0 to 9 for a sequence of 20 tokens, but 'key' has 7": {"table": [0, 9]},
    "names blocks from -1 to 3 for a sequence of 20 tokens": {"table": [3, -1]},
    "parameter 'blockTable' has dtype Half": {"table_dtype": torch.float16},
    "parameter 'blockSize' is 0": {"page": 0},
    "parameter 'key' has 2 tensors; with a block table it must have 1": {"caches": 2},
    "parameter 'attentionOut' has shape [2, 4, 9, 16], that is 2 x 9 rows": {"out_rows": 9},
    "parameter 'attentionOut' has shape [2, 4, 8, 32] with heads of 32": {"out_width": 32},
    "parameter 'softmaxLse' has shape [2, 4, 8]": {"lse_dims": 3},
}


@pytest.mark.parametrize(("why", "changes"), CALLS.items(), ids=CALLS.keys())
def test_refused_calls(why: str, changes: dict[str, object]) -> None:
    """torch_npu never passes these, but a program in C can: also a page size of 0 is no crash."""
    given: dict[str, Any] = {"table": [0, 1], "table_dtype": torch.int32, "page": PAGE, "caches": 1}
    given |= {"out_rows": 8, "out_width": WIDTH, "lse_dims": 4} | changes
    assert WIDTH == 16  # as the texts say
    cache = [torch.ones(7, HEADS, given["page"], WIDTH).half().to("npu")] * given["caches"]
    table = torch.tensor([given["table"], [0, 0]], device="npu").to(given["table_dtype"])
    out = torch.ones(2, HEADS, given["out_rows"], given["out_width"]).half().to("npu")
    lse = torch.ones([2, HEADS, 8, 1][: given["lse_dims"]]).to("npu")

    def run() -> None:
        call(
            "aclnnFusedInferAttentionScoreV2",
            *(torch.ones(2, HEADS, 8, WIDTH).half().to("npu"), cache, cache, None, None),
            *(None, [20, 3], *[None] * 7, table, *[None] * 9),
            *(HEADS, 1.0, 1 << 30, 1 << 30, "BNSD", HEADS, 0, 0, given["page"], 0, True, 0, 0),
            *(out, lse),
        )
        torch_npu.npu.synchronize()

    with pytest.raises(RuntimeError) as caught:
        run()
    assert why in str(caught.value)
