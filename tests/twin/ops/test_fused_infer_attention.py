"""Attention for inference: native/opapi/ops/fused_infer_attention.cpp, against the formula.

The reference attends one sequence at a time, in float64.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, rejects
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Sequence

SCALE = 0.3
BATCH, HEADS, QUERIES, KEYS, WIDTH = 3, 4, 6, 8, 16
HALVES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
LAYOUTS = {  # of the query, and of the result
    name: (name.partition("_")[0], name.rpartition("_")[2])
    for name in [
        "BSH",
        "BSND",
        "BNSD",
        "BNSD_BSND",
        "BSH_BNSD",
        "BSND_BNSD",
        "BSH_NBSD",
        "BSND_NBSD",
        "BNSD_NBSD",
        "TND",
        "NTD",
        "TND_NTD",
        "NTD_TND",
    ]
}
FORMS = {
    "BNSD": lambda heads: heads,
    "BSND": lambda heads: heads.transpose(1, 2),
    "BSH": lambda heads: heads.transpose(1, 2).flatten(2),
    "NBSD": lambda heads: heads.transpose(0, 1),
    "TND": lambda heads: heads.transpose(1, 2).flatten(0, 1),
    "NTD": lambda heads: heads.transpose(0, 1).flatten(1, 2),
}
CAUSAL = torch.ones(2048, 2048, dtype=torch.bool).triu(1)


def normal(*shape: int, dtype: torch.dtype = torch.float16, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def to_npu(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().to("npu")


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    hidden: torch.Tensor | None = None,
    term: torch.Tensor | float = 0.0,
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The result and the log-sum-exp of one sequence, from [N, S, D]; nothing seen gives 0, inf."""
    groups = query.size(0) // key.size(0)
    key, value = (tensor.double().repeat_interleave(groups, 0) for tensor in (key, value))
    scores = query.double() @ key.transpose(1, 2) * SCALE + term
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    if sink is not None:
        extra = sink.double().view(-1, 1, 1).expand(-1, scores.size(1), 1)
        weights = torch.cat((scores, extra), 2).softmax(2)[..., :-1]
    else:
        weights = scores.softmax(2).nan_to_num(0)
    lse = scores.logsumexp(2, keepdim=True)
    return weights @ value, lse.masked_fill(lse == -math.inf, math.inf).float()


