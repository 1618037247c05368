"""npu_lightning_indexer against its reference: layouts, lengths, counts, ties, views."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.reference.lightning_indexer import lightning_indexer
from tests.reference.problems import Batch, batches, lengths
from tests.twin.ops.attention.indexer_problems import (
    LAYOUTS,
    LONG,
    RAGGED,
    SIZE,
    Call,
    apart,
    check_all,
    check_indexer,
    indexer_call,
    on_device,
    quant_call,
)
from tests.twin.ops.compare import HALVES

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_layouts(layouts: tuple[str, str], mode: int, dtype: torch.dtype) -> None:
    """Ragged and empty sequences, pages out of order; rows of no sequence are -1."""
    call = indexer_call(RAGGED, layouts, dtype=dtype, sparse_mode=mode, sparse_count=40)
    check_indexer(call.changed(return_value=layouts[1] != "PA_BSND"))


@pytest.mark.parametrize("heads", [1, 5, 8, 16, 17, 24, 32, 33, 48, 64])
def test_heads(heads: int) -> None:
    for dtype in HALVES:
        check_indexer(indexer_call(RAGGED, heads=heads, dtype=dtype, sparse_count=16))


@pytest.mark.parametrize("dtype", HALVES)
def test_float_weights(dtype: torch.dtype) -> None:
    call = indexer_call(RAGGED, dtype=dtype, weights=torch.float32, sparse_count=99)
    check_indexer(call.changed(return_value=True))


@pytest.mark.parametrize("count", [1, 2, 239, 240, 241, 2047, 2048, *range(3072, 8193, 1024)])
def test_counts(count: int) -> None:
    """Fewer than a block, than a selection holds, than there are keys; and more."""
    check_indexer(indexer_call(LONG, heads=3, sparse_count=count, return_value=True))


def test_without_lengths() -> None:
    """BSND: all tokens of all sequences."""
    query, key = torch.randn(2, 3, 8, SIZE).half(), torch.randn(2, 300, 1, SIZE).half()
    check_indexer(Call((query, key, torch.randn(2, 3, 8).half()), {"sparse_count": 64}))


@settings(max_examples=25, deadline=None)
@given(
    batch=batches().filter(lambda batch: sum(batch.queries) > 0 and sum(batch.keys) > 0),
    layouts=st.sampled_from(LAYOUTS),
    mode=st.sampled_from([0, 3]),
    count=st.integers(1, 50),
)
def test_any_batch(batch: Batch, layouts: tuple[str, str], mode: int, count: int) -> None:
    check_indexer(indexer_call(batch, layouts, sparse_mode=mode, sparse_count=count))


def whole_numbers(batch: Batch, layouts: tuple[str, str], heads: int = 4) -> Call:
    """Few different scores, all exact: ties decide."""
    call = indexer_call(batch, layouts, heads=heads)
    query, key, weights = call.tensors
    return Call((query * 0 + 1, (key > 0.5).to(key.dtype), weights.round()), call.options)


@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_ties(layouts: tuple[str, str]) -> None:
    """The lower index is selected, across blocks and what threads share; the order is exact."""
    for batch in (RAGGED, LONG):
        call = whole_numbers(batch, layouts).changed(sparse_count=100)
        indices, _ = on_device(call)
        assert torch.equal(indices.cpu(), lightning_indexer(*call.tensors, **call.options)[0])


@pytest.mark.parametrize("sign", [1, -1])
def test_all_scores_are_zero(sign: int) -> None:
    """No product is above zero; with negative weights the zero is negative."""
    query, key = torch.ones(1, 1, 8, SIZE).half(), -torch.ones(1, 5000, 1, SIZE).half()
    call = Call(
        (query, key, sign * torch.ones(1, 1, 8).half()),
        {"sparse_count": 3072, "return_value": True},
    )
    indices, values = on_device(call)
    assert torch.equal(indices.cpu().flatten(), torch.arange(3072, dtype=torch.int32))
    assert not values.cpu().any()


@pytest.mark.parametrize("dtype", HALVES)
def test_rising_and_falling_scores(dtype: torch.dtype) -> None:
    """The best keys come last, or first."""
    keys = torch.zeros(1, 9000, 1, SIZE, dtype=dtype)
    keys[0, :, 0, :8] = (torch.arange(9000)[:, None] >> torch.arange(0, 16, 2) & 3).to(dtype)
    query = torch.zeros(1, 1, 8, SIZE, dtype=dtype)
    for i in range(8):
        query[0, 0, i, i] = 1
    weights = 4.0 ** torch.arange(8).expand(1, 1, 8)
    for sign, expected in ((1, range(8999, 6951, -1)), (-1, range(2048))):
        indices, _ = on_device(Call((query, keys, sign * weights)))
        assert indices.cpu().flatten().tolist() == [*expected]


def test_infinities_and_nan() -> None:
    """No order is promised, but each key is named once."""
    call = indexer_call(LONG, heads=4, sparse_count=2048)
    query, key, weights = call.tensors
    key[::3] = torch.nan
    key[1::7] = torch.inf
    query[1] = torch.nan
    indices, _ = on_device(Call((query, key, weights), call.options))
    for row in indices.cpu()[:, 0]:
        assert len({*row.tolist()}) == 2048
        assert 0 <= int(row.min()) <= int(row.max()) < 9001


@pytest.mark.isolated
@pytest.mark.parametrize("level", ["base", "avx2", "avx512", "avx512_bf16", "amx_bf16"])
def test_nan_and_infinite_scores(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A NaN stays one in each instruction set; heads that fill a vector add none to infinity."""
    monkeypatch.setenv("OPWRIGHT_CPU_ISA", level)  # it is read at the first call
    for dtype, heads in itertools.product(HALVES, (3, 16, 64)):
        query, key = torch.ones(1, 1, heads, SIZE), torch.ones(1, 32, 1, SIZE)
        key[0, 7, 0, 5], key[0, 9, 0, 6] = torch.nan, torch.inf
        tensors = [tensor.to(dtype) for tensor in (query, key, torch.ones(1, 1, heads))]
        indices, values = torch.ops.opwright.lightning_indexer(
            *tensors, sparse_count=32, return_value=True
        )
        assert indices.flatten().tolist()[:3] == [7, 9, 0]
        first, second, *rest = values.flatten().tolist()
        assert math.isnan(first)
        assert second == math.inf
        assert {*rest} == {128.0 * heads}


