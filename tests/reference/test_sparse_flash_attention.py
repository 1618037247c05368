"""The reference of sparse attention: small cases by hand, and what holds for every batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.reference.comparison import differing_attention
from opwright.reference.errors import ReferenceArgumentError
from opwright.reference.sparse_flash_attention import (
    dequantized,
    kv_quant_sparse_flash_attention,
    sparse_flash_attention,
)
from tests.reference.problems import Batch, batches, lengths, parts

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.torch
LATENT, ROPE = 512, 64


def lone(
    indices: list[int],
    *,
    block: int = 1,
    mode: int = 0,
    sinks: list[float] | None = None,
    queries: int = 1,
) -> tuple[list[float], list[float], list[float]]:
    """One head, four keys that score log 1, log 2, log 3, log 4; key j has value j + 1 at place j.

    Returns the weights of the keys in the last query's result, its maximum and sum.
    """
    query = torch.zeros(1, queries, 1, LATENT, dtype=torch.float16)
    query[..., 5] = 1
    key = torch.zeros(1, 4, 1, LATENT, dtype=torch.float16)
    key[0, :, 0, 5] = torch.tensor([math.log(j) for j in (1, 2, 3, 4)])
    key[0, range(4), 0, range(4)] = 1.0
    out, highest, total = sparse_flash_attention(
        query,
        key,
        key,
        torch.tensor(indices, dtype=torch.int32).expand(1, queries, 1, -1),
        1.0,
        sparse_block_size=block,
        sparse_mode=mode,
        attention_mode=2,
        return_softmax_lse=True,
        sinks=None if sinks is None else torch.tensor(sinks),
    )
    assert highest.shape == total.shape == (1, 1, queries, 1)
    return (
        [round(x, 3) for x in out[0, -1, 0, :4].tolist()],
        [round(math.exp(x), 2) for x in highest[0, 0, :, 0].tolist()],
        [round(x, 2) for x in total[0, 0, :, 0].tolist()],
    )


def test_weights_by_hand() -> None:
    assert lone([0, 1, 2, 3]) == ([0.1, 0.2, 0.3, 0.4], [4.0], [2.5])
    assert lone([3, 0]) == ([0.2, 0, 0, 0.8], [4.0], [1.25])


def test_the_first_minus_one_ends_a_row() -> None:
    assert lone([3, 0, -1, 2]) == ([0.2, 0, 0, 0.8], [4.0], [1.25])


def test_a_key_that_is_named_twice_counts_twice() -> None:
    assert lone([0, 0, 1]) == ([0.5, 0.5, 0, 0], [2.0], [2.0])


def test_blocks() -> None:
    assert lone([1], block=2) == ([0, 0, 0.428, 0.571], [4.0], [1.75])  # of float16
    assert lone([9, 1], block=2) == lone([1], block=2)  # one that begins behind the end
    assert lone([1, 0], block=4)[0] == [0.0] * 4  # four keys are one block: one index is read


def test_what_a_query_does_not_see_is_skipped() -> None:
    """Of two queries, the first sees three keys; only so many indices are read."""
    result, highest, total = lone([3, 0, 1, 2], mode=3, queries=2)
    assert result == [0.1, 0.2, 0.3, 0.4]
    assert highest == [2.0, 4.0]  # key 3 is skipped, key 2 is the fourth index
    assert total == [1.5, 2.5]


def test_sinks() -> None:
    """A sink takes a share of the weight."""
    assert lone([0, 1], sinks=[math.log(5)]) == ([0.125, 0.25, 0, 0], [5.0], [1.6])


@pytest.mark.parametrize("sink", [math.inf, -math.inf])
def test_nothing_selected_with_an_infinite_sink(sink: float) -> None:
    assert lone([-1], sinks=[sink]) == ([0.0] * 4, [math.exp(sink)], [1.0])


def test_nothing_selected() -> None:
    nothing = [0.0] * 4
    assert lone([-1, 0]) == (nothing, [1.0], [0.0])  # the maximum is 0
    assert lone([-1, 0], sinks=[math.log(5)]) == (nothing, [5.0], [1.0])


def drawn(batch: Batch, heads: int = 4) -> list[torch.Tensor]:
    rows, tokens = sum(batch.queries), sum(batch.keys)
    return [
        batch.normal(rows, heads, LATENT, salt=1, dtype=torch.bfloat16),
        batch.normal(tokens, 1, LATENT, salt=2, dtype=torch.bfloat16),
        batch.normal(rows, heads, ROPE, salt=3, dtype=torch.bfloat16),
        batch.normal(tokens, 1, ROPE, salt=4, dtype=torch.bfloat16),
    ]


@settings(deadline=None, max_examples=30)
@given(batches(), st.sampled_from([0, 3]), st.sampled_from([1, 4]), st.booleans())
def test_layouts_agree(batch: Batch, mode: int, block: int, sunk: bool) -> None:  # noqa: FBT001
    query, key, query_rope, key_rope = drawn(batch)
    rows = len(query)
    indices = torch.randint(-1, 12, (rows, 1, 6), generator=batch.generator(7)).int()
    sinks = batch.normal(4, salt=8, dtype=torch.float32) if sunk else None

    def run(tensors: list[torch.Tensor], layouts: str, **where: torch.Tensor) -> list[torch.Tensor]:
        query, key, indices, query_rope, key_rope = tensors
        layout_query, layout_kv = layouts.split("/")
        return [
            *sparse_flash_attention(
                query,
                key,
                None,
                indices,
                0.05,
                query_rope=query_rope,
                key_rope=key_rope,
                sparse_block_size=block,
                layout_query=layout_query,
                layout_kv=layout_kv,
                sparse_mode=mode,
                attention_mode=2,
                return_softmax_lse=True,
                sinks=sinks,
                **where,  # type: ignore[arg-type]
            )
        ]

    packed = run(
        [query, key, indices, query_rope, key_rope],
        "TND/TND",
        actual_seq_lengths_query=batch.query_ends,
        actual_seq_lengths_kv=batch.key_ends,
    )
    pages, table = batch.paged(torch.cat((key, key_rope), -1))
    paged = run(
        [query, pages[..., :LATENT], indices, query_rope, pages[..., LATENT:]],
        "TND/PA_BSND",
        actual_seq_lengths_query=batch.query_ends,
        actual_seq_lengths_kv=lengths(*batch.keys),
        block_table=table,
    )
    assert all(map(torch.equal, paged, packed))
    assert packed[1].shape == (1, rows, 4)
    queries = [batch.padded(x, batch.queries) for x in (query, indices, query_rope)]
    keys = [batch.padded(x, batch.keys) for x in (key, key_rope)]
    padded = run(
        [queries[0], keys[0], queries[1], queries[2], keys[1]],
        "BSND/BSND",
        actual_seq_lengths_query=lengths(*batch.queries),
        actual_seq_lengths_kv=lengths(*batch.keys),
    )
    for result, other, axis in zip(padded, packed, (0, 1, 1), strict=True):
        pieces = parts(other, batch.queries, axis)
        for row, part, count in zip(result, pieces, batch.queries, strict=True):
            assert torch.equal(row.narrow(axis, 0, count), part.reshape(part.shape))
            assert not row.narrow(axis, count, row.shape[axis] - count).any()


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 3), st.integers(3, 30), st.sampled_from([0, 3]), st.integers(0, 1000))
def test_all_tokens_are_dense_attention(queries: int, keys: int, mode: int, seed: int) -> None:
    """In any order of the indices, and in one block or many."""
    batch = Batch(queries=(queries,), keys=(keys,), seed=seed)
    query, key, query_rope, key_rope = (x[None].float() for x in drawn(batch))
    order = torch.randperm(keys, generator=batch.generator(9)).int()
    # Only as many indices are read as there are keys to see: a causal row names what it sees.
    rows = [order[order <= keys - queries + i] for i in range(queries)]
    indices = torch.full((1, queries, 1, keys), -1, dtype=torch.int32)
    for i, row in enumerate(rows):
        chosen = order if mode == 0 else row
        indices[0, i, 0, : len(chosen)] = chosen
    mask = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries if mode else keys)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        torch.cat((query, query_rope), -1).transpose(1, 2).double(),
        torch.cat((key, key_rope), -1).transpose(1, 2).double(),
        key.transpose(1, 2).double(),
        attn_mask=mask,
        scale=0.04,
        enable_gqa=True,
    ).transpose(1, 2)
    ropes: dict[str, Any] = {"query_rope": query_rope, "key_rope": key_rope}
    got, _, _ = sparse_flash_attention(
        query, key, key, indices, 0.04, sparse_mode=mode, attention_mode=2, **ropes
    )
    torch.testing.assert_close(got.double(), wanted, rtol=1e-4, atol=1e-5)
    if mode == 0:
        blocks = torch.arange(-(-keys // 8)).int().expand(1, queries, 1, -1)
        got, _, _ = sparse_flash_attention(
            query,
            key,
            key,
            blocks,
            0.04,
            sparse_mode=0,
            attention_mode=2,
            sparse_block_size=8,
            **ropes,
        )
        torch.testing.assert_close(got.double(), wanted, rtol=1e-4, atol=1e-5)


def cache(batch: Batch, tokens: int, dtype: torch.dtype) -> torch.Tensor:
    """A quantised cache [1, tokens, 1, 656]."""
    data = torch.randint(-120, 121, (tokens, LATENT), generator=batch.generator(1)).to(dtype)
    rope = batch.normal(tokens, ROPE, salt=2, dtype=torch.bfloat16)
    scales = torch.rand(tokens, 4, generator=batch.generator(3)) * 0.01
    parts = [x.contiguous().view(torch.int8) for x in (data, rope, scales)]
    return torch.cat(parts, 1).view(dtype).view(1, tokens, 1, 656)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn])
def test_a_quantised_cache(dtype: torch.dtype) -> None:
    """Tile t of a token has scale t, values are rounded; attention is that of the dequantised."""
    batch = Batch(queries=(2,), keys=(9,), seed=3)
    keys = cache(batch, 9, dtype)
    raw = keys.view(torch.int8)[0, :, 0].contiguous()
    latent, rope = dequantized(keys, torch.bfloat16)
    scales = raw[:, 640:].contiguous().view(torch.float32)
    for tile in range(4):
        part = raw[:, tile * 128 : (tile + 1) * 128].contiguous().view(dtype).float()
        wanted = (part * scales[:, tile : tile + 1]).bfloat16()
        assert torch.equal(latent[0, :, 0, tile * 128 : (tile + 1) * 128], wanted)
    assert torch.equal(rope[0, :, 0], batch.normal(9, ROPE, salt=2, dtype=torch.bfloat16))
    query = batch.normal(1, 2, 4, LATENT + ROPE, salt=5, dtype=torch.bfloat16)
    indices = torch.arange(9).int().expand(1, 2, 1, 9)
    got = kv_quant_sparse_flash_attention(query, keys, keys, indices, 0.05, 2, 2, attention_mode=2)
    wanted, _, _ = sparse_flash_attention(
        query[..., :LATENT],
        latent,
        latent,
        indices,
        0.05,
        attention_mode=2,
        query_rope=query[..., LATENT:],
        key_rope=rope,
    )
    assert got.shape == (1, 2, 4, LATENT)
    assert torch.equal(got, wanted)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda x: x, None),
        (lambda x: x * 1.003, None),
        (lambda x: x * 1.02, "0.00% of the elements are within the tolerance"),
        (lambda x: x.float(), "torch.float32[1000] for torch.float16[1000]"),
        (lambda x: x[1:], "torch.float16[999] for torch.float16[1000]"),
    ],
)
def test_comparison_of_results(
    change: Callable[[torch.Tensor], torch.Tensor], difference: str | None
) -> None:
    wanted = torch.linspace(1, 2, 1000).half()
    found = differing_attention(change(wanted), wanted)
    assert found is None if difference is None else str(found).startswith(difference)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"attention_mode": 0}, "attention_mode"),
        ({"layout_kv": "TND"}, "layout_kv"),
        ({"layout_query": "TND", "layout_kv": "TND"}, "actual_seq_lengths_query"),
        ({"sparse_mode": 4}, "sparse_mode"),
    ],
)
def test_sparse_flash_attention_refuses_wrong_calls(options: dict[str, Any], name: str) -> None:
    query = torch.zeros(1, 1, 1, LATENT)
    indices = torch.zeros(1, 1, 1, 1, dtype=torch.int32)
    with pytest.raises(ReferenceArgumentError, match=f"parameter '{name}'"):
        sparse_flash_attention(
            query,
            query,
            query,
            indices,
            1.0,
            **{"attention_mode": 2, **options},
        )


@pytest.mark.parametrize(
    "name",
    ["key_quant_mode", "value_quant_mode", "quant_scale_repo_mode", "tile_size", "key_dtype"],
)
def test_quantised_refusals(name: str) -> None:
    modes: dict[str, Any] = {"key_quant_mode": 2, "value_quant_mode": 2} | {name: 7}
    keys = cache(Batch(queries=(1,), keys=(1,), seed=0), 1, torch.int8)
    query = torch.zeros(1, 1, 1, 576, dtype=torch.bfloat16)
    indices = torch.zeros(1, 1, 1, 1, dtype=torch.int32)
    with pytest.raises(ReferenceArgumentError, match=f"parameter '{name}'"):
        kv_quant_sparse_flash_attention(
            query,
            keys,
            keys,
            indices,
            1.0,
            attention_mode=2,
            **modes,
        )