def attend_all(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_lengths: Sequence[int] | None = None,
    key_lengths: Sequence[int] | None = None,
    hidden: Sequence[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same for sequences that are padded at their end, [B, N, S, D]."""
    batches = query.size(0)
    query_lengths = query_lengths or [query.size(2)] * batches
    key_lengths = key_lengths or [key.size(2)] * batches
    out = torch.zeros(*query.shape[:3], value.size(3), dtype=torch.float64)
    lse = torch.full((*query.shape[:3], 1), math.inf)
    for i, (queries, keys) in enumerate(zip(query_lengths, key_lengths, strict=True)):
        out[i, :, :queries], lse[i, :, :queries] = attend(
            query[i, :, :queries],
            key[i, :, :keys],
            value[i, :, :keys],
            None if hidden is None else hidden[i],
        )
    return out, lse


def fused(*args: torch.Tensor, **kwargs: object) -> tuple[torch.Tensor, torch.Tensor]:
    """The operator with its log-sum-exp; tensors go to the device."""
    moved = {
        name: to_npu(value) if isinstance(value, torch.Tensor) else value
        for name, value in kwargs.items()
    }
    options: dict[str, object] = {"scale": SCALE, "softmax_lse_flag": True, **moved}
    result: tuple[torch.Tensor, torch.Tensor] = torch_npu.npu_fused_infer_attention_score(
        *(to_npu(tensor) for tensor in args), **options
    )
    torch_npu.npu.synchronize()
    return result


def ends(lengths: Sequence[int]) -> list[int]:
    return torch.tensor(lengths).cumsum(0).tolist()


def pack(heads: torch.Tensor, lengths: Sequence[int], form: str) -> torch.Tensor:
    """Sequences of [B, N, S, D] without their padding, one after the other."""
    packed = torch.cat([heads[i, :, :length] for i, length in enumerate(lengths)], 1)  # [N, T, D]
    return packed if form == "NTD" else packed.transpose(0, 1)


@HALVES
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


PAGE, PAGES = 16, 9


def paged(heads: torch.Tensor, table: torch.Tensor, form: str) -> torch.Tensor:
    """A cache that holds [B, N, S, D] in the pages of the table; the rest is NaN."""
    count = heads.size(2) // PAGE
    cache = torch.full((PAGES, *heads.shape[1:2], PAGE, heads.size(3)), math.nan, dtype=heads.dtype)
    for i in range(heads.size(0)):
        for j in range(count):
            cache[int(table[i, j])] = heads[i, :, j * PAGE : (j + 1) * PAGE]
    if form == "joined":  # [pages, page size, H]
        return cache.transpose(1, 2).flatten(2)
    if form == "blocks":  # [pages, N, D / 16, page size, 16]
        return cache.view(*cache.shape[:3], -1, 16).transpose(2, 3)
    return cache


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


def hidden_keys(mode: int, queries: int, keys: int, pre: int, post: int) -> torch.Tensor:
    q, k = torch.arange(queries)[:, None], torch.arange(keys)
    shift = keys - queries
    return {
        2: k > q,
        3: k > q + shift,
        4: (k > q + shift + post) | (k < q + shift - pre),
    }[mode]


@pytest.mark.parametrize("mode", [2, 3, 4])
@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_compressed_masks(layout: str, mode: int) -> None:
    """The corner that a mask starts from is that of each sequence's own length."""
    query_lengths, key_lengths = [6, 3, 5], [8, 8, 2]
    query, key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in range(3))
    packed = layout == "TND"
    tensors = [query, key, value]
    if packed:
        lengths = (query_lengths, key_lengths, key_lengths)
        tensors = list(map(pack, tensors, lengths, [layout] * 3))
    out, lse = fused(
        *tensors,
        num_heads=HEADS,
        input_layout=layout,
        atten_mask=CAUSAL,
        sparse_mode=mode,
        pre_tokens=2,
        next_tokens=1,
        actual_seq_lengths=ends(query_lengths) if packed else query_lengths,
        actual_seq_lengths_kv=ends(key_lengths) if packed else key_lengths,
    )
    hidden = [
        hidden_keys(mode, queries, keys, 2, 1)
        for queries, keys in zip(query_lengths, key_lengths, strict=True)
    ]
    expected, expected_lse = attend_all(query, key, value, query_lengths, key_lengths, hidden)
    if packed:
        expected, expected_lse = (
            pack(tensor, query_lengths, layout) for tensor in (expected, expected_lse)
        )
    agree(out, expected.half())
    agree(lse, expected_lse)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize(
    "shape",
    [(QUERIES, KEYS), (1, QUERIES, KEYS), (BATCH, 1, QUERIES, KEYS), (1, 1, 16, 32)],
    ids=str,
)
def test_whole_masks(shape: tuple[int, ...], mode: int) -> None:
    """Masks of the scores, also filled up; mode 0 adds the band, mode 1 does not."""
    query = normal(BATCH, HEADS, QUERIES, WIDTH)
    key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in (1, 2))
    mask = some(shape, torch.bool)
    out, _ = fused(
        query,
        key,
        value,
        num_heads=HEADS,
        input_layout="BNSD",
        atten_mask=mask,
        sparse_mode=mode,
        pre_tokens=3,
        next_tokens=2,
    )
    distance = torch.arange(KEYS) - torch.arange(QUERIES)[:, None]
    band = (distance > 2) | (distance < -3)
    hidden = mask[..., :QUERIES, :KEYS].reshape(-1, QUERIES, KEYS).expand(BATCH, -1, -1)
    expected, _ = attend_all(query, key, value, hidden=list(hidden | band if mode == 0 else hidden))
    agree(out, expected.half())


@pytest.mark.parametrize("mode", [0, 3, 4])
def test_single_queries_ignore_the_mode(mode: int) -> None:
    """One query per sequence: the mask counts, [B, keys] too; lengths of queries do not."""
    query = normal(BATCH, HEADS, 1, WIDTH)
    key, value = (normal(BATCH, HEADS, KEYS, WIDTH, seed=i) for i in (1, 2))
    mask = some((BATCH, KEYS), torch.bool)
    out, _ = fused(
        query,
        key,
        value,
        num_heads=HEADS,
        input_layout="BNSD",
        atten_mask=mask,
        sparse_mode=mode,
        pre_tokens=0,
        next_tokens=0,
        actual_seq_lengths=[0],
    )
    agree(out, attend_all(query, key, value, hidden=list(mask.unsqueeze(1)))[0].half())


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


@HALVES
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
    hidden = hidden_keys(3, KEYS, KEYS, 0, 0)
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
    """What C programs can do: keys of each sequence in a tensor of its own, in every version."""
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


@HALVES
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
    "too small for 8 queries and 8 keys": {"atten_mask": torch.ones(4, KEYS, dtype=torch.bool)},
}


@pytest.mark.parametrize(("why", "options"), REFUSED.items(), ids=REFUSED.keys())
def test_refusals(why: str, options: dict[str, object]) -> None:
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
