"""Older functions of attention for inference: native/opapi/ops/attention/prompt_attention.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.attention.inference import (
    BATCH,
    CAUSAL,
    FORMS,
    HEADS,
    KEYS,
    PAGE,
    PAGES,
    QUERIES,
    SCALE,
    WIDTH,
    attend_all,
)
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

KEY_HEADS = 2


def operands(queries: int, dtype: torch.dtype = torch.float16) -> list[torch.Tensor]:
    return [
        normal(BATCH, HEADS, queries, WIDTH, dtype=dtype),
        normal(BATCH, KEY_HEADS, KEYS, WIDTH, dtype=dtype, seed=1),
        normal(BATCH, KEY_HEADS, KEYS, WIDTH, dtype=dtype, seed=2),
    ]


OPTIONS = {"num_heads": HEADS, "num_key_value_heads": KEY_HEADS, "scale_value": SCALE}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
@pytest.mark.parametrize("lengths", [None, ([6, 0, 3], [8, 2, 5])])
def test_prompt(
    layout: str, dtype: torch.dtype, lengths: tuple[list[int], list[int]] | None
) -> None:
    query, key, value = operands(QUERIES, dtype)
    given, result = layout.partition("_")[0], layout.rpartition("_")[2]
    expected, _ = attend_all(query, key, value, *(lengths or (None, None)))
    options: dict[str, object] = {}
    if lengths:
        options = {"actual_seq_lengths": lengths[0], "actual_seq_lengths_kv": lengths[1]}
    actual = run_on_npu(
        torch_npu.npu_prompt_flash_attention,
        *(FORMS[given](one).contiguous() for one in (query, key, value)),
        **OPTIONS,
        input_layout=layout,
        **options,
    )
    agree(actual, FORMS[result](expected).to(dtype))


def test_prompt_masks() -> None:
    """A matrix with a band around the diagonal; causal; without a mask the band has no effect."""
    tensors = query, key, value = operands(QUERIES)
    attend = torch_npu.npu_prompt_flash_attention
    options = {**OPTIONS, "input_layout": "BNSD"}
    distance = torch.arange(KEYS) - torch.arange(QUERIES).unsqueeze(1)
    mask = torch.rand(QUERIES, KEYS, generator=torch.Generator().manual_seed(0)) > 0.7
    band = mask | (distance > 2) | (distance < -3)
    expected, _ = attend_all(query, key, value, hidden=[band] * BATCH)
    limits = {"pre_tokens": 3, "next_tokens": 2}
    agree(run_on_npu(attend, *tensors, **options, atten_mask=mask, **limits), expected.half())
    whole, _ = attend_all(query, key, value)
    agree(run_on_npu(attend, *tensors, **options, **limits), whole.half())
    causal, _ = attend_all(query, key, value, hidden=[distance > 0] * BATCH)
    masked = run_on_npu(attend, *tensors, **options, atten_mask=CAUSAL, sparse_mode=2)
    agree(masked, causal.half())


def test_single_query_of_a_prompt() -> None:
    """It is at the beginning of its sequence, unlike in decoding."""
    tensors = query, key, value = operands(1)
    hidden = torch.arange(KEYS).view(1, -1) > 0
    expected, _ = attend_all(query, key, value, hidden=[hidden] * BATCH)
    actual = run_on_npu(
        torch_npu.npu_prompt_flash_attention,
        *tensors,
        **OPTIONS,
        input_layout="BNSD",
        atten_mask=CAUSAL,
        sparse_mode=2,
    )
    agree(actual, expected.half())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD"])
def test_decoding(layout: str, dtype: torch.dtype) -> None:
    query, key, value = operands(1, dtype)
    expected, _ = attend_all(query, key, value, None, [8, 2, 5])
    actual = run_on_npu(
        torch_npu.npu_incre_flash_attention,
        *(FORMS[layout](one).contiguous() for one in (query, key, value)),
        **OPTIONS,
        input_layout=layout,
        actual_seq_lengths=[8, 2, 5],
    )
    agree(actual, FORMS[layout](expected).to(dtype))


def test_decoding_from_pages() -> None:
    """With a position term and a mask."""
    query, key, value = operands(1)
    numbers = torch.randperm(PAGES, generator=torch.Generator().manual_seed(4))[:BATCH]
    caches = []
    for tensor in (key, value):
        cache = normal(PAGES, PAGE, KEY_HEADS * WIDTH, seed=8)
        cache[numbers, :KEYS] = FORMS["BSH"](tensor)
        caches.append(cache)
    mask = torch.rand(BATCH, 1, 1, KEYS, generator=torch.Generator().manual_seed(0)) > 0.6
    expected, _ = attend_all(query, key, value, hidden=list(mask))
    actual = run_on_npu(
        torch_npu.npu_incre_flash_attention,
        FORMS["BSH"](query).contiguous(),
        *caches,
        **OPTIONS,
        input_layout="BSH",
        actual_seq_lengths=[KEYS] * BATCH,
        block_table=numbers.int().view(BATCH, 1),
        block_size=PAGE,
        atten_mask=mask,
    )
    agree(actual, FORMS["BSH"](expected).half())


def test_refuses_quantization() -> None:
    options = {**OPTIONS, "input_layout": "BNSD"}
    scale = torch.ones(1)
    attend = torch_npu.npu_prompt_flash_attention
    rejects("quantScale2", attend, *operands(QUERIES), **options, quant_scale2=scale)
