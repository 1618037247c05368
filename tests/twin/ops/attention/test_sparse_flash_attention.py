"""npu_sparse_flash_attention on the twin beside the reference, by the vendor's rule."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch_npu
from torch.profiler import ProfilerActivity, profile

from opwright.reference.sparse_flash_attention import sparse_flash_attention
from tests.twin.aclnn_calls import call
from tests.twin.ops.attention.sparse_cases import (
    LAYOUTS,
    SCALE,
    Case,
    compare,
    of_all_kinds,
    operands,
)
from tests.twin.ops.compare import HALVES


@pytest.mark.parametrize(("layout", "layout_kv"), LAYOUTS)
@pytest.mark.parametrize("dtype", HALVES)
def test_layouts(layout: str, layout_kv: str, dtype: torch.dtype) -> None:
    """Ragged batches, pages out of order and apart, duplicates, blocks that are not seen, -1."""
    for mode in (0, 3):
        case = Case(layout=layout, layout_kv=layout_kv, dtype=dtype, mode=mode)
        compare(case, seed=mode)


@pytest.mark.parametrize(("layout", "layout_kv"), LAYOUTS)
@pytest.mark.parametrize("dtype", HALVES)
def test_sinks(layout: str, layout_kv: str, dtype: torch.dtype) -> None:
    for mode in (0, 3):
        case = Case(layout=layout, layout_kv=layout_kv, dtype=dtype, mode=mode, sinks=True)
        compare(case, seed=mode)


@pytest.mark.parametrize("block", [2, 4, 16, 32])
@pytest.mark.parametrize("layout_kv", ["BSND", "PA_BSND"])
def test_blocks_of_tokens(block: int, layout_kv: str) -> None:
    """The last block is cut by the sequence's length or by what a query sees."""
    for mode in (0, 3):
        compare(Case(block=block, layout_kv=layout_kv, mode=mode, keys=(70, 37, 9), selected=5))


LARGE_BLOCKS = Case(queries=(2, 1), keys=(5000, 4200), heads=2, block=128, selected=40)


def test_large_blocks() -> None:
    """128 tokens: more than a tile in each, and more of a row than scores are kept of."""
    compare(replace(LARGE_BLOCKS, mode=0))
    compare(replace(LARGE_BLOCKS, dtype=torch.float16))


def test_sinks_of_large_blocks() -> None:
    compare(replace(LARGE_BLOCKS, dtype=torch.float16, sinks=True))


@pytest.mark.parametrize("heads", [1, 2, 4, 8, 16, 32, 64, 128])
def test_heads(heads: int) -> None:
    for dtype in HALVES:
        compare(Case(heads=heads, dtype=dtype, queries=(2,), keys=(300,), selected=256))


@pytest.fixture(
    params=[
        pytest.param(
            level, marks=pytest.mark.isolated(OPWRIGHT_SOC="Ascend950", OPWRIGHT_CPU_ISA=level)
        )
        for level in ("amx_bf16", "avx512_bf16", "avx512", "avx2", "base")
    ]
)
def ascend950() -> None:
    """Run on this chip, with each instruction set."""


@pytest.mark.usefixtures("ascend950")
def test_heads_of_ascend950() -> None:
    """Any number up to 128, not only powers of two."""
    for heads, dtype in itertools.product((1, 7, 33, 48, 100, 128), HALVES):
        compare(Case(heads=heads, dtype=dtype, queries=(2,), keys=(300,), selected=256))


def test_without_rope_and_with_own_values() -> None:
    for dtype, rope in itertools.product(HALVES, (False, True)):
        compare(Case(dtype=dtype, rope=rope, own_values=True))


def test_empty_sequences() -> None:
    """Sequences without queries, without keys, or with fewer keys than queries."""
    for layout, layout_kv in LAYOUTS:
        case = Case(queries=(2, 0, 4, 1), keys=(40, 5, 2, 0))
        compare(replace(case, layout=layout, layout_kv=layout_kv))


def test_sinks_of_empty_sequences() -> None:
    for layout, layout_kv in LAYOUTS:
        case = Case(queries=(2, 0, 4, 1), keys=(40, 5, 2, 0), sinks=True)
        compare(replace(case, layout=layout, layout_kv=layout_kv))