@pytest.mark.isolated
@pytest.mark.parametrize("level", ["base", "avx2", "avx512", "avx512_bf16", "amx_bf16"])
def test_nan_scores_of_quantised_keys(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CPU_ISA", level)  # it is read at the first call
    query, key = torch.ones(1, 1, 8, SIZE), torch.ones(1, 32, 1, SIZE)
    key[0, 7, 0, 5], key[0, 9, 0, 6] = torch.nan, -torch.nan
    key[0, 11], scales = 448, torch.ones(1, 32, 1)
    weights = torch.ones(1, 1, 8).bfloat16()
    query, key = query.to(torch.float8_e4m3fn), key.to(torch.float8_e4m3fn)
    indices = torch.ops.opwright.quant_lightning_indexer(
        query, key, weights, weights.float(), scales, sparse_count=4
    )
    assert indices.tolist() == [[[[7, 9, 11, 0]]]]


@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_keys_apart(layouts: tuple[str, str]) -> None:
    """Pages, or sequences, do not follow each other in memory."""
    call = indexer_call(RAGGED, layouts, heads=16, sparse_count=64)
    query, key, weights = call.tensors
    check_indexer(Call((query, apart(key), weights), call.options))


@pytest.mark.parametrize("page", [16, 48, 128, 1024])
def test_page_sizes(page: int) -> None:
    """Blocks of keys and pages have other borders; a table may be longer than needed."""
    keys, pages = 2500, -(-2500 // page)
    key = torch.randn(pages + 3, page, 1, SIZE).bfloat16()
    table = torch.full((1, pages + 2), -1, dtype=torch.int32)
    table[0, :pages] = torch.randperm(pages + 3)[:pages].int()
    query, weights = torch.randn(1, 2, 8, SIZE).bfloat16(), torch.randn(1, 2, 8).bfloat16()
    options = {
        "actual_seq_lengths_key": lengths(keys),
        "block_table": table,
        "layout_key": "PA_BSND",
        "sparse_count": 512,
    }
    check_indexer(Call((query, key, weights), options))


def test_leading_zero_of_prefix_sums() -> None:
    """B + 1 sums, as some callers have them, are an empty sequence more."""
    call = indexer_call(RAGGED, sparse_count=32)
    expected, _ = on_device(call)
    zero = torch.zeros(1, dtype=torch.int32)
    names = ("actual_seq_lengths_query", "actual_seq_lengths_key")
    more = {name: torch.cat((zero, call.options[name])) for name in names}
    indices, _ = on_device(call.changed(**more))
    assert torch.equal(indices, expected)


def test_views_that_start_anywhere() -> None:
    """Operands are aligned to their elements only."""
    call = indexer_call(RAGGED, heads=16, sparse_count=32)

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        storage = torch.cat((tensor.new_zeros(1), tensor.flatten()))
        return storage.as_strided(tensor.shape, tensor.stride(), 1)

    check_indexer(Call(tuple(map(moved, call.tensors)), call.options))


@pytest.mark.isolated
@pytest.mark.parametrize("level", ["base", "avx2", "avx512", "avx512_bf16"])
def test_instruction_sets(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels below the best of this machine, which the other tests run."""
    monkeypatch.setenv("OPWRIGHT_CPU_ISA", level)  # it is read at the first call
    check_all()


# Or torch_npu's own thread would count threads.
@pytest.mark.isolated(TASK_QUEUE_ENABLE="0")
def test_results_do_not_depend_on_threads() -> None:
    """Bit by bit, scores included, of both indexers."""
    plain = [
        indexer_call(LONG, heads=17, dtype=dtype, sparse_count=1024, return_value=True)
        for dtype in (torch.bfloat16, torch.float16)
    ]
    quantised = [
        quant_call(LONG, heads=17, dtype=dtype) for dtype in (torch.int8, torch.float8_e4m3fn)
    ]
    results: list[list[torch.Tensor]] = []
    for threads in (1, 2, 4):
        torch.set_num_threads(threads)
        pairs = [on_device(call) for call in plain]
        results.append([*pairs[0], *pairs[1], *(on_device(call) for call in quantised)])
    for result in results[1:]:
        for tensor, first in zip(result, results[0], strict=True):
            assert torch.equal(tensor.cpu(), first.cpu())
