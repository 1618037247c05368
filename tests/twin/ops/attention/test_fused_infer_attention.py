"""Attention for inference by formula: native/opapi/ops/attention/fused_infer_attention.cpp."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import call
from tests.twin.ops.attention.inference import (
    BATCH,
    CAUSAL,
    FORMS,
    HEADS,
    KEYS,
    LAYOUTS,
    PAGE,
    PAGES,
    QUERIES,
    SCALE,
    WIDTH,
    attend,
    attend_all,
    ends,
    fused,
    hidden_keys,
    pack,
    paged,
    to_npu,
)
from tests.twin.ops.compare import HALVES, agree
from tests.twin.ops.samples import normal, some


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("key_heads", [HEADS, 2, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, key_heads: int, dtype: torch.dtype) -> None:
    """Each form of the query and of the result, with as many key heads and with fewer."""
    before, after = LAYOUTS[layout]
    query = normal(BATCH, HEADS, QUERIES, WIDTH, dtype=dtype)
    key, value = (normal(BATCH, key_heads, KEYS, WIDTH, dtype=dtype, seed=i) for i in (1, 2))
    packed = "T" in layout
    out, lse = fused(
        *map(FORMS[before], (query, key, value)),
        num_heads=HEADS,
        num_key_value_heads=key_heads,
        input_layout=layout,
        actual_seq_lengths=ends([QUERIES] * BATCH) if packed else None,
        actual_seq_lengths_kv=ends([KEYS] * BATCH) if packed else None,
    )
    expected, expected_lse = attend_all(query, key, value)
    agree(out, FORMS[after](expected).to(dtype))
    agree(lse, FORMS["TND"](expected_lse) if packed else expected_lse)


def test_one_sequence_without_batch() -> None:
    query, key, value = (normal(1, HEADS, KEYS, WIDTH, seed=i) for i in range(3))
    out, _ = fused(query[0], key[0], value[0], num_heads=HEADS, input_layout="NSD")
    agree(out, attend_all(query, key, value)[0][0].half())


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH"])
def test_lengths_of_padded_sequences(layout: str) -> None:
    """Padding gets zeros and an infinite log-sum-exp, whatever it holds; one length counts for all.

    Lists may be longer than needed.
    """
    query, key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in range(3))
    query_lengths, key_lengths = [3, 8, 1], [8, 2, 5]
    for i in range(BATCH):
        key[i, :, key_lengths[i] :] = math.nan
    tensors = [FORMS[layout](tensor) for tensor in (query, key, value)]
    run = partial(fused, *tensors, num_heads=HEADS, input_layout=layout)
    out, lse = run(actual_seq_lengths=[*query_lengths, 7], actual_seq_lengths_kv=key_lengths)
    expected, expected_lse = attend_all(query, key, value, query_lengths, key_lengths)
    agree(out, FORMS[layout](expected).half())
    agree(lse, expected_lse)
    out, _ = run(actual_seq_lengths=[4], actual_seq_lengths_kv=[2])
    expected, _ = attend_all(query, key, value, [4] * BATCH, [2] * BATCH)
    agree(out, FORMS[layout](expected).half())


@pytest.mark.parametrize("layout", ["TND", "NTD", "TND_NTD", "NTD_TND"])
def test_packed_sequences(layout: str) -> None:
    """Different lengths, one of them without queries, one without keys."""
    before, after = LAYOUTS[layout]
    query_lengths, key_lengths = [3, 0, 8, 2], [8, 4, 5, 0]
    query, key, value = (normal(4, HEADS, KEYS, WIDTH, seed=i) for i in range(3))
    out, lse = fused(
        pack(query, query_lengths, before),
        *(pack(tensor, key_lengths, before) for tensor in (key, value)),
        num_heads=HEADS,
        input_layout=layout,
        actual_seq_lengths=ends(query_lengths),
        actual_seq_lengths_kv=ends(key_lengths),
    )
    expected, expected_lse = attend_all(query, key, value, query_lengths, key_lengths)
    agree(out, pack(expected, query_lengths, after).half())
    agree(lse, pack(expected_lse, query_lengths, "TND"))


@pytest.mark.parametrize("form", ["heads", "joined", "blocks"])
@pytest.mark.parametrize(
    ("layout", "queries"), [("BNSD", 1), ("BSH", 1), ("BSND", 3), ("BNSD_NBSD", 3), ("TND", 2)]
)
def test_pages(form: str, layout: str, queries: int) -> None:
    """Keys in the pages that the block table lists; lengths are not ends, in TND neither."""
    before, after = LAYOUTS[layout]
    width = 32
    query = normal(BATCH, HEADS, queries, width)
    key, value = (normal(BATCH, 2, 3 * PAGE, width, seed=i) for i in (1, 2))
    table = torch.randperm(PAGES, generator=torch.Generator().manual_seed(1)).view(BATCH, 3)
    lengths = [48, 5, 17]
    out, lse = fused(
        FORMS[before](query),
        paged(key, table, form),
        paged(value, table, form),
        block_table=table.int(),
        block_size=PAGE,
        num_heads=HEADS,
        num_key_value_heads=2,
        input_layout=layout,
        actual_seq_lengths=ends([queries] * BATCH) if layout == "TND" else None,
        actual_seq_lengths_kv=lengths,
    )
    expected, expected_lse = attend_all(query, key, value, None, lengths)
    agree(out, FORMS[after](expected).half())
    agree(lse, FORMS["TND"](expected_lse) if layout == "TND" else expected_lse)


@pytest.mark.parametrize("paged_keys", [False, True])
def test_rope(paged_keys: bool) -> None:  # noqa: FBT001
    """The part of query and key that carries the position comes separately and adds to scores."""
    query, key, value = (normal(BATCH, HEADS, 32, WIDTH, seed=i) for i in range(3))
    query_rope, key_rope = (normal(BATCH, HEADS, 32, 16, seed=i) for i in (3, 4))
    table = torch.arange(2 * BATCH).view(BATCH, 2)
    in_cache = partial(paged, table=table, form="joined") if paged_keys else FORMS["BSH"]
    out, _ = fused(
        FORMS["BSH"](query),
        in_cache(key),
        in_cache(value),
        query_rope=FORMS["BSH"](query_rope),
        key_rope=in_cache(key_rope),
        block_table=table.int() if paged_keys else None,
        block_size=PAGE if paged_keys else 0,
        num_heads=HEADS,
        actual_seq_lengths_kv=[30],
    )
    expected, _ = attend_all(
        torch.cat((query, query_rope), 3), torch.cat((key, key_rope), 3), value, None, [30] * BATCH
    )
    agree(out, FORMS["BSH"](expected).half())


def test_position_term() -> None:
    """It is added after the scale."""
    query = normal(BATCH, HEADS, QUERIES, WIDTH)
    key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in (1, 2))
    term = normal(1, HEADS, QUERIES, KEYS, seed=3)
    out, _ = fused(query, key, value, num_heads=HEADS, input_layout="BNSD", pse_shift=term)
    expected = [attend(query[i], key[i], value[i], term=term[0].double())[0] for i in range(BATCH)]
    agree(out, torch.stack(expected).half())


def test_shared_prefix() -> None:
    query = normal(BATCH, HEADS, QUERIES, WIDTH)
    key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in (1, 2))
    key_prefix, value_prefix = (normal(1, HEADS, 5, WIDTH, seed=i) for i in (3, 4))
    out, _ = fused(
        query,
        key,
        value,
        key_shared_prefix=key_prefix,
        value_shared_prefix=value_prefix,
        actual_shared_prefix_len=[3],
        num_heads=HEADS,
        input_layout="BNSD",
    )
    keys, values = (
        torch.cat((prefix[:, :, :3].expand(BATCH, -1, -1, -1), tensor), 2)
        for prefix, tensor in ((key_prefix, key), (value_prefix, value))
    )
    agree(out, attend_all(query, keys, values)[0].half())


def test_padding_before_the_sequence() -> None:
    query = normal(1, HEADS, QUERIES, WIDTH)
    key, value = (normal(1, HEADS, KEYS, WIDTH, seed=i) for i in (1, 2))
    out, lse = fused(
        query,
        key,
        value,
        query_padding_size=torch.tensor([1]),
        kv_padding_size=torch.tensor([2]),
        actual_seq_lengths=[4],
        actual_seq_lengths_kv=[5],
        num_heads=HEADS,
        input_layout="BNSD",
    )
    expected, expected_lse = attend(query[0, :, 1:5], key[0, :, 1:6], value[0, :, 1:6])
    agree(out, functional.pad(expected, (0, 0, 1, 1)).half().unsqueeze(0))
    agree(lse, functional.pad(expected_lse, (0, 0, 1, 1), value=math.inf).unsqueeze(0))


def test_without_keys() -> None:
    query, empty = normal(BATCH, HEADS, QUERIES, WIDTH), normal(BATCH, HEADS, 0, WIDTH)
    out, lse = fused(query, empty, empty, num_heads=HEADS, input_layout="BNSD")
    agree(out, torch.zeros_like(query))
    agree(lse, torch.full((BATCH, HEADS, QUERIES, 1), math.inf))


def test_without_log_sum_exp() -> None:
    query, key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in range(3))
    out, lse = fused(
        query, key, value, num_heads=HEADS, input_layout="BNSD", softmax_lse_flag=False
    )
    agree(out, attend_all(query, key, value)[0].half())
    assert lse.numel() <= 1


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_second_version_with_sink(dtype: torch.dtype) -> None:
    """The names of npu_fused_infer_attention_score_v2, and its extra score per head."""
    query, key, value = (normal(2, HEADS, KEYS, WIDTH, dtype=dtype, seed=i) for i in range(3))
    sink = normal(HEADS, dtype=torch.bfloat16, seed=4)
    out, lse = torch_npu.npu_fused_infer_attention_score_v2(
        *(to_npu(FORMS["TND"](tensor)) for tensor in (query, key, value)),
        num_query_heads=HEADS,
        input_layout="TND",
        softmax_scale=SCALE,
        actual_seq_qlen=[KEYS, 2 * KEYS],
        actual_seq_kvlen=[KEYS, 2 * KEYS],
        atten_mask=CAUSAL.to("npu"),
        sparse_mode=3,
        learnable_sink=to_npu(sink),
    )
    hidden = hidden_keys(3, KEYS, KEYS)
    expected = [attend(query[i], key[i], value[i], hidden, sink=sink)[0] for i in range(2)]
    agree(out, FORMS["TND"](torch.stack(expected)).to(dtype))
    assert lse.numel() <= 1


@pytest.mark.parametrize("version", [1, 2])
def test_out_with_workspace(version: int) -> None:
    """As captured graphs call it: the workspace is asked for first, the results are given."""
    suffix, lengths = ("", "actual_seq_lengths_kv") if version == 1 else ("_v2", "actual_seq_kvlen")
    heads, scale = ("num_heads", "scale") if version == 1 else ("num_query_heads", "softmax_scale")
    query, key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in range(3))
    tensors = [to_npu(tensor) for tensor in (query, key, value)]
    options = {heads: HEADS, scale: SCALE, "input_layout": "BNSD", lengths: [3, 4, 5]}
    name = f"npu_fused_infer_attention_score{suffix}"
    workspace = getattr(torch_npu, f"_{name}_get_max_workspace")(*tensors, **options)
    out, lse = torch.empty_like(tensors[0]), torch.empty(1, device="npu")
    getattr(torch_npu, name).out(*tensors, **options, workspace=workspace, out=[out, lse])
    agree(out, attend_all(query, key, value, None, [3, 4, 5])[0].half())


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_a_tensor_of_keys_for_each_sequence(version: int) -> None:
    """C programs can pass the keys of each sequence in a tensor of its own, in every version."""
    lengths = [8, 3, 5]
    query, key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in range(3))
    lists = [
        [to_npu(tensor[i : i + 1, :, :length]) for i, length in enumerate(lengths)]
        for tensor in (key, value)
    ]
    out, lse = torch.empty_like(query, device="npu"), torch.empty(0, device="npu")
    big = 2**31 - 1
    call(
        f"aclnnFusedInferAttentionScoreV{version}",
        *(to_npu(query), *lists, None, None, None, None, *[None] * 16, None),
        *[None] * {2: 0, 3: 3, 4: 5, 5: 7}[version],
        *(HEADS, SCALE, big, big, "BNSD", 0, 0, 0, 0, 0, False, 0, 0),
        *[0] * {2: 0, 3: 0, 4: 1, 5: 2}[version],
        *(out, lse),
    )
    agree(out, attend_all(query, key, value, None, lengths)[0].half())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("causal", "masked"), [(False, False), (True, False), (False, True)])
def test_scaled_dot_product_attention(
    dtype: torch.dtype,
    causal: bool,  # noqa: FBT001
    masked: bool,  # noqa: FBT001
) -> None:
    """torch_npu takes this operator for it when nothing wants a gradient."""
    mask = some((KEYS, KEYS), torch.bool) | torch.eye(KEYS, dtype=torch.bool) if masked else None
    q, k, v = (normal(BATCH, HEADS, KEYS, WIDTH, dtype=dtype, seed=i) for i in range(3))
    attention = functional.scaled_dot_product_attention
    expected = attention(q.double(), k.double(), v.double(), mask, is_causal=causal).to(dtype)
    on_npu = mask if mask is None else mask.to("npu")
    with torch.no_grad():
        agree(attention(to_npu(q), to_npu(k), to_npu(v), on_npu, is_causal=causal), expected)