def test_rows_that_are_not_written_are_zero() -> None:
    """Beyond a sequence's queries, without keys, and where nothing is selected."""
    tensors, named = operands(Case(queries=(3, 1, 3), keys=(40, 5, 1)))
    tensors[3][0, 1] = -1
    for _ in range(2):
        out, highest, total = torch_npu.npu_sparse_flash_attention(
            *tensors, SCALE, **named, return_softmax_lse=True
        )
        for batch, row in ((0, 1), (1, 1), (1, 2), (2, 0), (2, 1)):
            assert not out[batch, row].any()
            assert not highest[batch, 0, row].any()
            assert not total[batch, 0, row].any()
        assert out[0, 0].any()
        out.fill_(7)  # its memory is the next call's


def test_sinks_with_nothing_selected() -> None:
    tensors, named = operands(Case(sinks=True))
    tensors[3].fill_(-1)
    out, highest, total = torch_npu.npu_sparse_flash_attention(
        *tensors, SCALE, **named, return_softmax_lse=True
    )
    assert not out.any()
    assert torch.equal(highest[0, 0, 0].cpu(), named["sinks"].cpu())
    assert torch.equal(total[0, 0, 0].cpu(), torch.ones(16))


def test_duplicates_count_twice() -> None:
    """Keys are equal: of ids 1, 0, 1, 1 the values have three quarters and one quarter."""
    key = torch.zeros(1, 2, 1, 512, dtype=torch.float16)
    query = torch.zeros(1, 1, 1, 512, dtype=torch.float16)
    value = torch.stack((torch.zeros(512), torch.ones(512))).view(1, 2, 1, 512).half()
    indices = torch.tensor([1, 0, 1, 1], dtype=torch.int32).view(1, 1, 1, 4)
    out, _, total = torch_npu.npu_sparse_flash_attention(
        *(x.to("npu") for x in (query, key, value, indices)),
        1.0,
        attention_mode=2,
        sparse_mode=0,
        return_softmax_lse=True,
    )
    # Two keys are visible: of the ids the first two count.
    assert total.item() == 2
    assert (out == 0.5).all()
    keys = torch.cat((key, key, key), 1).to("npu")
    values = torch.cat((value, value, value), 1).to("npu")
    out, _, total = torch_npu.npu_sparse_flash_attention(
        query.to("npu"),
        keys,
        values,
        indices.to("npu"),
        1.0,
        attention_mode=2,
        sparse_mode=0,
        return_softmax_lse=True,
    )
    assert total.item() == 4
    assert (out == 0.75).all()


def test_statistics_of_packed_queries_over_pages() -> None:
    """torch_npu gives them a wrong shape: it takes the page for the number of key heads."""
    case = Case(layout="TND", layout_kv="PA_BSND", heads=64, queries=(3,), keys=(70,))
    tensors, named = operands(case)
    out, *statistics = torch_npu.npu_sparse_flash_attention(
        *tensors, SCALE, **named, return_softmax_lse=True
    )
    given = [torch.empty(1, 3, 64).to("npu") for _ in range(2)]
    again = torch.empty_like(out)
    optional = ("block_table", "actual_seq_lengths_query", "actual_seq_lengths_kv")
    ropes = (named["query_rope"], named["key_rope"])
    unlimited = (2**63 - 1,) * 2
    attributes = (SCALE, 1, "TND", "PA_BSND", 3, *unlimited, 2, True)
    tables = (named[name] for name in optional)
    call("aclnnSparseFlashAttention", *tensors, *tables, *ropes, *attributes, again, *given)
    assert torch.equal(again.cpu(), out.cpu())
    for got, right in zip(statistics, given, strict=True):
        assert torch.equal(got.flatten().cpu(), right.flatten().cpu())
        assert right.any()


def compare_special(query: torch.Tensor, key: torch.Tensor, sink: float | None = None) -> None:
    """Compare what is NaN, and the rest, with all keys selected, on the CPU."""
    indices = torch.arange(key.shape[1], dtype=torch.int32).view(1, 1, 1, -1)
    sinks = None if sink is None else torch.full((query.shape[2],), sink)
    for dtype in HALVES:
        tensors = (query.to(dtype), key.to(dtype), key.to(dtype), indices, 1.0)
        options: dict[str, Any] = {
            "sparse_mode": 0,
            "return_softmax_lse": True,
            "sinks": sinks,
        }
        actual = torch.ops.opwright.sparse_flash_attention(*tensors, **options)
        expected = sparse_flash_attention(*tensors, **options, attention_mode=2)
        for got, wanted in zip(actual, expected, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-2, atol=1e-3, equal_nan=True)


