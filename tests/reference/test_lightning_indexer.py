"""The reference of the lightning indexer: small cases by hand, and what holds for every batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.reference.comparison import differing_rows
from opwright.reference.errors import ReferenceArgumentError
from opwright.reference.lightning_indexer import (
    lightning_indexer,
    lightning_indexer_scores,
    quant_lightning_indexer,
    quant_lightning_indexer_scores,
)
from tests.reference.problems import Batch, batches, lengths, parts

pytestmark = pytest.mark.torch
SIZE = 128
Quantized = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def hot(*places: int, size: int = 1) -> torch.Tensor:
    """Rows with `size` at one place each."""
    rows = torch.zeros(len(places), SIZE, dtype=torch.float16)
    rows[range(len(places)), places] = size
    return rows


def by_hand(mode: int, count: int = 4) -> tuple[list[list[int]], list[list[float]]]:
    """Two queries of two heads, four keys: heads look at place 0 and 1, with weights 1 and 2."""
    query = hot(0, 1).expand(1, 2, 2, SIZE)
    key = torch.zeros(1, 4, 1, SIZE, dtype=torch.float16)
    key[0, :, 0, 0] = torch.tensor([1, 2, -8, 3])
    key[0, :, 0, 1] = torch.tensor([1, 0.5, 1, -1])
    weights = torch.tensor([1.0, 2.0]).half().expand(1, 2, 2)
    indices, values = lightning_indexer(
        query, key, weights, sparse_count=count, sparse_mode=mode, return_value=True
    )
    return indices[0, :, 0].tolist(), values[0, :, 0].tolist()


def test_scores_by_hand() -> None:
    """Keys score 1+2, 2+1, 0+2, 3+0: products below zero count nothing, ties are in order."""
    assert by_hand(mode=0) == ([[0, 1, 3, 2]] * 2, [[3, 3, 3, 2]] * 2)


def test_causal_by_hand() -> None:
    """The first of two queries does not see the last key."""
    assert by_hand(mode=3) == ([[0, 1, 2, -1], [0, 1, 3, 2]], [[3, 3, 2, -torch.inf], [3, 3, 3, 2]])
    assert by_hand(mode=3, count=1)[0] == [[0], [0]]


def test_a_score_below_zero_is_selected() -> None:
    """Weights may be negative; padding is not."""
    query, key = hot(0).view(1, 1, 1, SIZE), hot(0, 1, 0, size=2).view(1, 3, 1, SIZE)
    weights = torch.full((1, 1, 1), -1.0)  # float32 goes with float16
    indices, values = lightning_indexer(query, key, weights, sparse_count=5, return_value=True)
    assert indices.flatten().tolist() == [1, 0, 2, -1, -1]
    assert values.flatten().tolist() == [0, -2, -2, -torch.inf, -torch.inf]
    assert values.dtype == torch.float16


def test_more_queries_than_keys() -> None:
    """Aligned to the end: the first queries see nothing."""
    query, key = hot(0).expand(1, 3, 1, SIZE), hot(0, 0).view(1, 2, 1, SIZE)
    indices, values = lightning_indexer(query, key, torch.ones(1, 3, 1).half(), sparse_count=2)
    assert indices[0, :, 0].tolist() == [[-1, -1], [0, -1], [0, 1]]
    assert values.shape == (0,)


def operands(batch: Batch, dtype: torch.dtype = torch.float16) -> tuple[torch.Tensor, ...]:
    rows, tokens = sum(batch.queries), sum(batch.keys)
    return (
        batch.normal(rows, 8, SIZE, salt=1, dtype=dtype),
        batch.normal(tokens, 1, SIZE, salt=2, dtype=dtype),
        batch.normal(rows, 8, salt=3, dtype=dtype),
    )


@settings(deadline=None, max_examples=30)
@given(batches(), st.sampled_from([0, 3]), st.integers(1, 50), st.booleans())
def test_layouts_agree(batch: Batch, mode: int, count: int, coarse: bool) -> None:  # noqa: FBT001
    """With scores that are coarse, there are ties; all results are the same in each layout."""
    query, key, weights = (x.round() if coarse else x for x in operands(batch))
    options: dict[str, Any] = {"sparse_count": count, "sparse_mode": mode}
    packed, _ = lightning_indexer(
        query,
        key,
        weights,
        actual_seq_lengths_query=batch.query_ends,
        actual_seq_lengths_key=batch.key_ends,
        layout_query="TND",
        layout_key="TND",
        **options,
    )
    pages, table = batch.paged(key)
    paged, _ = lightning_indexer(
        query,
        pages,
        weights,
        actual_seq_lengths_query=batch.query_ends,
        actual_seq_lengths_key=lengths(*batch.keys),
        block_table=table,
        layout_query="TND",
        layout_key="PA_BSND",
        **options,
    )
    assert torch.equal(paged, packed)
    rows = batch.padded(query, batch.queries), batch.padded(weights, batch.queries)
    padded, _ = lightning_indexer(
        rows[0],
        batch.padded(key, batch.keys),
        rows[1],
        actual_seq_lengths_query=lengths(*batch.queries),
        actual_seq_lengths_key=lengths(*batch.keys),
        **options,
    )
    for row, part, rest in zip(padded, parts(packed, batch.queries), batch.queries, strict=True):
        assert torch.equal(row[:rest], part)
        assert (row[rest:] == -1).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 3), st.integers(0, 30), st.integers(1, 40), st.integers(0, 1000))
def test_rows(queries: int, keys: int, count: int, seed: int) -> None:
    """A row has different keys, then -1; the last row sees the same in both modes."""
    batch = Batch(queries=(queries,), keys=(keys,), seed=seed)
    query, key, weights = (x[None] for x in operands(batch))
    causal, whole = (
        lightning_indexer(query, key, weights, sparse_count=count, sparse_mode=mode)[0][0, :, 0]
        for mode in (3, 0)
    )
    assert torch.equal(causal[-1], whole[-1])
    for i, row in enumerate(causal.tolist()):
        seen = min(max(keys - queries + i + 1, 0), count)
        assert row[seen:] == [-1] * (count - seen)
        assert len({*row[:seen]}) == seen
        assert all(0 <= j <= keys - queries + i for j in row[:seen])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(2, 30))
def test_what_is_selected_scores_highest(seed: int, keys: int) -> None:
    batch = Batch(queries=(1,), keys=(keys,), seed=seed)
    query, key, weights = (x[None] for x in operands(batch, torch.bfloat16))
    products = torch.einsum("hd,jd->hj", query[0, 0].double(), key[0, :, 0].double()).relu()
    scores = weights[0, 0].double() @ products
    indices, values = lightning_indexer(
        query, key, weights, sparse_count=keys // 2, return_value=True
    )
    chosen = indices.flatten().long()
    torch.testing.assert_close(values.flatten().double(), scores[chosen], rtol=2**-8, atol=1e-3)
    others = scores[[j for j in range(keys) if j not in chosen.tolist()]]
    assert scores[chosen].min() > others.max() - 1e-3


def quantized(
    batch: Batch, dtype: torch.dtype, weights: torch.dtype, scales: torch.dtype
) -> Quantized:
    """Query, key, weights and scales of one sequence."""
    generator = batch.generator()
    queries, keys = batch.queries[0], batch.keys[0]

    def values(*shape: int) -> torch.Tensor:
        return torch.randint(-127, 128, shape, generator=generator).to(dtype)

    def positive(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator) + 0.1

    return (
        values(1, queries, 8, SIZE),
        values(1, keys, 1, SIZE),
        positive(1, queries, 8).to(weights),
        positive(1, queries, 8).to(scales),
        positive(1, keys, 1).to(scales),
    )


@pytest.mark.parametrize(
    ("dtype", "weights", "scales"),
    [
        (torch.int8, torch.float16, torch.float16),
        (torch.float8_e4m3fn, torch.bfloat16, torch.float32),
        (torch.float8_e4m3fn, torch.float16, torch.float16),
    ],
)
def test_quantised_scores(dtype: torch.dtype, weights: torch.dtype, scales: torch.dtype) -> None:
    """They are those of the dequantised, up to rounding (and 1024 for int8)."""
    given = quantized(Batch(queries=(2,), keys=(30,), seed=1), dtype, weights, scales)
    query, key, weight, query_scale, key_scale = (x[0].double() for x in given)
    products = torch.einsum("shd,jkd->shj", query, key).relu()
    wanted = torch.einsum("sh,shj->sj", weight * query_scale, products) * key_scale[:, 0]
    if dtype == torch.int8:
        wanted /= 1024
    got = quant_lightning_indexer_scores(*given, sparse_mode=0)
    torch.testing.assert_close(torch.stack(got).double(), wanted, rtol=1e-2, atol=1e-2)
    indices = quant_lightning_indexer(*given, 0, 0, sparse_count=40, sparse_mode=0)
    assert torch.equal(indices[0, 0, 0, :30], got[0].argsort(descending=True, stable=True).int())
    assert (indices[..., 30:] == -1).all()


def test_float8_scores_are_rounded() -> None:
    """Scores 1 and 1 + 2^-9 are equal in bfloat16: the first key wins."""
    query = hot(0).view(1, 1, 1, SIZE).to(torch.float8_e4m3fn)
    key = hot(0, 0).view(1, 2, 1, SIZE).to(torch.float8_e4m3fn)
    scale = torch.tensor([1, 1 + 2**-9]).view(1, 2, 1)
    ones = torch.ones(1, 1, 1)
    indices = quant_lightning_indexer(
        query, key, ones.bfloat16(), ones, scale, 0, 0, sparse_count=2
    )
    assert indices.flatten().tolist() == [0, 1]
    scale[0, 1] = 1 + 2**-7
    indices = quant_lightning_indexer(
        query, key, ones.bfloat16(), ones, scale, 0, 0, sparse_count=2
    )
    assert indices.flatten().tolist() == [1, 0]


def test_comparison_of_selections() -> None:
    """A key may stand for another whose score is near that of the last."""
    scores = [torch.tensor([3.0, 2.0, 2.0001, 1.0, 4.0])]
    wanted = torch.tensor([[4, 0, 2, -1]])
    for row, same in (
        ([4, 0, 2, -1], True),
        ([0, 2, 4, -1], True),
        ([0, 1, 4, -1], True),
        ([0, 3, 4, -1], False),
        ([0, 9, 4, -1], False),
        ([0, 4, -1, -1], False),
        ([0, 4, -1, 2], False),
        ([0, 4, 4, -1], False),
    ):
        assert (differing_rows(torch.tensor([row]), wanted, scores) == []) == same


def test_a_refusal() -> None:
    query, key = hot(0).view(1, 1, 1, SIZE), hot(0).view(1, 1, 1, SIZE)
    with pytest.raises(ReferenceArgumentError) as caught:
        lightning_indexer(query, key, torch.ones(1, 1, 1), sparse_mode=1)
    assert str(caught.value) == (
        "OPW-R001 the operator does not take this argument\n"
        "  where:   parameter 'sparse_mode'\n"
        "  got:     1\n"
        "  allowed: 0, 3\n"
        "  fix:     compare the arguments with the operator's documentation"
    )


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"layout_query": "SBND"}, "layout_query"),
        ({"layout_key": "TND"}, "layout_key"),
        ({"layout_key": "PA_BSND"}, "block_table"),
        ({"block_table": lengths(0).view(1, 1)}, "block_table"),
        ({"pre_tokens": 7}, "pre_tokens"),
        ({"next_tokens": 7}, "next_tokens"),
        ({"actual_seq_lengths_key": lengths(1, 1)}, "actual_seq_lengths_key"),
    ],
)
def test_lightning_indexer_refuses_wrong_calls(options: dict[str, Any], name: str) -> None:
    query, key = hot(0).view(1, 1, 1, SIZE), hot(0).view(1, 1, 1, SIZE)
    with pytest.raises(ReferenceArgumentError, match=f"parameter '{name}'"):
        lightning_indexer_scores(query, key, torch.ones(1, 1, 1), **options)