def compare_scores_that_are_not_finite(sink: float | None) -> None:
    """Compare -inf in whole tiles or everywhere, inf and NaN, in any tile."""
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(1, 1, 2, 512, generator=generator) * 0.1
    query[..., 0] = 1
    key = torch.randn(1, 200, 1, 512, generator=generator)
    for value in (-math.inf, math.inf, math.nan):
        for special in (slice(130), slice(130, 200), slice(200), slice(3, 4), slice(199, 200)):
            changed = key.clone()
            changed[0, special, 0, 0] = value
            compare_special(query, changed, sink)


@pytest.mark.parametrize("sink", [None, 0.5, -math.inf, math.inf, math.nan])
def test_scores_that_are_not_finite(sink: float | None) -> None:
    compare_scores_that_are_not_finite(sink)


def test_slices_of_a_cache_are_not_copied() -> None:
    """Latent and rope part of one cache lie in rows of 576: only the query is copied."""
    cache = torch.randn(64, 128, 1, 576).bfloat16()
    query = torch.randn(1, 1, 16, 576).bfloat16()
    parts = {"query_rope": query[..., 512:], "key_rope": cache[..., 512:]}
    options = {
        "block_table": torch.randperm(64).int().view(1, 64),
        "actual_seq_lengths_kv": torch.tensor([8192], dtype=torch.int32),
        "layout_kv": "PA_BSND",
    }
    indices = torch.randperm(8192)[:64].int().view(1, 1, 1, 64)
    tensors = (query[..., :512], cache[..., :512], cache[..., :512], indices, 576**-0.5)
    # Without acc_events, some releases of torch warn that a second cycle would clear the first.
    cpu = [ProfilerActivity.CPU]
    with profile(activities=cpu, record_shapes=True, acc_events=True) as profiled:
        out, *_ = torch.ops.opwright.sparse_flash_attention(*tensors, **options, **parts)
    copied = [event.input_shapes[0] for event in profiled.events() if event.name == "aten::clone"]
    assert copied
    assert all(shape[:3] == [1, 1, 16] for shape in copied)  # the query's parts
    whole = {name: part.contiguous() for name, part in parts.items()}
    contiguous = (tensor.contiguous() for tensor in tensors[:4])
    again, *_ = torch.ops.opwright.sparse_flash_attention(
        *contiguous, tensors[4], **options, **whole
    )
    assert torch.equal(out, again)


def test_large_scores() -> None:
    """A score far above all others, late in the row: powers of earlier tiles vanish."""
    for dtype in HALVES:
        tensors, named = operands(Case(queries=(1,), keys=(400,), selected=380, dtype=dtype))
        query, key = tensors[0], tensors[1]
        tensors[3][...] = torch.arange(380, dtype=torch.int32)
        key[0, 350] = (query[0, 0, 0] * 4).to(dtype)
        out, highest, total = torch_npu.npu_sparse_flash_attention(
            *tensors, 1.0, **named, return_softmax_lse=True
        )
        assert highest[0, 0, 0, 0] > 1000
        assert total[0, 0, 0, 0] == 1
        assert torch.equal(out[0, 0, 0].cpu(), key[0, 350, 0].cpu())


@pytest.mark.isolated
@pytest.mark.parametrize("level", ["avx512_bf16", "avx512", "avx2", "base"])
def test_instruction_sets(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level that this machine has, or the one below; the other tests run the best."""
    monkeypatch.setenv("OPWRIGHT_CPU_ISA", level)  # it is read at the first call
    for case in of_all_kinds():
        compare(case)
    for sink in (None, 0.5, -math.inf):
        compare_scores_that_are_not_finite(sink)


# Or torch_npu's own thread would count threads.
@pytest.mark.isolated(TASK_QUEUE_ENABLE="0")
def test_results_do_not_depend_on_threads() -> None:
    for case, queries in itertools.product(of_all_kinds(), ((1,), (2, 3))):
        few = replace(case, queries=queries, keys=case.keys[: len(queries)], heads=128)
        tensors, named = operands(few)
        results: list[torch.Tensor] = []
        for threads in (1, 2, 3, 4):
            torch.set_num_threads(threads)
            out, *_ = torch_npu.npu_sparse_flash_attention(*tensors, SCALE, **named)
            results.append(out.cpu())
        assert all(torch.equal(results[0], other) for other in results[1:])


def test_random_cases() -> None:
    for seed, case in enumerate(of_all_kinds()):
        compare(case, seed)
